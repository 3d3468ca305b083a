"""Serve's port: a step goes to the replica that holds its game, without a word with the directory.

Serve pickles this module's classes into its proxies, where the rest of the product may not be importable: nothing of
it is used here. A wrong guess is slower, never wrong, since every replica forwards what another one holds.
"""

import pickle
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final
from urllib.parse import parse_qs

from ray.serve.request_router import PendingRequest, RequestRouter, RunningReplica

LOAD: Final = "games"
"""Key of a replica's open games in what it reports to routers."""
COUNTED_S: Final = "counted_s"
"""Key of the time at which they were counted, in seconds since 1970."""
REMEMBERED_S: Final = 10.0
"""For so long a request without a session counts as a game; several reports, but one that began no game is in none."""


class LoadReport:
    """What a replica reports to routers; Serve tells them of it only where it has changed."""

    def __init__(self) -> None:
        self._seen = (0, 0)
        self._stats: dict[str, float] = {LOAD: 0.0, COUNTED_S: 0.0}

    def stats(self, games: int, starts: int, now_s: float) -> dict[str, float]:
        """Returns the report.

        Args:
          games: Open at this moment.
          starts: All since the replica's own start.
          now_s: Seconds since 1970.
        """
        if (games, starts) != self._seen:
            self._seen = (games, starts)
            self._stats = {LOAD: float(games), COUNTED_S: now_s}
        return self._stats


class GameRouter(RequestRouter):
    """Sends each step of a game to the same replica, and new games to the least loaded."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # Serve's own arguments, passed on.
        self._placed: defaultdict[str, deque[float]] = defaultdict(deque)

    async def choose_replicas(
        self, candidate_replicas: list[RunningReplica], pending_request: PendingRequest | None = None
    ) -> list[list[RunningReplica]]:
        """Returns the one right replica, and behind it all others, for when it is full or gone."""
        if pending_request is None:
            return [candidate_replicas]
        pending_request.routing_context.should_backoff = True  # Between two rounds over all of them.
        replicas = {replica.replica_id.unique_id: replica for replica in candidate_replicas}
        session = session_of(pending_request)
        name = choose(session, {name: self._load(name, replica) for name, replica in replicas.items()})
        if not session:
            self._placed[name].append(time.time())
        first = replicas.pop(name)
        return [[first], list(replicas.values())]

    def _load(self, name: str, replica: RunningReplica) -> float:
        """Returns a replica's games: those that it has reported, and those sent to it since they were counted.

        A report is some tenths of a second old when it comes; where the clocks of two machines differ, games placed
        meanwhile count twice or not at all until the next one.
        """
        placed, counted_s = self._placed[name], float(replica.routing_stats.get(COUNTED_S, 0.0))
        since_s = max(counted_s, time.time() - REMEMBERED_S)
        while placed and placed[0] < since_s:
            placed.popleft()
        return float(replica.routing_stats.get(LOAD, 0.0)) + len(placed)


def choose(session: str, loads: Mapping[str, float]) -> str:
    """Returns the name of the replica for a request.

    A session id that a replica has minted begins with its name. Any other id goes where its game's hash says
    (rendezvous hashing: when a replica comes or goes, only its own games get another one), so that ticks and retries
    follow the start. Without an id there is nothing to follow: the least loaded one.

    Args:
      session: Id of the session; empty where the request names none.
      loads: Games of each live replica, at least one.
    """
    if not session:
        return min(loads, key=lambda name: (loads[name], name))
    owner, dot, _ = session.partition(".")
    if dot and owner in loads:
        return owner
    game = session.rpartition("-agent-")[0] or session
    return max(loads, key=lambda name: blake2b(f"{name}/{game}".encode(), digest_size=8).digest())


def session_of(request: PendingRequest) -> str:
    """Returns the session of a request; empty where it names none, as a batch of many does not."""
    if request.metadata.session_id:
        return request.metadata.session_id
    packed = request.args[0] if request.args else None
    if not (request.metadata.is_http_request and isinstance(packed, bytes) and b"session" in packed.lower()):
        return ""
    scope = pickle.loads(packed).asgi_scope  # noqa: S301  # Written by this very process, Serve's proxy.
    return session_in(scope["headers"], scope["query_string"])


def session_in(headers: Iterable[tuple[bytes, bytes]], query: bytes) -> str:
    """Returns the ``session`` field of a request; a header wins over the query."""
    for name, value in headers:
        if name.lower() == b"session":
            return value.decode(errors="replace")
    return parse_qs(query.decode("latin-1")).get("session", [""])[0]
