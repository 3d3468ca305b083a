// The access key of the operator: kept until the tab is closed, and signed anew for each request (docs/access.md).
import { sha256 } from "./vendor/sha256-1.0.0.js";

const KEPT = "sparring-key";
const listeners = new Set();

/** Returns the key and its secret; null where none was given. */
export function held() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT));
  } catch {
    return null;
  }
}

/** Keeps a key; null forgets it. */
export function hold(access) {
  if (access === null) sessionStorage.removeItem(KEPT);
  else sessionStorage.setItem(KEPT, JSON.stringify(access));
  for (const listener of listeners) listener();
}

/** Calls a function whenever the key changes; returns what ends that. */
export function onChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the fields that show the key, for a session or, empty, for all that an administrator sees. */
export function credentials(session = "") {
  const access = held();
  if (access === null) return {};
  const time = String(Math.floor(Date.now() / 1000));
  if (!access.secret) return { key: access.key, time };
  return { key: access.key, time, token: sha256.hmac(access.secret, `${access.key}\n${time}\n${session}`) };
}
