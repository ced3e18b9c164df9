// Draws the graphs of a page, lights up threads, and lets pictures be used by keyboard.
"use strict";

const COLOURS = ["#b3271e", "#1d6fa5", "#3b7d3a", "#8a5a00", "#7a3e9d", "#00757a", "#a8326e", "#5a5f00", "#4a55b0", "#6b5344"];
const DARK = ["#ff8d7e", "#7fbcf0", "#8ccf86", "#e0b25a", "#cfa0ee", "#6fd0d4", "#f394c2", "#cfd266", "#a9b2ff", "#cfb5a2"];
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const palette = dark ? DARK : COLOURS;
const ink = dark ? "#ece8e0" : "#1f1d1a", line = dark ? "#655f55" : "#bdb5a7", faint = dark ? "#2b2924" : "#eeeae2", crowd = dark ? "#423e37" : "#dcd6cb", ground = dark ? "#201f1b" : "#ffffff", thread = palette[0];

/** Types that many stores have: no two of them look alike. */
const KINDS = ["person", "place", "organisation", "event", "work", "concept", "name", "code", "product", "task"];

/** One colour for each value, the same on every page. */
function colour(value) {
  if (KINDS.includes(value)) return palette[KINDS.indexOf(value)];
  let sum = 0;
  for (const letter of String(value)) sum = (sum * 31 + letter.codePointAt(0)) % 9973;
  return palette[sum % palette.length];
}

/** The entities of a hit's thread. */
function knots(hit) { return JSON.parse(hit.dataset.thread || "[]"); }

/** The entities and ties by which threads of the page led to passages, ties both ways. */
function threads() {
  const used = new Set();
  for (const hit of document.querySelectorAll(".hit")) knots(hit).forEach((id, at, ids) => { used.add(String(id)).add(`${ids[at - 1]} ${id}`).add(`${id} ${ids[at - 1]}`); });
  return used;
}

/** Addresses of the worker's scripts. */
const scripts = document.currentScript.dataset;

/** A place for each node (`id`), by ForceAtlas2 in a worker; the same for the same nodes and edges. */
function placed(nodes, edges) {
  return new Promise((done, failed) => {
    const worker = new Worker(scripts.layout);
    worker.onerror = failed;
    worker.onmessage = ({ data }) => { worker.terminate(); done(data); };
    worker.postMessage({ forces: scripts.forces, nodes: nodes.map(({ id }) => id), edges });
  });
}

class Picture {
  constructor(place) {
    this.place = place;
    this.lit = new Set(JSON.parse(place.dataset.paths || "[]").map(String));
    this.chosen = null;
    this.byCommunity = false;
    this.load();
  }

  async load() {
    const began = performance.now();
    let answer;
    try {
      answer = await fetch(this.place.dataset.graph, { headers: { Accept: "application/json" } });
    } catch { say("The graph could not be loaded: the server does not answer. The tables show what it would."); return; }
    const data = await answer.json();
    if (!answer.ok) { say(data.detail); return; }
    this.draw(data, await placed(data.nodes, data.edges));
    this.place.dataset.drawn = String(Math.round(performance.now() - began));
  }

