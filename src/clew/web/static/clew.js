// What pages do beyond what the server sends: tokens of forms, drawing the graph, dropping files.
"use strict";

document.addEventListener("htmx:configRequest", (event) => {
  event.detail.headers["X-Form-Token"] = document.body.dataset.formToken || "";
});
document.addEventListener("htmx:sendError", () => say("The server does not answer. Is it running? Try again."));
document.addEventListener("htmx:responseError", (event) => {
  const answer = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html");
  say(answer.querySelector(".error")?.textContent || `The server answered ${event.detail.xhr.status}.`);
});

/** Tell something in passing, to screen readers too. */
function say(text) {
  const place = document.getElementById("said");
  place.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { place.textContent = ""; }, 8000);
}

document.addEventListener("DOMContentLoaded", () => {
  const drop = document.getElementById("drop");
  if (!drop) return;
  const over = (event) => { event.preventDefault(); drop.classList.add("over"); };
  document.addEventListener("dragover", over);
  document.addEventListener("dragleave", () => drop.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    over(event);
    drop.querySelector("input[type=file]").files = event.dataTransfer.files;
    if (event.dataTransfer.files.length) drop.requestSubmit();
  });
});
