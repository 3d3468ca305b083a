// How often the page looks, and the figures that several views share: those of all replicas, and those of the metric query.
import { address, useFeed } from "./service.js";

export const FIGURES_S = 3; // Pause between two looks at figures that change all the time.
export const LISTS_S = 5; // The same for lists and curves.
export const RARE_S = 30; // The same for what hardly ever changes.

/** Returns the newest answer of /replicas. */
export function useReplicas() {
  return useFeed(address("replicas"), FIGURES_S);
}

/** Returns the series of a metric query; none where nothing was measured, null before the answer. */
export function useSeries(name, fields = {}, everyS = FIGURES_S) {
  const { data, error } = useFeed(name === null ? null : address("metrics/query", { name, ...fields }), everyS);
  if (data !== null) return data.series;
  return error?.status === 404 ? [] : null;
}

/** Returns a figure of the series with these labels; undefined where there is none. */
export function valueOf(series, reduction, labels = {}) {
  const found = series?.find((one) => Object.entries(labels).every(([name, value]) => one.labels[name] === value));
  return found?.values[reduction];
}

/** Returns the sum of the counters that begin so. */
export function total(counts, ...starts) {
  return Object.entries(counts).reduce((sum, [name, value]) => sum + (starts.some((start) => name.startsWith(start)) ? value : 0), 0);
}
