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
