"use strict";
const figures = JSON.parse(document.getElementById("figures").textContent);
// The page stays on this machine: no button may upload a chart.
const config = {
  responsive: true, displaylogo: false, plotlyServerURL: "",
  modeBarButtonsToRemove: ["sendChartToCloud", "sendDataToCloud", "select2d", "lasso2d"],
};
const timed = [];
let shown = null;  // range of the time axis in all of them, once it was changed
async function draw(place) {
  if (place.data) return Plotly.Plots.resize(place);  // the window may have changed while it was closed
  const {data, layout} = figures[place.id];
  await Plotly.newPlot(place, data, layout, config);
  if (!place.classList.contains("timed")) return;
  if (shown) await Plotly.relayout(place, {"xaxis.range": [...shown]});
  timed.push(place);
  place.on("plotly_relayout", () => follow(place));
}
let following = false;
async function follow(source) {
  if (following) return;
  shown = [...source.layout.xaxis.range];
  following = true;
  await Promise.all(timed.map(place => Plotly.relayout(place, {"xaxis.range": [...shown]})));
  following = false;
}
// A plot in a closed joint has no width: it is drawn when the joint opens.
const joints = [...document.querySelectorAll("details")];
for (const joint of joints) {
  joint.addEventListener("toggle", () => {
    if (joint.open) for (const place of joint.querySelectorAll(".figure")) draw(place);
  });
}
for (const button of document.querySelectorAll("button[data-open]"))
  button.addEventListener("click", () => { for (const joint of joints) joint.open = button.dataset.open !== ""; });
const visible = [...document.querySelectorAll(".figure")].filter(place => !place.closest("details"));
Promise.all(visible.map(draw)).then(() => { document.body.dataset.drawn = visible.length; });
// The browser reports no resize before it prints on narrower paper.
const plots = document.getElementsByClassName("js-plotly-plot");
addEventListener("beforeprint", () => {
  for (const place of plots) Plotly.relayout(place, {width: place.closest(".beside") ? 330 : 690});
});
addEventListener("afterprint", () => {
  for (const place of plots) Plotly.relayout(place, {width: null, autosize: true});
});
