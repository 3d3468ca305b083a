// Recorded games: the newest ones, the player of one of them, and the wish for more.
import { html, useState } from "./html.js";
import { address, ask, useFeed } from "./service.js";
import { credentials, held } from "./access.js";
import { clock, count, number, seconds } from "./format.js";
import { Answer, Said, Section, Table, useSaid } from "./parts.js";
import { RARE_S } from "./trial.js";

const NEWEST = 50;
const GAMES_MAX = 1000;

export function Recordings() {
  const feed = useFeed(address("recordings", { newest: NEWEST }), RARE_S);
  const ring = useFeed(address("ring"), RARE_S);
  const agents = ring.data?.parts.filter((part) => part.kind === "agent" && "records" in part.facts).map((part) => part.name) ?? [];
  return html`<${Section} title="Recent recordings">
    <${Answer} feed=${feed}>
      ${(data) => html`
        ${agents.length > 0 && html`<${Wish} agents=${agents} />`}
        <${Table} caption="Recent recordings, the newest first" columns=${COLUMNS} rows=${data.recordings} keyOf=${(one) => one.id}
          empty=${data.folders.length === 0 ? html`No game is recorded: add <code>record:</code> to an agent of the config.` : "No game was recorded yet on this node."} />`}
    <//>
  <//>`;
}

const COLUMNS = [
  { title: "Session", cell: (one) => html`<a href=${`#/recordings/${encodeURIComponent(one.id)}`}>${one.session}</a>` },
  { title: "Began", cell: (one) => clock(one.began_s) },
  { title: "Agent", cell: (one) => one.agent },
  { title: "Purpose", cell: (one) => one.purpose },
  { title: "Why", cell: (one) => one.why },
  { title: "Ticks", cell: (one) => count(one.ticks), right: true },
  { title: "Lasted", cell: (one) => seconds(one.seconds), right: true },
  { title: "Return", cell: (one) => number(one.returned), right: true },
  { title: "Errors", cell: (one) => count(one.errors), right: true },
  { title: "Versions", cell: (one) => (one.versions.length < 2 ? one.versions.join() : `${one.versions[0]} to ${one.versions.at(-1)}`) },
];

/** Has the next games of an agent recorded, for who gave a key. */
function Wish({ agents }) {
  const [games, setGames] = useState(1);
  const [agent, setAgent] = useState(agents[0]);
  const [said, say] = useSaid();
  if (held() === null) return html`<p class="quiet">To record the next games, give a key by <em>Key</em>, at the top.</p>`;
  const wish = (event) => {
    event.preventDefault();
    say(ask(address("recordings", { agent, games }), { method: "POST" }), `The next games of ${agent} on the replica that answered are recorded.`);
  };
  return html`<form class="filters" onSubmit=${wish}>
    <label>Agent<select value=${agent} onChange=${(event) => setAgent(event.target.value)}>${agents.map((one) => html`<option key=${one}>${one}</option>`)}</select></label>
    <label>Next games<input type="number" min="1" max=${GAMES_MAX} required value=${games} onInput=${(event) => setGames(event.target.valueAsNumber)} /></label>
    <button type="submit" class="secondary">Record</button>
    <${Said}>${said}<//>
  </form>`;
}

/** The player of one recording, in a frame of its own that may do nothing but play. */
export function OneRecording({ id }) {
  const path = id.split("/").map(encodeURIComponent).join("/");
  const [source] = useState(() => String(address(`recordings/${path}`, credentials())));
  return html`<${Section} title=${`Recording ${id}`} aside=${html`<a href="#/recordings">All recordings</a>`}>
    <iframe class="player" title=${`Player of ${id}`} sandbox="allow-scripts" referrerpolicy="no-referrer" src=${source}></iframe>
  <//>`;
}
