import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadRequestError
from app.sessions.listing import (
    PAGE_MAX,
    Query,
    SessionList,
    SessionSummary,
    merged,
    page_document,
    read_query,
    rows_of,
)
from app.types import Purpose


@dataclass
class Open:
    purpose: Purpose = Purpose.TRAIN
    seq: int = 0
    used_at_s: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


def listed(**sessions: Open) -> SessionList:
    return SessionList(sessions, "r1", "player", lambda: 10.0)


def ids(found: tuple[list[SessionSummary], bool]) -> list[str]:
    return [session.id for session in found[0]]


def test_a_session_is_shown_with_its_game_and_agent() -> None:
    table = {"g-agent-boss": Open(Purpose.PLAY, 5, 7.5), "solo": Open()}
    sessions = SessionList(table, "r1", "player", lambda: 10.0)
    assert sessions.find("g-agent-boss") == SessionSummary("g-agent-boss", "g", "boss", "play", 5, 2.5, "r1")
    assert sessions.find("solo") == SessionSummary("solo", "solo", "player", "train", 0, 10.0, "r1")
    assert sessions.find("nobody") is None


async def test_a_session_is_not_idle_while_a_step_runs() -> None:
    session = Open()
    sessions = listed(a=session)
    async with session.lock:
        found = sessions.find("a")
    assert found is not None
    assert found.idle_s == 0.0


def test_pages_follow_one_another_without_gap_or_overlap() -> None:
    sessions = listed(**{f"s{number:03}": Open() for number in range(25)})
    seen: list[str] = []
    query, more = Query(limit=10), True
    while more:
        page, more = sessions.page(query)
        assert len(page) <= 10
        seen += [session.id for session in page]
        query = Query(limit=10, after=seen[-1])
    assert seen == [f"s{number:03}" for number in range(25)]


def test_a_page_that_ends_with_the_last_session_has_no_next() -> None:
    sessions = listed(a=Open(), b=Open())
    assert sessions.page(Query(limit=2))[1] is False
    page, more = sessions.page(Query(limit=1))
    assert page_document(page, more=more, silent=[])["next"] == "a"
    assert page_document([], more=False, silent=["r2"]) == {"sessions": [], "next": None, "silent": ["r2"]}


def test_pages_can_be_filtered_by_game_and_purpose() -> None:
    table = {"g-agent-a": Open(), "g-agent-b": Open(Purpose.PLAY), "h": Open()}
    sessions = SessionList(table, "r1", "player", lambda: 0.0)
    assert ids(sessions.page(Query(game="g"))) == ["g-agent-a", "g-agent-b"]
    assert ids(sessions.page(Query(purpose="train"))) == ["g-agent-a", "h"]
    assert ids(sessions.page(Query(game="g", purpose="play"))) == ["g-agent-b"]
    assert sessions.by_purpose() == {"train": 2, "evaluate": 0, "play": 1}


@pytest.mark.parametrize("limit", ["0", "-1", "1001", "ten", "", "1e3", "0000000001000000"])
def test_a_page_has_a_bounded_size(limit: str) -> None:
    with pytest.raises(BadRequestError, match=f"allowed are 1 to {PAGE_MAX}"):
        read_query({"limit": limit})


def test_a_purpose_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadRequestError, match="allowed are train, evaluate, play"):
        read_query({"purpose": "fun"})


def test_a_query_survives_its_url() -> None:
    query = Query(7, "a b&c", "g", "play")
    assert read_query(query.fields()) == query
    assert read_query({}) == Query()


def row(name: str, replica: str = "one") -> dict[str, object]:
    return SessionSummary(name, name, "player", "train", 1, 0.0, replica).as_dict()


def test_rows_of_several_replicas_make_one_page_by_id() -> None:
    pages = [([row("a"), row("d")], False), ([], False), ([row("b", "two"), row("c", "two"), row("e", "two")], False)]
    found, more = merged(pages, 3)
    assert ([one.id for one in found], [one.replica for one in found], more) == ([*"abc"], ["one", "two", "two"], True)
    found, more = merged(pages, 5)
    assert ([one.id for one in found], more) == ([*"abcde"], False)


def test_a_page_ends_where_a_replica_that_has_more_was_cut_off() -> None:
    found, more = merged([([row("a"), row("e")], False), ([row("b", "two"), row("c", "two")], True)], 4)
    assert ([one.id for one in found], more) == ([*"abc"], True)  # The second may hold d.


@given(st.lists(st.sets(st.integers(0, 99), max_size=12), min_size=1, max_size=5), st.integers(1, 6), st.integers(1, 6))
def test_pages_of_replicas_that_send_a_part_at_a_time_hold_each_session_once(
    held: list[set[int]], limit: int, part: int
) -> None:
    replicas = [sorted(f"{number:02}-{at}" for number in numbers) for at, numbers in enumerate(held)]
    seen: list[str] = []
    more = True
    while more:
        after = seen[-1] if seen else ""
        left = [[name for name in names if name > after] for names in replicas]
        page, more = merged([([row(name) for name in names[:part]], len(names) > part) for names in left], limit)
        assert len(page) <= limit
        assert page or not more
        seen += [one.id for one in page]
    assert seen == sorted(name for names in replicas for name in names)


@pytest.mark.parametrize(("replicas", "limit"), [(0, 1000), (20, 1000), (100, 200), (1000, 20), (50_000, 1)])
def test_the_more_replicas_the_fewer_rows_each_is_asked_for(replicas: int, limit: int) -> None:
    assert Query(1000).share(replicas) == Query(limit)


def test_rows_are_taken_as_they_were_sent() -> None:
    assert rows_of([row("a"), row("b")]) == [row("a"), row("b")]
    assert rows_of([]) == []


@pytest.mark.parametrize("wrong", [None, {}, "a", [7], [row("a"), {}], [row("a") | {"new": 1}]])
def test_what_is_no_page_of_sessions_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="allowed are sessions with agent, game, id"):
        rows_of(wrong)
