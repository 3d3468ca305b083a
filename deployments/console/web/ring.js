// The ring: the parts of the trial in columns, and what goes from one to the next.
import { html, useLayoutEffect, useRef, useState } from "./html.js";

const COLUMNS = [["cores"], ["actor"], ["agent"], ["model", "buffer", "source"], ["trainer", "league"], ["weights", "registry"]];
const WHERE = {
  actor: "#/sessions", cores: "#/sessions", model: "#/models", weights: "#/models", registry: "#/models",
  buffer: "#/buffers", trainer: "#/learning", league: "#/league",
};

const EDGE_PX = 16; // How far from the edge the links pass that lead back.
const NEAR_PX = 60; // Longest way down whose name does not stand behind another part.

/** Draws parts and links; ``figureOf`` returns the live figures of a part, each [label, value]. */
export function Ring({ ring, figureOf }) {
  const place = useRef(null);
  const [paths, setPaths] = useState({ width: 0, height: 0, curves: [] });
  useLayoutEffect(() => {
    const draw = () => setPaths(curvesIn(place.current, ring.links));
    const observer = new ResizeObserver(draw);
    observer.observe(place.current);
    draw();
    return () => observer.disconnect();
  }, [ring]);
  const names = new Map(ring.parts.map((part) => [part.id, `${part.kind} ${part.name}`]));
  const columns = COLUMNS.map((kinds) => ring.parts.filter((part) => kinds.includes(part.kind))).filter((parts) => parts.length > 0);
  return html`<div class="ring" ref=${place}>
    <svg aria-hidden="true" width=${paths.width} height=${paths.height}>
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
          <path d="M0 0 L8 4 L0 8 Z" />
        </marker>
      </defs>
      ${paths.curves.map(({ id, d, x, y, meaning, back, named }) => html`<g key=${id} class=${back ? "back" : ""}>
        <path d=${d} marker-end="url(#arrow)" />
        ${named && html`<text x=${x} y=${y}>${meaning}</text>`}
      </g>`)}
    </svg>
    <ol class="columns" aria-label="Parts of the trial">
      ${columns.map((parts) => html`<li key=${parts[0].kind}>
        <ul>${parts.map((part) => html`<${Part} key=${part.id} part=${part} links=${ring.links} names=${names} figures=${figureOf(part)} />`)}</ul>
      </li>`)}
    </ol>
  </div>`;
}

function Part({ part, links, names, figures }) {
  const onwards = links.filter((link) => link.source === part.id).map((link) => `${link.meaning} to ${names.get(link.target)}`);
  const facts = Object.entries(part.facts).map(([name, value]) => `${name}: ${value}`).join("\n");
  const inside = html`
    <span class="kind">${part.kind}</span>
    <strong>${part.name}</strong>
    ${figures.map(([label, value]) => html`<span class="figure" key=${label}><span>${label}</span> <b data-part-figure=${`${part.id} ${label}`}>${value}</b></span>`)}
    <span class="hidden">${onwards.length > 0 ? `Gives ${onwards.join(", ")}.` : ""}</span>`;
  const where = WHERE[part.kind];
  const classes = `part ${part.kind}`;
  return html`<li data-part=${part.id}>
    ${where === undefined ? html`<div class=${classes} title=${facts}>${inside}</div>` : html`<a class=${classes} href=${where} title=${facts}>${inside}</a>`}
  </li>`;
}

/** Returns the curves between the boxes as they stand now. */
function curvesIn(place, links) {
  const frame = place.getBoundingClientRect();
  const boxes = new Map();
  for (const column of place.querySelectorAll(".columns > li")) {
    const items = [...column.querySelectorAll("[data-part]")];
    items.forEach((item, at) => {
      const box = item.getBoundingClientRect();
      const [left, right, top, bottom] = [box.left - frame.left, box.right - frame.left, box.top - frame.top, box.bottom - frame.top];
      boxes.set(item.dataset.part, { left, right, top, bottom, x: (left + right) / 2, y: (top + bottom) / 2, highest: at === 0, lowest: at === items.length - 1 });
    });
  }
  const upright = getComputedStyle(place.querySelector(".columns")).flexDirection === "column";
  const curves = links
    .filter((link) => boxes.has(link.source) && boxes.has(link.target))
    .map((link) => ({
      id: `${link.source} ${link.target} ${link.meaning}`,
      meaning: link.meaning,
      between: `${link.source.split(":")[0]} ${link.target.split(":")[0]}`,
      ...(upright ? downwards : sideways)(boxes.get(link.source), boxes.get(link.target), frame),
    }));
  return { width: frame.width, height: frame.height, curves: namedOnce(curves) };
}

/** Returns the curves, each name at the first of those that go from one kind to another. */
function namedOnce(curves) {
  const seen = new Set();
  return curves.map((one) => {
    if (!one.named || seen.has(one.between)) return { ...one, named: false };
    seen.add(one.between);
    return one;
  });
}

/** Where columns stand beside each other: forward links from right to left sides, others around what is between. */
function sideways(from, to, frame) {
  if (to.left > from.right) {
    const bend = (to.left - from.right) / 2;
    return drawn([from.right, from.y], [from.right + bend, from.y], [to.left - bend, to.y], [to.left - 1, to.y], -6, false);
  }
  if (to.left === from.left) return drawn([from.right, from.y], [from.right + 34, from.y], [to.right + 34, to.y], [to.right + 1, to.y], 0, true, false);
  if (to.lowest) {
    const below = (frame.height - EDGE_PX - (from.bottom + to.bottom) / 8) / 0.75;
    return drawn([from.x, from.bottom], [from.x, below], [to.x, below], [to.x, to.bottom + 1], -5, true);
  }
  if (to.highest) {
    const above = (EDGE_PX - (from.top + to.top) / 8) / 0.75;
    return drawn([from.x, from.top], [from.x, above], [to.x, above], [to.x, to.top - 1], -5, true);
  }
  return drawn([from.x, from.bottom], [from.x, from.bottom + 90], [to.right + 90, to.y], [to.right + 1, to.y], 0, true, false);
}

/** Where they stand below each other: forward links from the lower to the upper side, others along the right edge. */
function downwards(from, to, frame) {
  if (to.top > from.bottom) {
    const bend = (to.top - from.bottom) / 2;
    const named = to.top - from.bottom < NEAR_PX;
    return drawn([from.x, from.bottom], [from.x, from.bottom + bend], [to.x, to.top - bend], [to.x, to.top - 1], 4, false, named);
  }
  const beside = Math.min(frame.width - 4, Math.max(from.right, to.right) + 44);
  return drawn([from.right, from.y], [beside, from.y], [beside, to.y], [to.right + 1, to.y], 0, true, false);
}

/** Returns a curve, and where its name stands: at its middle. */
function drawn(start, one, two, end, lift, back, named = true) {
  const middle = (at) => (start[at] + 3 * one[at] + 3 * two[at] + end[at]) / 8;
  return { d: `M${start} C${one} ${two} ${end}`, x: middle(0), y: middle(1) + lift, back, named };
}
