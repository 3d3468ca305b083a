// The first view: the ring with live figures.
import { html } from "./html.js";
import { address, useFeed } from "./service.js";
import { count, rate, seconds } from "./format.js";
import { Answer, Figures, Section } from "./parts.js";
import { Chart } from "./chart.js";
import { Ring } from "./ring.js";
import { LISTS_S, RARE_S, total, useNode, usePast } from "./trial.js";
import { alarmsOf } from "./alarms.js";

export function Overview() {
  const ring = useFeed(address("ring"), RARE_S);
  const node = useNode();
  const weights = useFeed(address("weights"), LISTS_S);
  const past = usePast(node);
  return html`
    <${Answer} feed=${node}>${(data) => html`<${Figures} figures=${figures(data, past)} />`}<//>
    <${Section} title="The ring">
      <${Answer} feed=${ring}>
        ${(data) => html`<${Ring} ring=${data} figureOf=${(part) => figuresOf(part, node.data, weights.data)} />`}
      <//>
    <//>
    <div class="two">
      <${Chart} title="Ticks answered, since this page was opened" time=${true} xs=${past.map((one) => one.t)}
        lines=${[{ name: "ticks a second", ys: past.map((one) => one.ticks), unit: "/s" }]} />
      <${Chart} title="Open sessions, since this page was opened" time=${true} xs=${past.map((one) => one.t)}
        lines=${[{ name: "sessions", ys: past.map((one) => one.sessions), unit: "1" }]} />
    </div>`;
}

function figures(node, past) {
  const alarms = alarmsOf(node).filter((alarm) => alarm.kind !== "good");
  return [
    ["Open sessions", count(node.sessions), null, "sessions"],
    ["Ticks", rate(past.at(-1)?.ticks, "ticks"), `${count(total(node.counts, "ticks_"))} since the start`, "ticks"],
    ["Games started", count(node.counts.starts ?? 0), null, "starts"],
    ["Replicas", count(node.replicas.length + node.silent.length), node.silent.length > 0 ? `${node.silent.length} silent` : "all answer", "replicas"],
    ["Alarms", html`<a href="#/alarms">${count(alarms.length)}</a>`, alarms[0]?.what ?? "none", "alarms"],
  ];
}

/** Returns the live figures of one part of the ring. */
function figuresOf(part, node, weights) {
  if (node === null) return [];
  const replicas = node.replicas.filter((replica) => replica.actor === part.name);
  switch (part.kind) {
    case "cores":
      return [["connections", count(node.connections)]];
    case "actor":
      return [
        ["replicas", count(replicas.length)],
        ["sessions", count(replicas.reduce((sum, one) => sum + total(one.sessions, ""), 0))],
        ["ticks", count(replicas.reduce((sum, one) => sum + total(one.counts, "ticks_"), 0))],
      ];
    case "model":
      return modelFigures(part.name, node, weights);
    case "buffer":
      return [["links", count(node.replicas.reduce((sum, one) => sum + (one.buffer_links[part.name] ?? 0), 0))]];
    case "weights":
      return weights === null ? [] : [["versions", count(Object.values(weights.models).reduce((sum, one) => sum + one.versions.length, 0))]];
    default:
      return [];
  }
}

function modelFigures(name, node, weights) {
  const played = [...new Set(node.replicas.map((one) => one.versions[name]).filter(Boolean))];
  const kept = weights?.models[name];
  const found = [["plays", played.length > 0 ? played.join(", ") : "elsewhere"]];
  if (kept?.newest) found.push(["newest", kept.newest], ["age", seconds(kept.age_s)]);
  return found;
}
