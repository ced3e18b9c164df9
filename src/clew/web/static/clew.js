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

document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

const drop = document.getElementById("drop");
if (drop) {
  const input = drop.elements.files, send = (files) => { input.files = files; drop.requestSubmit(); };
  const over = (event) => { event.preventDefault(); drop.classList.add("over"); };
  document.addEventListener("dragover", over);
  document.addEventListener("dragleave", () => drop.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    over(event);
    if (event.dataTransfer.files.length) send(event.dataTransfer.files);
  });
  // Kept to be sent again where it failed.
  const kept = new Map();
  drop.addEventListener("submit", () => { for (const file of input.files) kept.set(file.name, file); });
  document.addEventListener("click", async (event) => {
    const file = kept.get(event.target.dataset.again);
    if (!file) return;
    event.preventDefault();
    try { await file.slice(0, 1).arrayBuffer(); } catch { return say("The file has changed: choose it again."); }
    const files = new DataTransfer();
    files.items.add(file);
    send(files.files);
  });
}

const asked = document.getElementById("answer");
if (asked) {
  const button = asked.querySelector("button"), ask = () => answer(asked, button, asked.querySelector(".passage"));
  button.addEventListener("click", ask);
  if (asked.dataset.now) ask();
}

/** Ask for the answer and show it as it is written; at the end each statement with its sources. */
async function answer(place, button, text) {
  button.hidden = true;
  text.textContent = "…";
  try {
    const sent = await fetch(place.dataset.ask, { method: "POST", body: place.dataset.arguments, headers: { "Content-Type": "application/json", Accept: "text/event-stream", "X-Form-Token": document.body.dataset.formToken } });
    if (!sent.ok) throw new Error((await sent.json()).detail || (await sent.text()));
    const reader = sent.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "", begun = false;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const events = (rest + part.value).split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const kind = event.match(/^event: (\w+)/)?.[1], data = JSON.parse(event.slice(event.indexOf("data: ") + 6));
        if (kind === "piece") { text.textContent = (begun ? text.textContent : "") + data.text; begun = true; }
        else if (kind === "answer") settle(place, text, data);
        else if (kind === "error") throw new Error(data.error);
      }
    }
  } catch (error) {
    text.textContent = `No answer: ${error.message}`;
    button.hidden = false;
  }
}

/** The statements, each with links to the passages that support it. */
function settle(place, text, data) {
  const sources = new Map(data.sources.map((source) => [source.number, source]));
  const statements = data.statements.map((statement) => {
    const line = document.createElement("p");
    // What stands between "**" is bold, as text: what a document says is never markup.
    for (const [place, piece] of statement.text.split(/(?<![\w*])\*\*(?=[^\s*])([^*\n]+?)(?<=\S)\*\*(?![\w*])/).entries()) {
      line.append(place % 2 ? Object.assign(document.createElement("b"), { textContent: piece }) : piece);
    }
    for (const number of new Set(statement.quotations.map((quotation) => quotation.source))) {
      const source = sources.get(number), link = document.createElement("a"), [id, ordinal] = source.id.split("#");
      const hit = [...document.querySelectorAll(".hit h2 a")].find((one) => one.hash === `#c${ordinal}` && one.pathname.endsWith(`/${id}`));
      const [path, query] = place.dataset.documents.split("?");
      link.href = hit ? `#${hit.closest(".hit").id}` : `${path}${id}${query ? `?${query}` : ""}#c${ordinal}`;
      link.textContent = `[${number}]`; link.title = source.title || source.source;
      line.append(" ", link);
    }
    if (!statement.supported) line.append(" (unsupported)");
    return line;
  });
  if (data.answered) {
    text.replaceChildren(...statements);
    document.getElementById("unlikely")?.replaceChildren("These passages come nearest");
  } else text.textContent = data.answer;
  for (const note of data.notes ?? []) text.after(Object.assign(document.createElement("p"), { className: "note", textContent: note }));
}