  draw(data, places) {
    this.graph = new graphology.MultiGraph();
    const used = threads(), box = this.place;
    // A flat picture is drawn out to the frame, so that names have room above each other.
    const [wide, high] = [0, 1].map((axis) => Math.max(1e-9, ...places.map((at) => Math.abs(at[axis])))), tall = Math.min(Math.max((box.clientHeight / box.clientWidth) * (wide / high), 1), 3);
    // Many are drawn small, their ties lighter.
    const small = Math.min(1, Math.max(0.4, Math.sqrt(120 / data.nodes.length))), tie = data.edges.length > 500 ? crowd : line;
    for (const [at, node] of data.nodes.entries()) {
      const led = used.has(String(node.id));
      this.graph.addNode(node.id, { x: places[at][0], y: places[at][1] * tall, label: node.name, type: "circle", kind: node.type, community: node.community, size: (4 + 9 * node.importance) * small, seed: node.seed, named: led || node.seed, rank: 2 * led + node.seed + node.importance });
    }
    data.edges.forEach((edge, at) => {
      if (edge.source === edge.target) return;
      const led = used.has(`${edge.source} ${edge.target}`);
      this.graph.addEdgeWithKey(at, edge.source, edge.target, { size: (1 + 2 * edge.weight) * small + led, color: led ? thread : tie, type: edge.id === null ? "line" : "arrow", zIndex: +led });
    });
    this.sigma = new Sigma(this.graph, this.place, {
      labelColor: { color: ink }, labelFont: "Liberation Sans, Arial, sans-serif", labelSize: 12, labelDensity: 0.6, labelRenderedSizeThreshold: 6 * small,
      defaultEdgeType: "line", allowInvalidContainer: true, zIndex: true, minCameraRatio: 0.05, maxCameraRatio: 4, stagePadding: 30,
      defaultDrawNodeLabel: label, defaultDrawNodeHover: hoverLabel,
      nodeReducer: (id, node) => this.node(id, node), edgeReducer: (id, edge) => this.edge(id, edge),
    });
    // What the first drawing left, and then those after it.
    const names = this.sigma.getCanvases().labels;
    write(names);
    this.sigma.on("afterRender", () => write(names));
    this.sigma.on("clickNode", ({ node }) => this.choose(node));
    this.sigma.on("doubleClickNode", (event) => {
      event.preventSigmaDefault();
      // Two nodes clicked in quick succession are two choices.
      if (event.node === this.chosen) this.expand(event.node); else this.choose(event.node);
    });
    this.sigma.on("enterNode", ({ node }) => { this.over = node; this.sigma.refresh({ skipIndexation: true }); });
    this.sigma.on("leaveNode", () => { this.over = null; this.sigma.refresh({ skipIndexation: true }); });
    this.place.addEventListener("keydown", (event) => this.key(event));
    this.place.classList.add("ready");
  }

  focus() { return this.over ?? this.chosen; }

  node(id, node) {
    const shown = { ...node, color: this.byCommunity ? colour(node.community ?? "none") : colour(node.kind) };
    const focus = this.focus();
    if (this.lit.size) {
      if (!this.lit.has(id)) return { ...shown, color: faint, label: "", zIndex: 0 };
      return { ...shown, color: thread, forceLabel: true, zIndex: 2 };
    }
    if (focus && id !== focus && !this.graph.areNeighbors(id, focus)) return { ...shown, color: faint, label: "", zIndex: 0 };
    return { ...shown, forceLabel: node.named || id === focus, highlighted: id === this.chosen };
  }

  edge(id, edge) {
    const focus = this.focus();
    if (!focus && !this.lit.size) return edge;
    const [one, other] = this.graph.extremities(id);
    if (this.lit.size) {
      return this.lit.has(one) && this.lit.has(other) ? { ...edge, color: thread, size: edge.size + 1.5, zIndex: 2 } : { ...edge, color: faint };
    }
    return one === focus || other === focus ? { ...edge, color: thread } : { ...edge, hidden: true };
  }

  light(ids) { this.lit = new Set(ids.map(String).filter((id) => this.graph?.hasNode(id))); this.sigma?.refresh({ skipIndexation: true }); }

  choose(id) {
    this.chosen = id;
    this.sigma.refresh({ skipIndexation: true });
    const actions = document.getElementById("with-chosen");
    if (actions) actions.hidden = false;
    document.querySelectorAll("#nodes tr.chosen").forEach((row) => row.classList.remove("chosen"));
    const row = document.querySelector(`#nodes tr[data-node="${id}"]`);
    row?.classList.add("chosen");
    // Within the table alone: the picture stays where it is.
    if (row) { const box = row.closest(".tall"); box.scrollTop = row.offsetTop - box.clientHeight / 2; }
    const told = document.getElementById("chosen");
    if (told) told.textContent = `${this.graph.getNodeAttribute(id, "label")} (${this.graph.getNodeAttribute(id, "kind")}), ${this.graph.degree(id)} ties`;
  }

  /** Be an end of the path that is looked for; with both ends the path is shown. */
  pathEnd(name, id) {
    const form = document.getElementById("pick");
    let end = form.querySelector(`input[name="${name}"][value="${id}"]`);
    if (!end) { // beyond the rows that are listed
      end = Object.assign(document.createElement("input"), { type: "radio", name, value: id, hidden: true });
      form.append(end);
    }
    end.checked = true;
    if (form.elements.from && new FormData(form).get("from") && new FormData(form).get("to")) form.requestSubmit();
    else say(`Path ${name} ${this.graph.getNodeAttribute(id, "label")}: now choose the other end.`);
  }

