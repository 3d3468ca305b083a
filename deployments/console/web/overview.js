// The first view: the ring with live figures. Those that the metric query tells come from it, for the whole trial.
import { html } from "./html.js";
import { address, useFeed } from "./service.js";
import { count, number, rate, seconds } from "./format.js";
import { Answer, Figures, Section } from "./parts.js";
import { Chart } from "./chart.js";
import { Ring } from "./ring.js";
import { LISTS_S, RARE_S, useReplicas, useSeries, valueOf } from "./trial.js";
import { alarmsOf } from "./alarms.js";

const NOW_S = 10; // Seconds over which a rate is one of now.
const LATELY_S = 60; // Seconds over which returns and answers are looked at.
const CHART_S = 300; // Seconds of the charts.

export function Overview() {
  const ring = useFeed(address("ring"), RARE_S);
  const weights = useFeed(address("weights"), LISTS_S);
  const checks = useFeed(address("alarms"), LISTS_S);
  const service = useReplicas();
  const told = useTold();
  return html`
    <${Answer} feed=${service}>${(data) => html`<${Figures} figures=${figures(data, told, checks.data?.alarms ?? [])} />`}<//>
    <${Section} title="The ring">
      <${Answer} feed=${ring}>
        ${(data) => html`<${Ring} ring=${data} figureOf=${(part) => figuresOf(part, told, service.data, weights.data)} />`}
      <//>
    <//>
    <div class="two">
      <${Curve} title="Ticks answered, the last five minutes" name="ticks a second" unit="/s" points=${told.tickCurve?.[0]?.points.slice(0, -1)} />
      <${Curve} title="Mean return of training episodes, the last five minutes" name="mean return" unit="1" points=${told.returnCurve?.[0]?.points} />
    </div>`;
}

/** Returns what the metric query tells, each a list of series; the newest point of a rate is of a moment that is not over. */
function useTold() {
  const train = { "label.purpose": "train", by: "", reduce: "mean" };
  return {
    sessions: useSeries("sparring_sessions", { by: "actor", reduce: "total" }),
    rates: useSeries("sparring_ticks_total", { by: "", reduce: "rate", window_s: NOW_S }),
    ticks: useSeries("sparring_ticks_total", { by: "", reduce: "sum" }),
    starts: useSeries("sparring_starts_total", { by: "", reduce: "sum" }, LISTS_S),
    returns: useSeries("sparring_episode_return", { ...train, window_s: LATELY_S }, LISTS_S),
    updates: useSeries("sparring_updates_total", { by: "trainer", reduce: "sum" }),
    answers: useSeries("sparring_tick_seconds", { "label.part": "agent", by: "", reduce: "p99", window_s: LATELY_S }, LISTS_S),
    rows: useSeries("sparring_buffer_rows", { by: "buffer", reduce: "total" }, LISTS_S),
    tickCurve: useSeries("sparring_ticks_total", { by: "", reduce: "rate", window_s: CHART_S }, LISTS_S),
    returnCurve: useSeries("sparring_episode_return", { ...train, window_s: CHART_S }, LISTS_S),
  };
}

function figures(service, told, checks) {
  const alarms = [...alarmsOf(service), ...checks.map((one) => ({ what: one.message }))];
  const ticks = valueOf(told.ticks, "sum");
  return [
    ["Open sessions", count(sessionsOf(told)), null, "sessions"],
    ["Ticks", rate(valueOf(told.rates, "rate")), `${count(ticks)} in all`, "ticks"],
    ["Sessions started", count(valueOf(told.starts, "sum")), null, "starts"],
    ["Mean return", number(valueOf(told.returns, "mean")), "training, last minute", "return"],
    ["Answers", seconds(valueOf(told.answers, "p99")), "p99, last minute", "answers"],
    ["Replicas", count(service.replicas.length + service.silent.length), service.silent.length > 0 ? `${service.silent.length} silent` : "all answer", "replicas"],
    ["Alarms", html`<a href="#/alarms">${count(alarms.length)}</a>`, alarms[0]?.what ?? "none", "alarms"],
  ];
}

/** Returns the open sessions of one actor, or of all. */
function sessionsOf(told, actor) {
  const found = told.sessions?.filter((one) => actor === undefined || one.labels.actor === actor);
  return found?.reduce((sum, one) => sum + (one.values.total ?? 0), 0);
}

/** Returns the live figures of one part of the ring. */
function figuresOf(part, told, service, weights) {
  switch (part.kind) {
    case "cores":
      return service === null ? [] : [["connections", count(service.connections)]];
    case "actor":
      return [["replicas", count(service?.replicas.filter((one) => one.actor === part.name).length)], ["sessions", count(sessionsOf(told, part.name))]];
    case "model":
      return modelFigures(part.name, service, weights);
    case "buffer":
      return [["rows", count(valueOf(told.rows, "total", { buffer: part.name }))]];
    case "trainer":
      return [["updates", count(valueOf(told.updates, "sum", { trainer: part.name }))]];
    case "weights":
      return weights === null ? [] : [["versions", count(Object.values(weights.models).reduce((sum, one) => sum + one.versions.length, 0))]];
    default:
      return [];
  }
}

function modelFigures(name, service, weights) {
  const played = service === null ? [] : [...new Set(service.replicas.map((one) => one.versions[name]).filter(Boolean))];
  const kept = weights?.models[name];
  const found = [["plays", played.length > 0 ? played.join(", ") : "elsewhere"]];
  if (kept?.newest) found.push(["newest", kept.newest], ["age", seconds(kept.age_s)]);
  return found;
}

function Curve({ title, name, unit, points = [] }) {
  return html`<${Chart} title=${title} time=${true} xs=${points.map(([x]) => x)} lines=${[{ name, unit, ys: points.map(([, y]) => y) }]} />`;
}
