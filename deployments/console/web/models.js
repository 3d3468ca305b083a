// Models: which versions are kept, which are played, and how releases stand.
import { html } from "./html.js";
import { held } from "./access.js";
import { address, useFeed } from "./service.js";
import { bytes, seconds, share } from "./format.js";
import { Answer, Badge, Empty, Facts, Section, Table } from "./parts.js";
import { LISTS_S, useReplicas } from "./trial.js";

export function Models() {
  const weights = useFeed(address("weights"), LISTS_S);
  const service = useReplicas();
  return html`
    <${Answer} feed=${weights}>
      ${(data) => Object.entries(data.models).length === 0
        ? html`<${Empty}>No model of this config has weights in the store yet: those drawn from the seed and those of a checkpoint are not there until a trainer publishes.<//>`
        : Object.entries(data.models).map(([name, model]) => html`<${Model} key=${name} name=${name} model=${model} service=${service.data} />`)}
    <//>
    <${Section} title="Releases">
      <${Answer} feed=${service}>${(data) => html`<${Releases} service=${data} />`}<//>
    <//>`;
}

function Model({ name, model, service }) {
  const played = service === null ? [] : service.replicas.filter((one) => one.versions[name]).map((one) => `${one.versions[name]} on ${one.replica}`);
  return html`<${Section} title=${`Model ${name}`}>
    <${Facts} facts=${[
      ["Newest", model.newest === null ? "none published yet" : `${model.newest}, ${seconds(model.age_s)} old`],
      ["Played", played.join(", ")],
    ]} />
    <${Table} caption=${`Versions of ${name}`} columns=${versionColumns(name)} rows=${model.versions.toReversed()} keyOf=${(one) => one.version}
      empty="A trainer has not published yet; games are played with the first weights." />
  <//>`;
}

const versionColumns = (name) => [
  { title: "Version", cell: (one) => downloaded(name, one.version) },
  { title: "Age", cell: (one) => seconds(one.age_s), right: true },
  { title: "Size", cell: (one) => bytes(one.size_bytes), right: true },
  { title: "From", cell: (one) => one.parent ?? "" },
  { title: "Content", cell: (one) => html`<code title=${one.content_hash}>${one.content_hash.slice(0, 10)}</code>` },
  { title: "Pinned", cell: (one) => (one.pinned > 0 ? html`<${Badge} kind="good">pinned<//>` : "") },
];

/** A link to the file; with a key it would stand in the address, and so in the browser's history. */
function downloaded(name, version) {
  return held() === null ? html`<a href=${address(`weights/${name}/${version}`)} download>${version}</a>` : version;
}

function Releases({ service }) {
  const found = new Map();
  for (const replica of service.replicas) for (const [model, release] of Object.entries(replica.releases)) found.set(model, release);
  if (found.size === 0) return html`<${Empty}>No model follows the registry: add <code>models.main.release</code> to a deployed config.<//>`;
  return [...found].map(([model, release]) => html`<article key=${model}>
    <h3>${model}</h3>
    <${Facts} facts=${[
      ["Champion", release.champion],
      ["Challenger", release.challenger === null ? null : `${release.challenger}, ${share(release.share)} of the games`],
      ["Shadow", release.shadow],
      ["Loaded", (release.loaded ?? []).join(", ")],
      ...Object.entries(release.refused ?? {}).map(([version, reason]) => [`Refused ${version}`, reason]),
      ...Object.entries(release.rolled_back ?? {}).map(([version, reason]) => [`Taken back ${version}`, reason]),
    ]} />
  </article>`);
}