  expand(id) {
    const button = document.querySelector(`#nodes tr[data-node="${id}"] button`);
    if (button) button.click(); else if (this.place.dataset.expand) location.assign(`${this.place.dataset.expand}${this.place.dataset.expand.includes("?") ? "&" : "?"}entities=${id}`);
  }

  key(event) {
    const camera = this.sigma.getCamera(), step = 0.08 * camera.ratio;
    const moves = { ArrowLeft: { x: camera.x - step }, ArrowRight: { x: camera.x + step }, ArrowUp: { y: camera.y + step }, ArrowDown: { y: camera.y - step }, "+": { ratio: camera.ratio / 1.3 }, "-": { ratio: camera.ratio * 1.3 } };
    if (moves[event.key]) camera.setState(moves[event.key]);
    else if (event.key === "n" || event.key === "p") {
      const ids = this.graph.nodes(), at = ids.indexOf(this.chosen);
      this.choose(ids[(at + (event.key === "n" ? 1 : ids.length - 1 + (at < 0 ? 1 : 0))) % ids.length]);
    } else if (event.key === "Enter" && this.chosen) this.expand(this.chosen);
    else if (event.key === "Escape") { this.chosen = null; this.light([]); }
    else return;
    event.preventDefault();
  }

  png() {
    if (!this.sigma) return say("The picture is still being drawn.");
    const whole = document.createElement("canvas"), pen = whole.getContext("2d");
    const layers = this.place.querySelectorAll("canvas");
    [whole.width, whole.height] = [layers[0].width, layers[0].height];
    pen.fillStyle = ground;
    pen.fillRect(0, 0, whole.width, whole.height);
    this.sigma.refresh(); this.sigma.render?.();
    for (const layer of layers) pen.drawImage(layer, 0, 0);
    download("graph.png", whole.toDataURL("image/png"));
  }

  svg() {
    if (!this.sigma) return say("The picture is still being drawn.");
    const drawing = document.implementation.createDocument(SVG, "svg"), root = drawing.documentElement, { width, height } = this.sigma.getDimensions();
    const add = (name, values, within = root) => {
      const made = within.appendChild(drawing.createElementNS(SVG, name));
      for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
      return made;
    };
    // XML holds no control characters but tab and line breaks.
    const plain = (words) => String(words).replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "");
    root.setAttribute("viewBox", `0 0 ${width} ${height}`); root.setAttribute("font-family", "sans-serif"); root.setAttribute("font-size", "11");
    add("rect", { width, height, fill: ground });
    const spots = new Map(this.graph.mapNodes((id, node) => [id, { ...this.node(id, node), ...this.sigma.graphToViewport(node) }]));
    this.graph.forEachEdge((_, edge, from, to) => { const one = spots.get(from), other = spots.get(to); add("line", { x1: one.x, y1: one.y, x2: other.x, y2: other.y, stroke: edge.color, "stroke-width": edge.size }); });
    for (const { x, y, size, color, label } of spots.values()) {
      add("circle", { cx: x, cy: y, r: size, fill: color });
      const before = x > width * 0.75;
      add("text", { x: before ? x - size - 3 : x + size + 3, y: y + 4, fill: ink, "text-anchor": before ? "end" : "start" }).textContent = plain(label);
    }
    download("graph.svg", `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(drawing))}`);
  }
}

const SVG = "http://www.w3.org/2000/svg";

function download(name, address) { Object.assign(document.createElement("a"), { download: name, href: address }).click(); }

/** Where the name of a node begins: after it, or before it where the picture has no room. */
function labelStart(pen, node, width) {
  const after = node.x + node.size + 3, room = pen.canvas.clientWidth - 4;
  return after + width <= room ? after : Math.max(4, Math.min(node.x - node.size - 3, room) - width);
}

const LONGEST = 32;
/** A name, its end left out where it is long; the tables have it whole. */
function short(name) { return name.length > LONGEST ? `${name.slice(0, LONGEST - 1).trimEnd()}…` : name; }

