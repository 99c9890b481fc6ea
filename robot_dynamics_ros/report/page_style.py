"""How the report looks, and what it does: choose joints, zoom all plots of time together."""

STYLE = """
:root { --ink: #1f2933; --soft: #616e7c; --line: #e4e7eb; --accent: #1b7f9c; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: white;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
header { position: sticky; top: 0; z-index: 5; background: white; border-bottom: 1px solid var(--line);
  padding: 10px 28px; display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 28px; }
h1 { font-size: 20px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 34px 0 8px; }
h3 { font-size: 15px; margin: 22px 0 0; overflow-wrap: anywhere; }
nav a { color: var(--accent); text-decoration: none; margin-right: 18px; }
nav a:hover { text-decoration: underline; }
main { max-width: 1240px; margin: 0 auto; padding: 0 28px 28px; }
section { scroll-margin-top: 54px; }
p { margin: 6px 0 10px; max-width: 80em; overflow-wrap: anywhere; }
.missing { border-left: 3px solid #f0b429; background: #fffbea; padding: 6px 12px; }
.small { color: var(--soft); font-size: 13px; margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 8px 0 14px; font-size: 14px; }
th, td { padding: 3px 14px 3px 0; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); white-space: normal; vertical-align: bottom; }
th.word, td.word { text-align: left; }
td:last-child.word { white-space: normal; min-width: 16em; }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(330px, 1fr)); gap: 8px; }
.choice { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center; }
.choice button { font: inherit; border: 1px solid var(--line); background: white; border-radius: 4px;
  padding: 1px 10px; cursor: pointer; }
.hidden { display: none; }
footer { color: var(--soft); font-size: 13px; padding: 12px 28px; border-top: 1px solid var(--line); }
@page { margin: 12mm; }
@media print {
  header { position: static; padding: 0; } nav, .choice { display: none; }
  .wide { overflow: visible; } table { font-size: 11px; } th, td { white-space: normal; padding-right: 8px; }
  .joint, .figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } main { max-width: none; padding: 0; }
}
"""

SCRIPT = """
"use strict";
const figures = JSON.parse(document.getElementById("figures").textContent);
const drawn = [];
for (const [name, figure] of Object.entries(figures)) {
  const place = document.getElementById(name);
  drawn.push(Plotly.newPlot(place, figure.data, figure.layout, {responsive: true, displaylogo: false}));
}
const timed = [...document.querySelectorAll(".timed")];
let follows = false;
async function follow(source, change) {
  if (follows) return;
  const range = change["xaxis.range"] || [change["xaxis.range[0]"], change["xaxis.range[1]"]];
  let update = null;
  if (change["xaxis.autorange"]) update = {"xaxis.autorange": true};
  else if (range[0] !== undefined) update = {"xaxis.range": range};
  if (!update) return;
  follows = true;
  await Promise.all(timed.filter(other => other !== source).map(other => Plotly.relayout(other, {...update})));
  follows = false;
}
Promise.all(drawn).then(() => {
  for (const place of timed) place.on("plotly_relayout", change => follow(place, change));
  document.body.dataset.drawn = drawn.length;
});
function show(box) {
  const joint = document.getElementById(box.dataset.joint);
  joint.classList.toggle("hidden", !box.checked);
  if (box.checked) for (const place of joint.querySelectorAll(".figure")) Plotly.Plots.resize(place);
}
const boxes = [...document.querySelectorAll("input[data-joint]")];
for (const box of boxes) { box.checked = true; box.addEventListener("change", () => show(box)); }
for (const button of document.querySelectorAll("button[data-all]")) {
  button.addEventListener("click", () => {
    for (const box of boxes) { box.checked = button.dataset.all !== ""; show(box); }
  });
}
// Paper is narrower than the screen, and tells nobody.
addEventListener("beforeprint", () => {
  for (const place of document.querySelectorAll(".figure"))
    Plotly.relayout(place, {width: place.closest(".beside") ? 330 : 690});
});
addEventListener("afterprint", () => {
  for (const place of document.querySelectorAll(".figure")) Plotly.relayout(place, {width: null, autosize: true});
});
"""
