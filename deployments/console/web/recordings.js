// Recorded games: the newest ones, and the player of one of them.
import { html } from "./html.js";
import { address, useFeed } from "./service.js";
import { credentials } from "./access.js";
import { bytes, clock, count } from "./format.js";
import { Answer, Section, Table } from "./parts.js";
import { LISTS_S } from "./trial.js";

export function Recordings() {
  const feed = useFeed(address("recordings"), LISTS_S);
  const none = html`No game is recorded: add <code>record:</code> to an agent of the config.`;
  return html`<${Section} title="Recent recordings">
    <${Answer} feed=${feed} missing=${none}>
      ${(data) => html`<${Table} caption="Recent recordings" columns=${COLUMNS} rows=${data.recordings} keyOf=${(one) => one.id} empty=${none} />`}
    <//>
  <//>`;
}

const COLUMNS = [
  { title: "Session", cell: (one) => html`<a href=${`#/recordings/${encodeURIComponent(one.id)}`}>${one.session ?? one.id}</a>` },
  { title: "Agent", cell: (one) => one.agent },
  { title: "Recorded", cell: (one) => clock(one.recorded_s) },
  { title: "Ticks", cell: (one) => count(one.ticks), right: true },
  { title: "Size", cell: (one) => bytes(one.size_bytes), right: true },
];

/** The player of one recording, in a frame of its own that may do nothing but play. */
export function OneRecording({ id }) {
  const source = address(`recordings/${encodeURIComponent(id)}`, credentials());
  return html`<${Section} title=${`Recording ${id}`} aside=${html`<a href="#/recordings">All recordings</a>`}>
    <iframe class="player" title=${`Player of ${id}`} sandbox="allow-scripts" src=${source}></iframe>
  <//>`;
}
