// Line charts by uPlot, in the page's colours, with a table of the newest values for those who cannot see them.
import { html, useEffect, useRef, useState } from "./html.js";
import { valued } from "./format.js";

const LINES = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];
const HEIGHT = 180;
export const LINES_MAX = LINES.length; // More lines than that cannot be told apart.

/**
 * A chart.
 * @param title what it shows
 * @param note what that means
 * @param xs values of the x axis, rising
 * @param lines {name, ys, unit}, null in ys where there is no value
 * @param time whether xs are Unix seconds
 */
export function Chart({ title, note = "", xs, lines, time = false, xLabel = "" }) {
  const place = useRef(null);
  const plot = useRef(null);
  const theme = useTheme();
  const shown = lines.slice(0, LINES_MAX);
  const shape = JSON.stringify([theme, time, xLabel, shown.map(({ name, unit }) => [name, unit])]);
  useEffect(() => {
    const width = place.current.clientWidth;
    plot.current = new uPlot(options(width, shown, time), data(xs, shown), place.current);
    const resized = new ResizeObserver(([entry]) => plot.current.setSize({ width: entry.contentRect.width, height: HEIGHT }));
    resized.observe(place.current);
    return () => {
      resized.disconnect();
      plot.current.destroy();
    };
  }, [shape]);
  useEffect(() => plot.current.setData(data(xs, shown)), [xs, lines]);
  const last = shown.map(({ name, ys, unit }) => `${name} ${valued(ys.findLast((y) => y !== null), unit)}`).join(", ");
  return html`<figure class="chart">
    <figcaption><b>${title}</b>${note && html` <span class="quiet">${note}</span>`}</figcaption>
    <div ref=${place} role="img" aria-label=${`${title}: ${last || "no values yet"}`}></div>
    ${xLabel && html`<div class="axis" aria-hidden="true">${xLabel}</div>`}
    ${shown.length > 0 &&
    html`<ul class="legend">
      ${shown.map(({ name, ys, unit }, at) => html`<li key=${name}><i class=${`swatch line-${at + 1}`}></i>${name} <b>${valued(ys.findLast((y) => y !== null), unit)}</b></li>`)}
      ${lines.length > shown.length && html`<li>and ${lines.length - shown.length} more</li>`}
    </ul>`}
  </figure>`;
}

function data(xs, lines) {
  return [xs, ...lines.map(({ ys }) => ys)];
}

function options(width, lines, time) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--axis"),
    grid: { stroke: colour("--grid"), width: 1 },
    ticks: { stroke: colour("--grid"), width: 1 },
    font: "12px system-ui, sans-serif",
  };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    scales: { x: { time } },
    axes: [{ ...axis, space: 80, size: 34, ...(time ? { values: (_, ticks) => ticks.map(timed) } : {}) }, { ...axis, size: 74, values: (_, ticks) => ticks.map((tick) => valued(tick, lines[0]?.unit)) }],
    series: [{}, ...lines.map(({ name }, at) => ({ label: name, stroke: colour(LINES[at]), width: 2, spanGaps: true, points: { show: false } }))],
  };
}

function timed(unixS) {
  return new Date(unixS * 1000).toLocaleTimeString("en-GB");
}

/** Returns the name of the colours in use, and redraws when they change. */
export function useTheme() {
  const [theme, set] = useState(current);
  useEffect(() => {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const look = () => set(current());
    const observer = new MutationObserver(look);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    system.addEventListener("change", look);
    return () => {
      observer.disconnect();
      system.removeEventListener("change", look);
    };
  }, []);
  return theme;
}

function current() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}