/** Names to be written on a canvas, until all are known. */
const unwritten = new WeakMap();

function label(pen, node, settings) {
  if (!unwritten.has(pen.canvas)) unwritten.set(pen.canvas, []);
  if (node.label) unwritten.get(pen.canvas).push([pen, node, settings]);
}

/** Write the names, those that matter most first; none over another. */
function write(canvas) {
  const boxes = [], names = unwritten.get(canvas) ?? [];
  unwritten.delete(canvas);
  for (const [pen, node, settings] of names.sort((one, other) => other[1].rank - one[1].rank)) {
    pen.font = `${settings.labelSize}px ${settings.labelFont}`;
    const name = short(node.label), width = pen.measureText(name).width, top = node.y - settings.labelSize / 2 - 1;
    const before = Math.max(4, node.x - node.size - 3 - width), high = settings.labelSize + 2;
    const start = [labelStart(pen, node, width), before].find((at) => !boxes.some((box) => at - 2 < box[0] + box[2] && box[0] < at + width + 2 && Math.abs(top - box[1]) < high));
    if (start === undefined) continue;
    boxes.push([start - 2, top, width + 4]);
    pen.lineWidth = 3; pen.lineJoin = "round"; pen.strokeStyle = ground; pen.fillStyle = ink;
    pen.strokeText(name, start, node.y + settings.labelSize / 3);
    pen.fillText(name, start, node.y + settings.labelSize / 3);
  }
}

/** The name of the node under the pointer, on a ground of the page's own colour. */
function hoverLabel(pen, node, settings) {
  pen.font = `${settings.labelSize}px ${settings.labelFont}`;
  const width = pen.measureText(node.label || "").width;
  pen.fillStyle = ground; pen.strokeStyle = thread;
  pen.beginPath(); pen.arc(node.x, node.y, node.size + 3, 0, 7); pen.stroke();
  if (!node.label) return;
  const start = labelStart(pen, node, width + 8);
  pen.fillRect(start, node.y - 10, width + 8, 20);
  pen.fillStyle = ink; pen.fillText(node.label, start + 4, node.y + 4);
}

document.addEventListener("DOMContentLoaded", () => {
  const pictures = [...document.querySelectorAll("[data-graph]")].map((place) => new Picture(place));
  const main = pictures[0];
  if (!main) return;
  window.clewPictures = pictures;
  document.querySelectorAll(".hit").forEach((hit) => {
    const ids = knots(hit);
    const on = () => { hit.classList.add("lit"); main.light(ids); }, off = () => { hit.classList.remove("lit"); main.light([]); };
    hit.addEventListener("mouseenter", on); hit.addEventListener("mouseleave", off);
    hit.addEventListener("focusin", on); hit.addEventListener("focusout", off);
  });
  document.querySelectorAll("i.dot").forEach((dot) => { dot.style.background = colour(dot.dataset.type); });
  for (const kind of ["png", "svg"]) document.getElementById(kind)?.addEventListener("click", () => main[kind]());
  document.querySelectorAll("#with-chosen button").forEach((button) => button.addEventListener("click", () => {
    if (button.dataset.does === "around") main.expand(main.chosen); else main.pathEnd(button.dataset.does, main.chosen);
  }));
  document.getElementById("by-community")?.addEventListener("click", (event) => {
    main.byCommunity = !main.byCommunity;
    event.target.setAttribute("aria-pressed", String(main.byCommunity));
    main.sigma?.refresh();
  });
  document.getElementById("within")?.addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase(), found = [];
    document.querySelectorAll("#nodes tbody tr").forEach((row) => {
      const fits = row.querySelector("th").textContent.toLowerCase().includes(wanted);
      row.hidden = !fits;
      if (wanted && fits) found.push(row.dataset.node);
    });
    main.light(found);
  });
  document.querySelectorAll("input[type=range]").forEach((slider) => slider.addEventListener("input", () => {
    const output = slider.form.querySelector(`output[for="${slider.id}"]`), set = slider.dataset.sets;
    if (output) output.textContent = slider.value;
    if (set) slider.form.elements[set].value = slider.value;
  }));
  document.getElementById("filters")?.addEventListener("change", (event) => { if (event.target.matches("[type=checkbox],[type=range]")) event.currentTarget.requestSubmit(); });
});
