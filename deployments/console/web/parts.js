// Parts that several views share: states of an answer, tables, figures, facts.
import { html, useState } from "./html.js";
import { NOTHING } from "./format.js";

/** Shows an answer, or says that it is on its way, missing, refused or old. */
export function Answer({ feed, children, missing }) {
  if (feed.data === null && feed.error === null) return html`<p class="quiet" aria-busy="true">Asking the service …</p>`;
  if (feed.error !== null && feed.error.status === 404 && missing) return html`<${Empty}>${missing}<//>`;
  if (feed.data === null) return html`<${Trouble} error=${feed.error} />`;
  return html`
    ${feed.error !== null && html`<${Trouble} error=${feed.error} old=${true} />`}
    ${children(feed.data)}
  `;
}

/** Says what kept an answer away. */
export function Trouble({ error, old = false }) {
  const what = error.status === 0 ? "The service does not answer." : error.message;
  return html`<p class="trouble" role="status">${what}${old && " What is shown is the last answer."}</p>`;
}

/** Says that there is nothing, and how there would be something. */
export function Empty({ children }) {
  return html`<p class="empty">${children}</p>`;
}

/** One section with a heading. */
export function Section({ title, aside, children }) {
  const id = `s-${title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;
  return html`<section aria-labelledby=${id}>
    <div class="heading"><h2 id=${id}>${title}</h2>${aside}</div>
    ${children}
  </section>`;
}

/** A few large numbers beside each other; each is [label, value, note, id]. */
export function Figures({ figures }) {
  return html`<dl class="figures">
    ${figures.map(
      ([label, value, note, id]) => html`<div key=${label}>
        <dt>${label}</dt>
        <dd data-figure=${id}>${value ?? NOTHING}</dd>
        ${note && html`<dd class="note">${note}</dd>`}
      </div>`,
    )}
  </dl>`;
}

/** A table that scrolls by itself where the screen is narrow; each column is {title, cell, right}. */
export function Table({ caption, columns, rows, keyOf, empty }) {
  if (rows.length === 0) return html`<${Empty}>${empty}<//>`;
  return html`<div class="scroll" role="group" aria-label=${caption} tabindex="0">
    <table>
      <caption class="hidden">${caption}</caption>
      <thead>
        <tr>${columns.map(({ title, right }) => html`<th scope="col" class=${right ? "right" : ""}>${title}</th>`)}</tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) => html`<tr key=${keyOf(row)}>
            ${columns.map(({ cell, right }) => html`<td class=${right ? "right" : ""}>${cell(row)}</td>`)}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Names and values below each other. */
export function Facts({ facts }) {
  return html`<dl class="facts">
    ${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value === null || value === undefined || value === "" ? NOTHING : value}</dd>`)}
  </dl>`;
}

/** Returns what came of the newest request, and what says that of the next one: a promise, and the words for its success. */
export function useSaid() {
  const [said, set] = useState("");
  const say = async (asked, done) => {
    set("Asking the service …");
    try {
      await asked;
      set(done);
    } catch (error) {
      set(`Refused: ${error.message}`);
    }
  };
  return [said, say];
}

/** What came of a request. */
export function Said({ children }) {
  return html`<p class="answered" role="status">${children}</p>`;
}

/** A word with a colour that says how things stand: good, warn or bad. */
export function Badge({ kind, children }) {
  return html`<span class=${`badge ${kind}`}>${children}</span>`;
}
