// Curves of the metric store: those of the trainers, those of the buffers, and any other by its name.
import { html, useState } from "./html.js";
import { address, useFeed } from "./service.js";
import { count, valued } from "./format.js";
import { Answer, Empty, Section, Table } from "./parts.js";
import { Chart } from "./chart.js";
import { LISTS_S, RARE_S, total, useReplicas } from "./trial.js";

const CURVES = 6; // Charts of one view: a request each, every time.
const RETURNS = "sparring_episode_return";
const TELLING = [RETURNS, "learner/loss_total", "learner/entropy", "learner/kl", "learner/explained_variance", "learner/grad_norm"];
const LEARNER = "learner/"; // Begins the names of what updates tell.
const REDUCTIONS = { counter: "rate,sum", gauge: "last", distribution: "mean,count" }; // The first makes the curve.

/** Returns what can be asked for. */
function useNames() {
  return useFeed(address("metrics/names"), RARE_S);
}

export function Learning() {
  const names = useNames();
  return html`<${Section} title="Learning curves">
    <${Answer} feed=${names}>
      ${(data) => html`<${Chooser} metrics=${learnt(data.metrics)} axis="step"
        empty=${html`No trainer has reported yet: this config has none, or it has not begun. <code>python -m train</code> starts one.`} />`}
    <//>
  <//>`;
}

/** Returns the metrics of trainers, those first that tell whether it learns at all. */
function learnt(metrics) {
  const found = metrics.filter((one) => one.labels.includes("trainer"));
  if (found.length === 0) return [];
  const rank = (one) => (TELLING.includes(one.name) ? TELLING.indexOf(one.name) : TELLING.length);
  return [...metrics.filter((one) => one.name === RETURNS), ...found].sort((a, b) => rank(a) - rank(b));
}

export function Metrics() {
  const names = useNames();
  return html`<${Section} title="Metrics">
    <${Answer} feed=${names}>
      ${(data) => html`<${Chooser} metrics=${data.metrics} axis="time" empty="Nothing has been measured yet." />`}
    <//>
  <//>`;
}

export function Buffers() {
  const names = useNames();
  const service = useReplicas();
  return html`
    <${Section} title="Rows on their way">
      <${Answer} feed=${service}>${(data) => html`<${Table} caption="Rows that replicas sent" columns=${ROWS} rows=${data.replicas} keyOf=${(one) => one.replica}
        empty="No replica answers." />`}<//>
    <//>
    <${Section} title="Buffers">
      <${Answer} feed=${names}>
        ${(data) => html`<${Chooser} metrics=${data.metrics.filter((one) => one.labels.includes("buffer"))} axis="time"
          empty="No buffer has reported yet: a deployed service records nothing." />`}
      <//>
    <//>`;
}

const ROWS = [
  { title: "Replica", cell: (one) => one.replica },
  { title: "Rows sent", cell: (one) => count(one.counts.rows_pushed ?? 0), right: true },
  { title: "Rows lost", cell: (one) => count(total(one.counts, "rows_dropped_")), right: true },
  { title: "Pushes refused", cell: (one) => count(one.counts.pushes_refused ?? 0), right: true },
  { title: "Buffers", cell: (one) => Object.entries(one.buffer_links).map(([name, links]) => `${name} (${links})`).join(", ") },
];

/** Charts of the chosen metrics, and a box for each to choose by. */
function Chooser({ metrics, axis, empty }) {
  const [chosen, choose] = useState(null);
  const [wanted, want] = useState("");
  if (metrics.length === 0) return html`<${Empty}>${empty}<//>`;
  const shown = chosen ?? metrics.slice(0, CURVES).map((one) => one.name);
  const toggle = (name) => choose(shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name].slice(-CURVES));
  const listed = metrics.filter((one) => one.name.includes(wanted.toLowerCase()));
  return html`
    <details>
      <summary>${shown.length} of ${metrics.length} shown; at most ${CURVES} at a time</summary>
      <label>Find<input type="search" value=${wanted} onInput=${(event) => want(event.target.value)} autocomplete="off" /></label>
      <fieldset class="choices">
        <legend class="hidden">Metrics to show</legend>
        ${listed.map((one) => html`<label key=${one.name} title=${one.help}>
          <input type="checkbox" checked=${shown.includes(one.name)} onChange=${() => toggle(one.name)} />${one.name}
        </label>`)}
      </fieldset>
    </details>
    <div class="two">${metrics.filter((one) => shown.includes(one.name)).map((one) => html`<${Curve} key=${one.name} metric=${one} axis=${axis} />`)}</div>`;
}

function Curve({ metric, axis }) {
  const by = groupsOf(metric);
  const feed = useFeed(address("metrics/query", { name: metric.name, by, axis, reduce: REDUCTIONS[metric.kind] }), LISTS_S);
  return html`<${Answer} feed=${feed}>
    ${(data) => {
      const drawn = data.series.filter((one) => one.points.length > 0);
      if (drawn.length === 0) return html`<${Latest} metric=${metric} series=${data.series} />`;
      return html`<${Chart} title=${metric.name} note=${noteOf(metric)} time=${axis === "time"} xLabel=${axis === "step" ? "updates of the trainer" : ""} ...${aligned(drawn)} />`;
    }}
  <//>`;
}

/** Returns the labels that make a line each: all but the replica, of which there may be many. */
function groupsOf({ labels, kind }) {
  return kind === "gauge" ? labels.join(",") : labels.filter((label) => label !== "replica").join(",");
}

/** Returns what a metric means; nothing where its name tells that already. */
function noteOf({ name, help }) {
  return name.startsWith(LEARNER) ? "" : help;
}

/** The values of a metric that has no curve. */
function Latest({ metric, series }) {
  const columns = [
    { title: "Of", cell: (one) => labelled(one) },
    ...REDUCTIONS[metric.kind].split(",").map((name) => ({ title: name, cell: (one) => valued(one.values[name], metric.unit), right: true })),
  ];
  return html`<figure class="chart"><figcaption><b>${metric.name}</b> <span class="quiet">${noteOf(metric)}</span></figcaption>
    <${Table} caption=${metric.name} columns=${columns} rows=${series} keyOf=${labelled} empty="No values yet." />
  </figure>`;
}

function labelled(one) {
  return Object.values(one.labels).join(", ") || one.name;
}

/** Returns the unit of a curve's values. */
function unitOf({ kind, unit }) {
  if (kind !== "counter") return unit;
  return unit === "1" ? "/s" : `${unit}/s`;
}

/** Returns the curves over one x axis: all their x, and null where a curve has no value. */
function aligned(series) {
  const xs = [...new Set(series.flatMap((one) => one.points.map(([x]) => x)))].sort((a, b) => a - b);
  const lines = series.map((one) => {
    const at = new Map(one.points);
    return { name: labelled(one), unit: unitOf(one), ys: xs.map((x) => at.get(x) ?? null) };
  });
  return { xs, lines };
}
