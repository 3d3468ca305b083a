import asyncio
import pickle
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ray.serve._private.common import RequestMetadata, RequestProtocol, StreamingHTTPRequest
from ray.serve.request_router import PendingRequest

from app.sessions.ids import game_of
from deployments.router import REMEMBERED_S, GameRouter, LoadReport, choose, session_in, session_of

IDLE = dict.fromkeys(["one", "two", "three"], 0.0)
names = st.sets(st.text("abcdefgh0123", min_size=1, max_size=8), min_size=1, max_size=8)


def pending(headers: Iterable[tuple[str, str]] = (), query: str = "", session_id: str = "") -> PendingRequest:
    scope = {"headers": [(n.encode(), v.encode()) for n, v in headers], "query_string": query.encode()}
    packed = pickle.dumps(StreamingHTTPRequest(scope, proxy_actor_name="proxy"))
    metadata = RequestMetadata("r", "i", session_id=session_id, _request_protocol=RequestProtocol.HTTP)
    return PendingRequest([packed], {}, metadata, future=asyncio.Future())


def replica(name: str, games: float = 0, counted_s: float = 0) -> Any:
    stats = {"games": games, "counted_s": counted_s}
    return SimpleNamespace(replica_id=SimpleNamespace(unique_id=name), routing_stats=stats)


@pytest.fixture
def router() -> GameRouter:
    made = object.__new__(GameRouter)  # Without Serve around it: only what choosing needs.
    made._placed = defaultdict(deque)
    return made


def test_a_minted_id_names_its_replica() -> None:
    assert [choose(f"{name}.4f2a", IDLE) for name in IDLE] == list(IDLE)


def test_the_other_sides_of_a_minted_game_go_to_the_same_replica() -> None:
    assert choose("two.4f2a-agent-scout", IDLE) == "two"


def test_an_id_with_a_dot_that_names_nobody_is_like_any_other() -> None:
    assert choose("map.forest", IDLE) == choose("map.forest", {**IDLE, "one": 99.0})


@given(st.text(max_size=20), st.sampled_from(["", "-agent-player", "-agent-scout_2"]), names)
def test_all_sides_of_a_game_go_to_one_replica_whatever_the_load(game: str, side: str, live: set[str]) -> None:
    game = "g" + game
    loads = dict.fromkeys(live, 0.0)
    busy = {name: float(len(name)) for name in live}
    assert choose(game + side, loads) == choose(game_of(game + side), busy)


@given(st.text(min_size=1, max_size=20), names, st.text("xyz", min_size=9, max_size=9))
def test_a_replica_that_comes_or_goes_moves_only_its_own_games(game: str, live: set[str], fresh: str) -> None:
    before, after = choose(game, dict.fromkeys(live, 0.0)), choose(game, dict.fromkeys({*live, fresh}, 0.0))
    assert after in (before, fresh)


def test_games_spread_over_the_replicas() -> None:
    found = Counter(choose(f"game-{number}", IDLE) for number in range(3000))
    assert all(900 < count < 1100 for count in found.values())


def test_a_game_without_an_id_begins_where_there_are_the_fewest() -> None:
    assert choose("", {"one": 5.0, "two": 3.0, "three": 9.0}) == "two"


def test_the_session_is_read_from_header_or_query_and_the_header_wins() -> None:
    assert session_in([(b"Session", b"here")], b"session=there") == "here"
    assert session_in([(b"host", b"x")], b"step_kind=start&session=a%20b") == "a b"
    assert session_in([], b"") == ""
    assert session_in([(b"session", "é".encode())], b"") == session_in([], b"session=%C3%A9") == "é"


async def test_the_session_of_a_request_through_serves_port_is_found() -> None:
    assert session_of(pending([("host", "x"), ("session", "s-1")])) == "s-1"
    assert session_of(pending(query="session=s-2")) == "s-2"
    assert session_of(pending([("session", "s-1")], session_id="named-to-serve")) == "named-to-serve"
    assert session_of(pending([("host", "x")])) == ""


async def test_what_is_no_http_request_is_not_unpickled() -> None:
    request = pending()
    request.metadata._request_protocol = RequestProtocol.UNDEFINED
    request.args = [b"session, and not a pickle"]
    assert session_of(request) == ""


async def test_the_right_replica_comes_first_and_the_others_stand_behind_it(router: GameRouter) -> None:
    live = [replica("one"), replica("two"), replica("three")]
    request = pending([("session", "two.1")])
    first, others = await router.choose_replicas(live, request)
    assert [first, others] == [[live[1]], [live[0], live[2]]]
    assert request.routing_context.should_backoff
    assert await router.choose_replicas(live) == [live]


async def test_an_owner_that_is_gone_keeps_nobody_waiting(router: GameRouter) -> None:
    live = [replica("one")]
    assert await router.choose_replicas(live, pending([("session", "two.1")])) == [live, []]


async def test_new_games_between_two_reports_spread_by_what_was_sent(
    router: GameRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 10.0
    monkeypatch.setattr("deployments.router.time", SimpleNamespace(time=lambda: now_s))
    live = [replica("one", 4), replica("two", 0)]
    chosen = [(await router.choose_replicas(live, pending()))[0][0].replica_id.unique_id for _ in range(8)]
    assert Counter(chosen) == {"two": 6, "one": 2}
    live = [replica("one", 6, 9.0), replica("two", 2, 9.0)]  # The report comes later than it was counted.
    assert [router._load(one.replica_id.unique_id, one) for one in live] == [8, 8]
    live = [replica("one", 6, 11.0), replica("two", 2, 11.0)]  # The new report counts them already.
    assert (await router.choose_replicas(live, pending()))[0][0] is live[1]
    assert [router._load(one.replica_id.unique_id, one) for one in live] == [6, 2]
    now_s = 12.0
    assert (await router.choose_replicas(live, pending()))[0][0] is live[1]
    assert [router._load(one.replica_id.unique_id, one) for one in live] == [6, 3]
    now_s += REMEMBERED_S + 1  # It has begun no game, or one that is over.
    assert [router._load(one.replica_id.unique_id, one) for one in live] == [6, 2]


def test_a_replica_reports_anew_what_has_changed_and_games_that_end_and_begin_meanwhile() -> None:
    report = LoadReport()
    assert report.stats(0, 0, 5.0) == {"games": 0, "counted_s": 0}
    assert report.stats(2, 2, 6.0) == report.stats(2, 2, 7.0) == {"games": 2, "counted_s": 6.0}
    assert report.stats(2, 3, 8.0) == {"games": 2, "counted_s": 8.0}
