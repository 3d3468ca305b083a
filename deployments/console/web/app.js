// The page: its header, its views by the part of the address behind #, and what is said when the service is away.
import { html, render, useEffect, useRef, useState } from "./html.js";
import { address, askNow, awaySince, onAway, useFeed } from "./service.js";
import { held, hold, onChange } from "./access.js";
import { useTheme } from "./chart.js";
import { RARE_S, useReplicas } from "./trial.js";
import { Overview } from "./overview.js";
import { OneSession, Sessions } from "./sessions.js";
import { League } from "./league.js";
import { Models } from "./models.js";
import { Buffers, Learning, Metrics } from "./metrics.js";
import { Alarms } from "./alarms.js";
import { OneRecording, Recordings } from "./recordings.js";

const VIEWS = [
  ["overview", "Overview", Overview], ["sessions", "Sessions", Sessions, OneSession], ["league", "League", League], ["models", "Models", Models],
  ["buffers", "Buffers", Buffers], ["learning", "Learning", Learning], ["metrics", "Metrics", Metrics], ["alarms", "Alarms", Alarms],
  ["recordings", "Recordings", Recordings, OneRecording],
];

function App() {
  const [name, id] = useRoute();
  const [, title, Whole, One] = VIEWS.find(([view]) => view === name) ?? VIEWS[0];
  const ring = useFeed(address("ring"), RARE_S);
  const service = useReplicas();
  const main = useRef(null);
  useEffect(() => {
    document.title = `${title} – Sparring`;
  }, [title]);
  const closed = service.error?.status === 401 || ring.error?.status === 401;
  return html`
    <a class="skip" href="#main" onClick=${(event) => skip(event, main.current)}>To the content</a>
    <header class="bar">
      <div class="brand"><h1>Sparring</h1>${ring.data !== null && html`<span>${ring.data.project} · ${ring.data.trial} · ${ring.data.mode}</span>`}</div>
      <div class="tools"><${KeyButton} closed=${closed} /><${ThemeSwitch} /></div>
      <nav aria-label="Views"><ul>
        ${VIEWS.map(([view, label]) => html`<li key=${view}><a href=${`#/${view}`} aria-current=${view === name ? "page" : undefined}>${label}</a></li>`)}
      </ul></nav>
    </header>
    <${Away} />
    <main id="main" ref=${main} tabindex="-1">
      ${closed ? html`<${Closed} />` : id !== undefined && One ? html`<${One} key=${id} id=${id} />` : html`<${Whole} key=${name} />`}
    </main>`;
}

/** Returns the view and the id of the address. */
function useRoute() {
  const [route, set] = useState(read);
  useEffect(() => {
    const changed = () => set(read());
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return route;
}

function read() {
  const [, name = "overview", ...rest] = location.hash.split("/");
  const id = rest.join("/");
  try {
    return [name, id === "" ? undefined : decodeURIComponent(id)];
  } catch {
    return [name, id];
  }
}

function skip(event, main) {
  event.preventDefault();
  main.focus();
}

/** Says that the service is away, and when it is asked again. */
function Away() {
  const [, redraw] = useState(0);
  const away = awaySince();
  useEffect(() => onAway(() => redraw((count) => count + 1)), []);
  useEffect(() => {
    if (away === null) return undefined;
    const timer = setInterval(() => redraw((count) => count + 1), 1000);
    return () => clearInterval(timer);
  }, [away]);
  if (away === null) return html`<div role="status" class="hidden"></div>`;
  const again = Math.max(0, Math.ceil((away.again - Date.now()) / 1000));
  return html`<div role="status" class="away">
    <span>The service does not answer; what is shown is old. <span aria-hidden="true">Asking again in ${again} s.</span></span>
    <button class="secondary" onClick=${askNow}>Ask now</button>
  </div>`;
}

function Closed() {
  return html`<section><h2>A key is needed</h2>
    <p>This service shows itself to administrators: give a key with <code>admin: true</code> by <em>Key</em>, at the top. The page keeps it until this tab is closed.</p>
  </section>`;
}

/** Takes the operator's key. */
function KeyButton({ closed }) {
  const dialog = useRef(null);
  const [, redraw] = useState(0);
  useEffect(() => onChange(() => redraw((count) => count + 1)), []);
  const access = held();
  const keep = (event) => {
    event.preventDefault();
    const { key, secret } = event.target.elements;
    hold({ key: key.value.trim(), secret: secret.value });
    event.target.reset();
    dialog.current.close();
  };
  const forget = () => {
    hold(null);
    dialog.current.close();
  };
  return html`
    <button class=${closed ? "" : "secondary"} onClick=${() => dialog.current.showModal()}>${access === null ? "Key" : `Key ${access.key}`}</button>
    <dialog ref=${dialog} aria-labelledby="key-title"><article>
      <h2 id="key-title">Access key</h2>
      <p>A key of the service's keys file. With one that is <code>admin</code> this page shows a guarded service; it can have games recorded, and stop the sessions that the key has started. Without a key it only looks. Where a service asks for no keys, any word will do: it is a safety catch.</p>
      <form onSubmit=${keep}>
        <label>Key<input name="key" required autocomplete="username" /></label>
        <label>Secret<input name="secret" type="password" autocomplete="current-password" placeholder="none where the key alone is enough" /></label>
        <div class="pages">
          <button type="button" class="secondary" onClick=${() => dialog.current.close()}>Cancel</button>
          ${access !== null && html`<button type="button" class="secondary" onClick=${forget}>Forget it</button>`}
          <button type="submit">Keep until this tab is closed</button>
        </div>
      </form>
    </article></dialog>`;
}

function ThemeSwitch() {
  const theme = useTheme();
  const other = theme === "dark" ? "light" : "dark";
  const change = () => {
    document.documentElement.dataset.theme = other;
    try {
      localStorage.setItem("sparring-theme", other);
    } catch {
      // A browser that keeps nothing shows it until the page is loaded again.
    }
  };
  return html`<button class="secondary" aria-label=${`Colours: ${theme}; change to ${other}`} onClick=${change}>${theme === "dark" ? "Light" : "Dark"}</button>`;
}

const place = document.getElementById("app");
place.replaceChildren();
render(html`<${App} />`, place);
