// What an operator should know: what is wrong now, and what was refused.
import { html } from "./html.js";
import { clock, count, number, seconds } from "./format.js";
import { Answer, Badge, Empty, Section, Table } from "./parts.js";
import { address, useFeed } from "./service.js";
import { LISTS_S, useReplicas } from "./trial.js";

const LOGGED = 50; // Different errors and warnings that are listed.
const LAG_S = 0.25; // Delay of an event loop that games begin to feel.
const NO_ERRORS = new Set(["starts", "stops", "autos", "rows_pushed", "from_peers", "recorded_episodes"]);
const ERRORS = [
  "bad_request", "unauthorized", "session_unknown", "session_exists", "stale_seq", "seq_gap", "session_lost", "body_too_large", "bad_payload",
  "protocol_version", "overloaded", "agent_error", "draining", "deadline_exceeded",
];

export function Alarms() {
  const service = useReplicas();
  const checks = useFeed(address("alarms"), LISTS_S);
  const errors = useFeed(address("errors", { level: "warning", limit: LOGGED, traceback: 1 }), LISTS_S);
  return html`
    <${Section} title="Now">
      <${Answer} feed=${service}>
        ${(data) => html`<${Table} caption="What is wrong now" columns=${NOW} rows=${alarmsOf(data)} keyOf=${(one) => `${one.where} ${one.what}`} empty="Nothing is wrong." />`}
      <//>
    <//>
    <${Section} title="Checks of data and weights">
      <${Answer} feed=${checks}>
        ${(data) => html`<${Table} caption="Alarms of the checks, the newest first" columns=${CHECKS} rows=${data.alarms} keyOf=${(one) => `${one.check} ${one.model} ${one.field}`}
          empty="No check has found anything since the service started." />`}
      <//>
    <//>
    <${Section} title="Errors and warnings of all processes">
      <${Answer} feed=${errors}>
        ${(data) => html`<${Table} caption="Errors and warnings, the newest first" columns=${LOG} rows=${data.errors.toReversed()} keyOf=${(one) => `${one.process} ${one.where} ${one.first_s}`}
          empty="No process has logged an error or a warning since the service started." />`}
      <//>
    <//>
    <${Answer} feed=${service}>${(data) => html`
      <${Section} title="Refused steps">
        <${Table} caption="Refused steps by code" columns=${REFUSED} rows=${refused(data)} keyOf=${(one) => one.code}
          empty="No step was refused since the replicas started." />
      <//>
      <${Section} title="Whatever else was counted">
        <${Events} service=${data} />
      <//>`}
    <//>`;
}

/** Returns what is wrong with a service now: {kind, where, what}. */
export function alarmsOf(service) {
  const found = service.silent.map((name) => ({ kind: "bad", where: name, what: "the replica does not answer" }));
  for (const one of service.replicas) {
    const say = (kind, what) => found.push({ kind, where: one.replica, what });
    if (!one.healthy) say("bad", "one of the replica's own tasks has failed");
    else if (!one.ready) say("warn", "the replica drains: it takes no new games");
    if (one.degraded) say("bad", `the event loop stands still: ${one.degraded}`);
    else if (one.loop_lag_s > LAG_S) say("warn", `the event loop is late by ${seconds(one.loop_lag_s)}`);
    for (const call of one.stuck) say("warn", `a call is stuck: ${call}`);
    if (one.keys?.error) say("bad", `the keys stay as they were: ${one.keys.error}`);
    for (const [model, release] of Object.entries(one.releases)) {
      for (const [version, reason] of Object.entries(release.refused ?? {})) say("warn", `version ${version} of ${model} is refused: ${reason}`);
      for (const [version, reason] of Object.entries(release.rolled_back ?? {})) say("warn", `version ${version} of ${model} was taken back: ${reason}`);
    }
  }
  return found;
}

function refused(service) {
  return ERRORS.filter((code) => service.counts[code] > 0).map((code) => ({ code, times: service.counts[code] }));
}

const NOW = [
  { title: "How bad", cell: (one) => html`<${Badge} kind=${one.kind}>${one.kind === "bad" ? "failure" : "warning"}<//>` },
  { title: "Where", cell: (one) => one.where },
  { title: "What", cell: (one) => one.what },
];

const CHECKS = [
  { title: "Last", cell: (one) => clock(one.time_s) },
  { title: "Check", cell: (one) => `${one.check} (${one.kind})` },
  { title: "Did", cell: (one) => html`<${Badge} kind=${one.action === "stop" ? "bad" : "warn"}>${one.action}<//>` },
  { title: "Times", cell: (one) => count(one.times), right: true },
  { title: "Of", cell: (one) => [one.model, one.field].filter(Boolean).join(", ") },
  { title: "Got", cell: (one) => (typeof one.value === "number" ? number(one.value) : one.value), right: true },
  { title: "Allowed", cell: (one) => one.allowed },
  { title: "Noticed by", cell: (one) => one.source },
  { title: "Session", cell: (one) => (one.session ? html`<a href=${`#/sessions/${encodeURIComponent(one.session)}`}>${one.session}</a>` : "") },
];

const LOG = [
  { title: "Last", cell: (one) => clock(one.time_s) },
  { title: "How bad", cell: (one) => html`<${Badge} kind=${one.level === "warning" ? "warn" : "bad"}>${one.level}<//>` },
  { title: "Times", cell: (one) => count(one.count), right: true },
  { title: "Process", cell: (one) => one.process },
  { title: "Session", cell: (one) => (one.session === "" ? "" : html`<a href=${`#/sessions/${encodeURIComponent(one.session)}`}>${one.session}</a>`) },
  { title: "What", cell: (one) => html`<${Said} error=${one} />` },
];

/** What was logged, and the traceback of who wants it. */
function Said({ error }) {
  if (error.traceback === null) return html`<span class="said">${error.message}</span>`;
  return html`<details class="said"><summary>${error.message}</summary><pre>${error.traceback}</pre></details>`;
}

const REFUSED = [
  { title: "Code", cell: (one) => html`<code>${one.code}</code>` },
  { title: "Times", cell: (one) => count(one.times), right: true },
];

function Events({ service }) {
  const rows = Object.entries(service.counts)
    .filter(([name]) => !NO_ERRORS.has(name) && !ERRORS.includes(name) && !name.startsWith("ticks_"))
    .map(([name, times]) => ({ code: name, times }));
  if (rows.length === 0) return html`<${Empty}>Nothing.<//>`;
  return html`<${Table} caption="Other counters" columns=${[{ ...REFUSED[0], title: "Event" }, REFUSED[1]]} rows=${rows} keyOf=${(one) => one.code} empty="Nothing." />`;
}
