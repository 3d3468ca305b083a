// Numbers and times for people: few digits, with units.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const FINE = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
export const NOTHING = "–";

/** Returns a count: exact below a million, else three digits. */
export function count(value) {
  if (!known(value)) return NOTHING;
  return Math.abs(value) < 1e6 ? WHOLE.format(value) : SHORT.format(value);
}

/** Returns a measured number with four digits. */
export function number(value) {
  if (!known(value)) return NOTHING;
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)) return value.toExponential(2);
  return FINE.format(value);
}

/** Returns a share from 0 to 1 as per cent. */
export function share(value) {
  return known(value) ? `${FINE.format(Math.round(value * 1000) / 10)} %` : NOTHING;
}

/** Returns a rate. */
export function rate(value) {
  return known(value) ? `${value < 10 && value !== 0 ? FINE.format(value) : count(value)} /s` : NOTHING;
}

/** Returns a time in s, ms, minutes, hours or days. */
export function seconds(value) {
  if (!known(value)) return NOTHING;
  if (value < 0.001 && value > 0) return `${number(value * 1e6)} µs`;
  if (value < 1 && value > 0) return `${number(Math.round(value * 1e5) / 100)} ms`;
  if (value < 120) return `${number(Math.round(value * 10) / 10)} s`;
  if (value < 7200) return `${Math.round(value / 60)} min`;
  if (value < 172_800) return `${Math.round(value / 3600)} h`;
  return `${Math.round(value / 86_400)} d`;
}

/** Returns a size. */
export function bytes(value) {
  if (!known(value)) return NOTHING;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  let size = value;
  while (size >= 1024 && at < units.length - 1) {
    size /= 1024;
    at += 1;
  }
  return `${FINE.format(Math.round(size * 10) / 10)} ${units[at]}`;
}

/** Returns a value of a metric, by its unit. */
export function valued(value, unit) {
  if (unit === "s" || unit === "seconds") return seconds(value);
  if (unit === "bytes" || unit === "B") return bytes(value);
  const text = Number.isInteger(value) ? count(value) : number(value);
  return !unit || unit === "1" || text === NOTHING ? text : `${text} ${unit}`;
}

/** Returns the local time of Unix seconds. */
export function clock(unixS) {
  return known(unixS) ? new Date(unixS * 1000).toLocaleString("en-GB", { dateStyle: "short", timeStyle: "medium" }) : NOTHING;
}

function known(value) {
  return typeof value === "number" && Number.isFinite(value);
}
