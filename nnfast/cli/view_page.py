"""The page of `nnfast view`: one file with styles and script of its own; light or dark as the reader's system is."""

import json
from html import escape

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>%TITLE%</title>
<style>
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2128; --faint: #5b6572; --line: #aeb7c1; --box: #f2f4f7;
  --mark: #2f6fdb; --hot: 217, 72, 15 }
@media (prefers-color-scheme: dark) { :root { --paper: #0f1318; --ink: #e4e9ef; --faint: #97a1ad; --line: #4b5662;
  --box: #1d242c; --mark: #5b9bff; --hot: 232, 110, 40 } }
* { box-sizing: border-box }
html, body { margin: 0; height: 100% }
body { font: 14px/1.45 system-ui, sans-serif; background: var(--paper); color: var(--ink); display: grid;
  grid: auto 1fr / 1fr 24rem }
header { grid-column: 1 / 3; display: flex; flex-wrap: wrap; gap: .5rem .8rem; align-items: center;
  padding: .6rem .9rem; border-bottom: 1px solid var(--line) }
h1 { font-size: 1rem; margin: 0; overflow-wrap: anywhere } h2 { font-size: 1rem; margin: .2rem 0 .4rem }
input, select, button { font: inherit; color: inherit; background: var(--box); border: 1px solid var(--line);
  border-radius: .4rem; padding: .25rem .6rem }
input { width: 14rem } main { position: relative; min-width: 0; min-height: 0 }
canvas { position: absolute; inset: 0; width: 100%; height: 100%; touch-action: none; cursor: grab }
canvas:focus-visible { outline: 2px solid var(--mark); outline-offset: -2px }
aside { overflow: auto; padding: .8rem; border-left: 1px solid var(--line); overflow-wrap: anywhere }
dl { margin: 0 } dt { color: var(--faint); margin-top: .5rem } dd { margin: 0 }
p { color: var(--faint); margin: .4rem 0 }
aside button { display: block; width: 100%; text-align: left; margin: .25rem 0 }
@media (max-width: 50rem) { body { grid: auto 1fr minmax(0, 40%) / 1fr } header { grid-column: 1 }
  aside { border-left: 0; border-top: 1px solid var(--line) } input { width: 9rem } }
</style></head><body>
<header><h1>%TITLE%</h1><select aria-label="graph"></select>
<input type="search" placeholder="find" aria-label="find an operation">
<button id="fit">whole graph</button><span id="count" role="status"></span></header>
<main><canvas tabindex="0" aria-label="the graph; the list beside it has the same operations"></canvas></main>
<aside aria-live="polite"></aside>
<script id="model" type="application/json">%DATA%</script>
<script>
"use strict";
const model = JSON.parse(document.getElementById("model").textContent), $ = name => document.querySelector(name);
const canvas = $("canvas"), pen = canvas.getContext("2d"), side = $("aside"), box = {w: model.width, h: model.height};
let graph = model.graphs[0], view = {x: 0, y: 0, k: 1}, chosen = null, found = [], waiting = false;

const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const shorten = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;

function draw() {
  waiting = false;
  const dpr = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== w * dpr || canvas.height !== h * dpr) { canvas.width = w * dpr; canvas.height = h * dpr; }
  pen.setTransform(dpr, 0, 0, dpr, 0, 0);
  pen.fillStyle = style("--paper");
  pen.fillRect(0, 0, w, h);
  pen.setTransform(dpr * view.k, 0, 0, dpr * view.k, dpr * view.x, dpr * view.y);
  const left = -view.x / view.k, top = -view.y / view.k, right = left + w / view.k, bottom = top + h / view.k;
  const inside = n => n.x + box.w > left && n.x < right && n.y + box.h > top && n.y < bottom;
  pen.lineWidth = 1.2;
  for (const [from, to] of graph.edges) {
    const a = graph.nodes[from], b = graph.nodes[to], x1 = a.x + box.w / 2, y1 = a.y + box.h, x2 = b.x + box.w / 2;
    if (Math.max(a.y, b.y) < top || Math.min(a.y, b.y) > bottom) continue;
    pen.strokeStyle = style(chosen === a || chosen === b ? "--mark" : "--line");
    pen.beginPath();
    pen.moveTo(x1, y1);
    const far = b.y - y1 > 2 * box.h && Math.abs(x1 - x2) < box.w ? 1.1 * box.w : 0; // around what stands between
    pen.bezierCurveTo(x1 + far, far ? y1 + 40 : (y1 + b.y) / 2, x2 + far, far ? b.y - 40 : (y1 + b.y) / 2, x2, b.y);
    pen.stroke();
  }
  const ink = style("--ink"), faint = style("--faint"), plain = style("--box");
  const mark = style("--mark"), hot = style("--hot");
  const matching = new Set(found);
  for (const node of graph.nodes) {
    if (!inside(node)) continue;
    pen.fillStyle = plain;
    pen.beginPath();
    pen.roundRect(node.x, node.y, box.w, box.h, node.kind === "operation" ? 6 : box.h / 2);
    pen.fill();
    if (node.share) { pen.fillStyle = `rgba(${hot}, ${0.12 + 0.75 * node.share / graph.hottest})`; pen.fill(); }
    pen.strokeStyle = node === chosen || matching.has(node) ? mark : style("--line");
    pen.lineWidth = node === chosen ? 3 : matching.has(node) ? 2 : 1;
    pen.stroke();
    if (view.k < 0.25) continue;
    pen.fillStyle = ink;
    pen.font = "600 13px system-ui, sans-serif";
    pen.fillText(shorten(node.title, 26), node.x + 12, node.y + 19);
    pen.fillStyle = node.share > graph.hottest / 2 ? ink : faint;
    pen.font = "12px system-ui, sans-serif";
    pen.fillText(shorten(node.note, 30), node.x + 12, node.y + 36);
  }
}
const redraw = () => { if (!waiting) { waiting = true; requestAnimationFrame(draw); } };

function fit() {
  const w = canvas.clientWidth, h = canvas.clientHeight;
  view.k = Math.min(w / (graph.width + 40), h / (graph.height + 40), 1.2);
  view.x = (w - graph.width * view.k) / 2;
  view.y = (h - graph.height * view.k) / 2;
  redraw();
}
function begin() { // as large as can be read, from the top
  view.k = Math.min(1, Math.max(0.6, canvas.clientWidth / (graph.width + 40)));
  const first = graph.nodes[0];
  view.x = canvas.clientWidth / 2 - (first ? first.x + box.w / 2 : 0) * view.k;
  view.y = 20;
  redraw();
}
function go(node) {
  view.k = Math.max(view.k, 0.7);
  view.x = canvas.clientWidth / 2 - (node.x + box.w / 2) * view.k;
  view.y = canvas.clientHeight / 2 - (node.y + box.h / 2) * view.k;
  choose(node);
}
function add(parent, name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return parent.appendChild(made);
}
function choose(node) {
  chosen = node;
  side.replaceChildren();
  if (!node) return list();
  add(side, "h2", node.title);
  const facts = add(side, "dl", "");
  for (const [name, text] of node.facts) { add(facts, "dt", name); add(facts, "dd", text); }
  for (const place of node.graphs) {
    add(side, "button", `open ${model.graphs[place].name}`).onclick = () => show(place);
  }
  add(side, "button", "all operations").onclick = () => choose(null);
  redraw();
}
function list() {
  for (const line of model.facts) add(side, "p", line);
  const rows = (found.length || $("input").value ? found : graph.nodes).slice(0, 500);
  if (graph.hottest) rows.sort((a, b) => b.share - a.share);
  for (const node of rows) add(side, "button", `${node.title} ${node.note}`).onclick = () => go(node);
  redraw();
}
function show(place) {
  graph = model.graphs[place];
  $("select").value = place;
  search();
  begin();
}
function search() {
  const words = $("input").value.toLowerCase().split(/\\s+/).filter(Boolean);
  found = words.length ? graph.nodes.filter(node => words.every(word => node.text.includes(word))) : [];
  $("#count").textContent = words.length ? `${found.length} of ${graph.nodes.length}` : "";
  choose(null);
}
for (const each of model.graphs) {
  each.hottest = Math.max(0, ...each.nodes.map(node => node.share));
  for (const node of each.nodes) {
    node.text = [node.title, node.note, ...node.facts.flat()].join(" ").toLowerCase();
  }
}
model.graphs.forEach((each, place) => { add($("select"), "option", each.name).value = place; });
$("select").hidden = model.graphs.length < 2;
$("select").onchange = event => show(+event.target.value);
$("input").oninput = search;
$("input").onkeydown = event => {
  if (event.key === "Enter" && found.length) go(found[(found.indexOf(chosen) + 1) % found.length]);
};
$("#fit").onclick = fit;

function zoom(factor, x, y) {
  const k = Math.min(4, Math.max(0.02, view.k * factor)), ratio = k / view.k;
  view = {x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio, k};
  redraw();
}
const fingers = new Map();
let moved = 0;
canvas.onwheel = event => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
};
canvas.onpointerdown = event => {
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
  moved = 0;
};
canvas.onpointermove = event => {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  const dx = event.offsetX - before[0], dy = event.offsetY - before[1];
  moved += Math.abs(dx) + Math.abs(dy);
  if (fingers.size === 2) {
    const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
    const far = (x, y) => Math.max(1, Math.hypot(x - other[0], y - other[1]));
    zoom(far(event.offsetX, event.offsetY) / far(...before), other[0], other[1]);
  } else { view.x += dx; view.y += dy; redraw(); }
  fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
};
canvas.onpointerup = canvas.onpointercancel = event => {
  if (fingers.delete(event.pointerId) && moved < 6 && event.type === "pointerup") {
    const x = (event.offsetX - view.x) / view.k, y = (event.offsetY - view.y) / view.k;
    choose(graph.nodes.find(n => x >= n.x && x <= n.x + box.w && y >= n.y && y <= n.y + box.h) || null);
  }
};
canvas.onkeydown = event => {
  const step = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60]}[event.key];
  if (step) { view.x += step[0]; view.y += step[1]; redraw(); event.preventDefault(); }
  if ("+-".includes(event.key)) zoom(event.key === "+" ? 1.25 : 0.8, canvas.clientWidth / 2, canvas.clientHeight / 2);
};
new ResizeObserver(redraw).observe(canvas);
matchMedia("(prefers-color-scheme: dark)").onchange = redraw;
show(0);
draw();
document.body.dataset.drawn = graph.nodes.length;
</script></body></html>
"""


def page(document):
    """HTML of a document of `view.document_of`."""
    data = json.dumps(document, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return PAGE.replace("%TITLE%", escape(document["title"])).replace("%DATA%", data)
