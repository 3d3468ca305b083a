// Open sessions: the list, the search, and one of them.
import { html, useState } from "./html.js";
import { address, ask, useFeed } from "./service.js";
import { count, seconds } from "./format.js";
import { held } from "./access.js";
import { Answer, Empty, Facts, Said, Section, Table, useSaid } from "./parts.js";
import { FIGURES_S, LISTS_S } from "./trial.js";

const PAGE = 50;
const PURPOSES = ["train", "evaluate", "play"];

export function Sessions() {
  const [purpose, setPurpose] = useState("");
  const [game, setGame] = useState("");
  const [pages, setPages] = useState([""]);
  const after = pages.at(-1);
  const feed = useFeed(address("sessions", { limit: PAGE, after: after || null, game: game || null, purpose: purpose || null }), LISTS_S);
  const first = (set) => (value) => {
    set(value);
    setPages([""]);
  };
  return html`<${Section} title="Open sessions">
    <div class="filters">
      <form role="search" aria-label="Open a session" onSubmit=${find}>
        <label>Session<input name="session" type="search" placeholder="its id" autocomplete="off" /></label>
        <button type="submit" class="secondary">Open</button>
      </form>
      <label>Game<input type="search" placeholder="all games" value=${game} autocomplete="off" onChange=${(event) => first(setGame)(event.target.value.trim())} /></label>
      <label>Purpose<select value=${purpose} onChange=${(event) => first(setPurpose)(event.target.value)}>
        <option value="">all</option>
        ${PURPOSES.map((one) => html`<option value=${one}>${one}</option>`)}
      </select></label>
    </div>
    <${Answer} feed=${feed}>
      ${(data) => html`
        ${data.silent.length > 0 && html`<p class="trouble" role="status">Silent, so their sessions are missing: ${data.silent.join(", ")}.</p>`}
        <${Table} caption="Open sessions" columns=${COLUMNS} rows=${data.sessions} keyOf=${(one) => one.id}
          empty=${game || purpose ? "No open session is like that." : "No game is played now. A game core starts one with POST /step; sparring simulate plays an environment."} />
        <div class="pages">
          <button class="secondary" disabled=${pages.length === 1} onClick=${() => setPages(pages.slice(0, -1))}>Back</button>
          <button class="secondary" disabled=${data.next === null} onClick=${() => setPages([...pages, data.next])}>Next</button>
        </div>`}
    <//>
  <//>`;
}

const COLUMNS = [
  { title: "Session", cell: (one) => html`<a href=${`#/sessions/${encodeURIComponent(one.id)}`}>${one.id}</a>` },
  { title: "Game", cell: (one) => one.game },
  { title: "Agent", cell: (one) => one.agent },
  { title: "Purpose", cell: (one) => one.purpose },
  { title: "Steps", cell: (one) => count(one.seq), right: true },
  { title: "Idle", cell: (one) => seconds(one.idle_s), right: true },
  { title: "Replica", cell: (one) => one.replica },
];

function find(event) {
  event.preventDefault();
  const wanted = event.target.elements.session.value.trim();
  if (wanted !== "") location.hash = `#/sessions/${encodeURIComponent(wanted)}`;
}

export function OneSession({ id }) {
  const feed = useFeed(address(`sessions/${encodeURIComponent(id)}`), FIGURES_S);
  const over = feed.error?.status === 404;
  return html`<${Section} title=${`Session ${id}`} aside=${html`<a href="#/sessions">All sessions</a>`}>
    ${over
      ? html`<${Empty}>No replica that answers holds this session: it is over, or was never started here.<//>
          <p class="quiet">${feed.error.message}</p>`
      : html`<${Answer} feed=${feed}>${(data) => html`
          <${Facts} facts=${[
            ["Game", data.game], ["Agent", data.agent], ["Purpose", data.purpose], ["Steps answered", count(data.seq)],
            ["Idle", seconds(data.idle_s)], ["Replica", data.replica],
          ]} />
          <${Actions} id=${id} />`}<//>`}
  <//>`;
}

/** Records or ends a game, for who gave a key; the service takes the end from the key that started it alone. */
function Actions({ id }) {
  const [said, say] = useSaid();
  if (held() === null) return html`<p class="quiet">To record or stop it, give a key by <em>Key</em>, at the top.</p>`;
  const record = () => say(ask(address("recordings", { session: id }), { method: "POST" }), "It is recorded from now on.");
  const stop = () => say(ask(address("step"), { method: "POST", session: id, headers: { session: bytesOf(id), "step-kind": "stop" } }), "Stopped.");
  return html`<div class="pages">
      <button class="secondary" onClick=${record}>Record this session</button>
      <button class="secondary" onClick=${stop}>Stop this session</button>
    </div>
    <${Said}>${said}<//>`;
}

/** Returns text as a header may carry it: the bytes of its UTF-8, one character each. */
function bytesOf(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
