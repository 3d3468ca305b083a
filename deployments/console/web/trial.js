// The figures of the node, and how they went since the page was opened.
import { useEffect, useState } from "./html.js";
import { address, useFeed } from "./service.js";

export const FIGURES_S = 2; // Pause between two looks at figures that change all the time.
export const LISTS_S = 4; // The same for lists.
export const RARE_S = 30; // The same for what hardly ever changes.
const KEPT = 150; // Points of a curve: five minutes.

const past = [];

/** Returns the newest answer of /node. */
export function useNode() {
  return useFeed(address("node"), FIGURES_S);
}

/** Returns how sessions, ticks and refusals went since the page was opened: {t, sessions, ticks, errors}, the last two a second. */
export function usePast(node) {
  const [, redraw] = useState(0);
  useEffect(() => {
    if (node.data !== null && note(node)) redraw((count) => count + 1);
  }, [node.at]);
  return past;
}

/** Returns the sum of the counters that begin so. */
export function total(counts, ...starts) {
  return Object.entries(counts).reduce((sum, [name, value]) => sum + (starts.some((start) => name.startsWith(start)) ? value : 0), 0);
}

function note({ data, at }) {
  const newest = past.at(-1);
  const t = at / 1000;
  if (newest !== undefined && newest.t >= t) return false;
  const ticks = total(data.counts, "ticks_");
  const point = { t, sessions: data.sessions, total: ticks, ticks: null };
  if (newest !== undefined && t - newest.t < 30 && ticks >= newest.total) point.ticks = (ticks - newest.total) / (t - newest.t);
  past.push(point);
  if (past.length > KEPT) past.shift();
  return true;
}
