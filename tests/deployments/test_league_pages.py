"""The league over HTTP: how it stands, and an opponent for a live game."""

from typing import Any

import orjson
import pytest

from app.errors import BadRequestError, NotFoundError, OverloadedError
from app.models.lineage import frozen_version
from app.wire.http import HttpRequest
from deployments import league_pages as module
from deployments.league_pages import NO_LEAGUE
from tests.deployments.league import HASH, Asked, pages


def request(path: str, **fields: str) -> HttpRequest:
    return HttpRequest(b"GET", path, fields, b"", keep_alive=True)


async def shown(asked: Asked, **fields: str) -> Any:
    return orjson.loads((await pages(asked).show(request("/league", **fields))).body)


async def test_standings_payoff_and_newest_matches_are_shown() -> None:
    asked = Asked()
    met = asked.play(5)
    found = await shown(asked, matches="3")
    assert {standing["player"] for standing in found["standings"]} == {"main", "old"}
    assert len(found["matches"]) == 3
    assert found["turns"] == {"main": "main"}
    at = [found["payoff"]["players"].index(player) for player in ("main", "old")]
    assert found["payoff"]["games"][at[0]][at[1]] == met > 0
    assert (await shown(asked))["matches"] == []


@pytest.mark.parametrize("matches", ["", "-1", "1001", "many", "99999999999999999999"])
async def test_a_number_of_matches_that_there_cannot_be_is_refused(matches: str) -> None:
    with pytest.raises(BadRequestError, match="allowed are 0 to 1000"):
        await shown(Asked(), matches=matches)


@pytest.mark.parametrize(
    ("fields", "asked"), [({}, (None, None)), ({"level": "0.5"}, (0.5, None)), ({"rating": "-12"}, (None, -12.0))]
)
async def test_an_opponent_is_an_agent_and_the_version_that_a_session_starts_with(
    fields: dict[str, str], asked: tuple[float | None, float | None]
) -> None:
    league = Asked()
    reply = await pages(league).opponent(request("/league/opponent", **fields))
    version = str(frozen_version(HASH))
    assert orjson.loads(reply.body) == {"player": "old", "agent": "player", "model_version": version}
    assert league.asked == [asked]


@pytest.mark.parametrize(
    "fields", [{"level": "1.5"}, {"level": "hard"}, {"rating": "nan"}, {"level": "0.5", "rating": "3"}]
)
async def test_a_strength_that_there_cannot_be_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(BadRequestError, match="allowed"):
        await pages(Asked()).opponent(request("/league/opponent", **fields))


async def test_a_trial_without_a_league_or_with_nobody_frozen_says_so() -> None:
    for answer in (NO_LEAGUE.show(request("/league")), NO_LEAGUE.opponent(request("/league/opponent"))):
        with pytest.raises(NotFoundError, match="has no league"):
            await answer
    with pytest.raises(NotFoundError, match="nobody is frozen"):
        await pages(Asked()).opponent(request("/league/opponent", level="0"))


async def test_a_league_that_is_away_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.01)
    asked = Asked()
    asked.is_away = True
    with pytest.raises(OverloadedError, match="does not answer"):
        await shown(asked)
