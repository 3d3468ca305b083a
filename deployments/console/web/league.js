// The league: standings, who beats whom, and the newest matches.
import { html } from "./html.js";
import { address, useFeed } from "./service.js";
import { clock, count, number, share } from "./format.js";
import { Answer, Badge, Empty, Facts, Section, Table } from "./parts.js";
import { LISTS_S } from "./trial.js";

const SHOWN = 24; // Players of the heat map: more squares cannot be read.
const MATCHES = 20;

export function League() {
  const feed = useFeed(address("league", { matches: MATCHES }), LISTS_S);
  return html`<${Answer} feed=${feed} missing=${html`There is no league in this config: add <code>league:</code> to it.`}>
    ${(data) => html`
      <${Section} title="Standings">
        <${Table} caption="Standings, the strongest first" columns=${STANDINGS} rows=${data.standings} keyOf=${(one) => one.player}
          empty="Nobody has joined the league yet." />
      <//>
      <${Section} title="Who beats whom">
        <${Payoff} payoff=${data.payoff} />
      <//>
      <${Section} title="Championship and turns">
        <${Facts} facts=${[
          ["Champion", data.championship.champion], ["Challenger", data.championship.challenger],
          ["Open matches", count(data.open_matches)],
          ...Object.entries(data.turns).map(([trainer, player]) => [`Trainer ${trainer} is at`, player]),
          ...Object.entries(data.counts).map(([name, value]) => [name.replaceAll("_", " "), count(value)]),
        ]} />
      <//>
      <${Section} title="Newest matches">
        <${Table} caption="Newest matches" columns=${MATCH} rows=${data.matches.toReversed()} keyOf=${(one) => one.id}
          empty="No match has ended yet." />
      <//>`}
  <//>`;
}

const STANDINGS = [
  { title: "Player", cell: (one) => html`${one.player} ${one.champion && html`<${Badge} kind="good">champion<//>`}` },
  { title: "Role", cell: (one) => (one.frozen ? "frozen" : (one.role ?? "supplied").replaceAll("_", " ")) },
  { title: "Rating", cell: (one) => html`${number(Math.round(one.rating * 10) / 10)} <small>± ${number(Math.round(one.deviation * 10) / 10)}</small>`, right: true },
  { title: "Games", cell: (one) => count(one.games), right: true },
  { title: "Won", cell: (one) => count(one.wins), right: true },
  { title: "Drawn", cell: (one) => count(one.draws), right: true },
  { title: "Lost", cell: (one) => count(one.losses), right: true },
  { title: "Equilibrium", cell: (one) => share(one.share), right: true },
  { title: "From", cell: (one) => one.parent ?? "" },
];

const MATCH = [
  { title: "Ended", cell: (one) => clock(one.ended_s) },
  { title: "Players", cell: (one) => one.players.join(" against ") },
  { title: "Scores", cell: (one) => one.scores.map((score) => number(score)).join(" : "), right: true },
];

function Payoff({ payoff }) {
  const { players, win_rates: rates, games } = payoff;
  if (players.length === 0) return html`<${Empty}>Nobody has met yet.<//>`;
  const shown = players.slice(0, SHOWN);
  return html`
    <p class="quiet">How often the row's player beats the column's, in per cent; rows in the order of the standings.
      ${players.length > SHOWN && ` The ${SHOWN} strongest of ${players.length} are shown.`}</p>
    <div class="scroll" role="group" aria-label="Payoff" tabindex="0">
      <table class="heat">
        <caption class="hidden">Win rates of each pair of players</caption>
        <thead><tr><td></td>${shown.map((player) => html`<th scope="col" key=${player}><span>${player}</span></th>`)}</tr></thead>
        <tbody>${shown.map((player, row) => html`<tr key=${player}>
          <th scope="row">${player}</th>
          ${shown.map((other, column) => html`<${Square} key=${other} rate=${rates[row][column]} games=${games[row][column]} names=${[player, other]} />`)}
        </tr>`)}</tbody>
      </table>
    </div>
    <p class="scale" aria-hidden="true"><span>0 %</span><i></i><span>100 %</span></p>`;
}

function Square({ rate, games, names }) {
  if (rate === null) return html`<td class="none" title=${`${names[0]} and ${names[1]} have not met`}>·</td>`;
  const step = Math.min(10, Math.round(rate * 10));
  return html`<td class=${`heat-${step}`} title=${`${names[0]} beats ${names[1]} in ${share(rate)} of ${count(games)} games`}>${Math.round(rate * 100)}</td>`;
}
