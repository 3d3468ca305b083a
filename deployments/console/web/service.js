// What the page asks of the service: one request at a time for each path, slower while nobody answers, none while hidden.
import { useEffect, useState } from "./html.js";
import { credentials, onChange } from "./access.js";

const ROOT = new URL("..", import.meta.url);
const PATIENCE_MS = 10_000; // Longest wait for an answer.
const BACK_OFF_MAX_MS = 30_000; // Longest pause while the service is away.
const FEEDS_KEPT = 60; // Answers that are remembered, so that a view shows something at once.

/** What kept the service from answering. */
export class Refusal extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status; // 0 where nobody answered.
    this.code = code;
  }
}

/** Returns the address of a path of the service. */
export function address(path, fields = {}) {
  const url = new URL(path.replace(/^\//, ""), ROOT);
  for (const [name, value] of Object.entries(fields)) {
    if (value !== null && value !== undefined) url.searchParams.set(name, value);
  }
  return url;
}

/** Returns the JSON answer of a path, or throws a Refusal. */
export async function ask(target, options = {}) {
  const { session, headers, ...others } = options;
  let response;
  try {
    response = await fetch(target, {
      cache: "no-store", // Figures are never kept.
      signal: AbortSignal.timeout(PATIENCE_MS),
      headers: { ...credentials(session), ...headers },
      ...others,
    });
  } catch (error) {
    throw new Refusal(0, "away", error.name === "TimeoutError" ? "no answer within 10 s" : "nobody answers");
  }
  const body = await response.text();
  const document_ = parsed(body);
  if (!response.ok) {
    throw new Refusal(response.status, document_?.code ?? "", document_?.detail ?? `status ${response.status}`);
  }
  return document_;
}

/** Returns the newest answer of a path and what is wrong with it, asked again every so many seconds; a null target asks nothing. */
export function useFeed(target, everyS) {
  const key = target === null ? null : String(target);
  const [, redraw] = useState(0);
  const [, remember] = useState(null);
  useEffect(() => {
    if (key === null) return undefined;
    const feed = feedOf(key, everyS);
    const told = () => redraw((count) => count + 1);
    feed.listen(told);
    remember(feed);
    return () => feed.leave(told);
  }, [key, everyS]);
  if (key === null) return IDLE;
  return feeds.get(key)?.state ?? IDLE;
}

/** Calls a function whenever the service goes away or comes back; returns what ends that. */
export function onAway(listener) {
  watchers.add(listener);
  return () => watchers.delete(listener);
}

/** Returns since when the service does not answer, and when it is asked again, both in ms; null while it answers. */
export function awaySince() {
  return away;
}

/** Asks at once for all that is shown. */
export function askNow() {
  for (const feed of feeds.values()) feed.hurry();
}

const IDLE = Object.freeze({ data: null, error: null, at: 0 });
const feeds = new Map();
const watchers = new Set();
let away = null;
let failures = 0;

class Feed {
  constructor(target, everyS) {
    this.target = target;
    this.everyMs = everyS * 1000;
    this.state = IDLE;
    this.listeners = new Set();
    this.timer = null;
    this.asking = false;
  }

  listen(listener) {
    this.listeners.add(listener);
    if (this.listeners.size === 1) this.hurry();
  }

  leave(listener) {
    this.listeners.delete(listener);
    if (this.listeners.size === 0) clearTimeout(this.timer);
  }

  hurry() {
    clearTimeout(this.timer);
    this.turn();
  }

  async turn() {
    if (this.asking || this.listeners.size === 0 || document.hidden) return;
    this.asking = true;
    try {
      const data = await ask(this.target);
      this.state = { data, error: null, at: Date.now() };
      heard();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.state = { ...this.state, error };
      if (error.status === 0) missed();
      else heard();
    } finally {
      this.asking = false;
      this.timer = setTimeout(() => this.turn(), this.pauseMs());
    }
    for (const listener of [...this.listeners]) listener();
  }

  pauseMs() {
    return away === null ? this.everyMs : Math.max(this.everyMs, away.again - Date.now());
  }
}

function feedOf(target, everyS) {
  if (!feeds.has(target)) feeds.set(target, new Feed(target, everyS));
  const feed = feeds.get(target);
  feed.everyMs = everyS * 1000;
  for (const [other, kept] of feeds) {
    if (feeds.size <= FEEDS_KEPT) break;
    if (kept.listeners.size === 0 && kept !== feed) feeds.delete(other);
  }
  return feed;
}

function heard() {
  failures = 0;
  if (away === null) return;
  away = null;
  tell();
  askNow();
}

function missed() {
  const now = Date.now();
  if (away !== null && now < away.again) return; // Another feed has missed it already in this turn.
  failures += 1;
  const pause = Math.min(BACK_OFF_MAX_MS, 1000 * 2 ** failures) * (0.8 + 0.4 * Math.random());
  away = { since: away?.since ?? now, again: now + pause };
  tell();
}

function tell() {
  for (const watcher of watchers) watcher();
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) askNow();
});
window.addEventListener("online", askNow);
onChange(askNow);
