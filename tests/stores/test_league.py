"""The league's store: what it says is written down, and a restart goes on from it."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from app.config.league import LeagueConfig
from app.errors import LeagueError
from app.league.journal import segment_path
from app.league.keeping import snapshots
from app.league.matches import ABORTED, Reply, Result
from app.league.players import Weights
from app.stores.league import LeagueStore

WIN = Result((1.0, 0.0))


def config_of(**changes: object) -> LeagueConfig:
    players = {"main": {"trainer": "main"}, "exploiter": {"trainer": "second", "role": "main_exploiter"}}
    return LeagueConfig.model_validate({"players": players, "min_games": 0, **changes})


@asynccontextmanager
async def store_in(
    folder: Path, clock: Callable[[], float] = lambda: 0.0, **changes: object
) -> AsyncIterator[LeagueStore]:
    store = LeagueStore(config_of(**changes), str(folder), 1, clock=clock)
    await store.start()
    try:
        yield store
    finally:
        await store.close()


async def test_what_was_acknowledged_is_there_after_a_restart(tmp_path: Path) -> None:
    async with store_in(tmp_path) as store:
        frozen = await store.freeze("main", 1, Weights("clones/a"))
        match = await store.next_match("exploiter")
        assert await store.report(match.id, WIN) is Reply.COUNTED
        pending = await store.next_match("exploiter")
        before = await store.show(10)
    async with store_in(tmp_path) as store:
        assert (await store.show(10)).as_dict() == before.as_dict()
        assert await store.report(match.id, WIN) is Reply.DUPLICATE
        assert await store.report(pending.id, WIN) is Reply.COUNTED
        assert (await store.freeze("main", 1, Weights("clones/b"))).frozen == frozen.frozen


async def test_a_snapshot_stands_for_what_came_before_it(tmp_path: Path) -> None:
    async with store_in(tmp_path) as store:
        await store.freeze("main", 1, Weights("clones/a"))
        for _ in range(3):
            await store.report((await store.next_match("exploiter")).id, WIN)
            await store.save()
        await store.report((await store.next_match("exploiter")).id, WIN)
        before = await store.show(10)
    assert len(snapshots(tmp_path)) == 2
    async with store_in(tmp_path) as store:
        assert (await store.show(10)).as_dict() == before.as_dict()


async def test_many_at_once_are_all_counted_once(tmp_path: Path) -> None:
    async with store_in(tmp_path) as store:
        matches = await asyncio.gather(*(store.next_match("exploiter") for _ in range(50)))
        replies = await asyncio.gather(*(store.report(match.id, WIN) for match in matches for _ in range(3)))
        assert replies.count(Reply.COUNTED) == 50
        assert replies.count(Reply.DUPLICATE) == 100


async def test_an_aborted_match_counts_nothing(tmp_path: Path) -> None:
    async with store_in(tmp_path) as store:
        match = await store.next_match("exploiter")
        assert await store.report(match.id, ABORTED) is Reply.ABORTED
        assert (await store.show()).counts["matches_aborted"] == 1
        assert all(standing.games == 0 for standing in (await store.show()).standings)


async def test_a_league_of_another_folder_can_be_begun_with(tmp_path: Path) -> None:
    async with store_in(tmp_path / "old") as store:
        await store.freeze("main", 1, Weights("clones/a"))
        match = await store.next_match("main")
    async with store_in(tmp_path / "new", keeping={"restore": str(tmp_path / "old")}) as store:
        assert "main:1" in {standing.player for standing in (await store.show()).standings}
        assert await store.report(match.id, WIN) is Reply.UNKNOWN
    async with store_in(tmp_path / "new", keeping={"restore": str(tmp_path / "old")}) as store:
        assert (await store.player("main")).period == 2


async def test_another_rating_system_is_refused(tmp_path: Path) -> None:
    async with store_in(tmp_path) as store:
        await store.save()
    with pytest.raises(LeagueError, match="rated by openskill"):
        async with store_in(tmp_path, rating="elo"):
            pass


async def test_a_retry_after_a_failed_write_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 14: the process got the result and could not acknowledge it."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    async with store_in(tmp_path) as store:
        match = await store.next_match("exploiter")
        with monkeypatch.context() as broken:
            broken.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                await store.report(match.id, WIN)
            with pytest.raises(OSError, match="No space"):
                await store.report(match.id, WIN)
        assert await store.report(match.id, WIN) is Reply.DUPLICATE
    async with store_in(tmp_path) as store:
        assert (await store.show()).counts["matches_finished"] == 1
        assert await store.report(match.id, WIN) is Reply.DUPLICATE


async def test_what_was_lost_before_it_was_acknowledged_counts_once_when_it_comes_again(tmp_path: Path) -> None:
    async with store_in(tmp_path, keeping={"fsync": False}) as store:
        match = await store.next_match("exploiter")
        assert await store.report(match.id, WIN) is Reply.COUNTED
    path = segment_path(tmp_path, 1)
    path.write_bytes(path.read_bytes()[:-1])  # The process died while it wrote the result.
    async with store_in(tmp_path) as store:
        assert [await store.report(match.id, WIN) for _ in range(2)] == [Reply.COUNTED, Reply.DUPLICATE]


async def test_a_changed_config_is_gone_on_by_also_after_a_crash(tmp_path: Path) -> None:
    changed = config_of(opponents={"bot": {"agent": "bot"}}, min_games=5)
    async with store_in(tmp_path) as store:
        match = await store.next_match("exploiter")
        await store.configure(changed, {})
        assert await store.report(match.id, WIN) is Reply.COUNTED
        assert "bot" in {standing.player for standing in (await store.show()).standings}
        assert float(np.nanmax((await store.show()).win_rates)) == 0.5  # One game is not trusted any more.
        with pytest.raises(LeagueError, match="rated by openskill"):
            await store.configure(config_of(rating="elo"), {})
    async with store_in(tmp_path) as store:  # Ray starts it with the config of its first start.
        assert "bot" in {standing.player for standing in (await store.show()).standings}


async def test_the_game_is_solved_when_a_player_is_frozen(tmp_path: Path) -> None:
    players = {"main": {"trainer": "main", "matchmaking": {"kind": "psro"}}}
    async with store_in(tmp_path, players=players, solve_every_s=60.0) as store:
        await store.freeze("main", 1, Weights("clones/a"))
        for _ in range(1000):
            if await shares(store):
                break
            await asyncio.sleep(0.01)
        assert await shares(store) == {"main:1": 1.0}
        await store.configure(config_of(players=players, solve_every_s=30.0), {})
        assert await shares(store) == {"main:1": 1.0}


async def test_a_trainer_is_told_its_player(tmp_path: Path) -> None:
    async with store_in(tmp_path) as store:
        assert (await store.at("second")).id == "exploiter"
        with pytest.raises(LeagueError, match="trainer 'third' has no player in the league; allowed: main, second"):
            await store.at("third")


async def shares(store: LeagueStore) -> dict[str, float]:
    return {s.player: s.share for s in (await store.show()).standings if s.share is not None}


async def test_a_live_opponent_is_found_by_level(tmp_path: Path) -> None:
    opponents = {"weak": {"agent": "bot", "rating": 10.0}, "strong": {"agent": "bot", "rating": 40.0}}
    async with store_in(tmp_path, opponents=opponents) as store:
        assert (await store.next_opponent(level=0.0)).player == "weak"
        assert (await store.next_opponent(level=1.0)).player == "strong"
        assert (await store.next_opponent(rating=11.0)).player == "weak"
        with pytest.raises(LeagueError, match="level"):
            await store.next_opponent(level=2.0)


def laid_aside(folder: Path) -> list[Path]:
    return list(folder.glob("league.before-*"))


async def test_who_trains_from_first_weights_on_begins_with_a_league_without_a_past(tmp_path: Path) -> None:
    folder = tmp_path / "league"
    async with store_in(folder, opponents={"bot": {"agent": "bot"}}) as store:
        assert not await store.begin_anew()  # Nobody has learned.
        await store.configure(config_of(opponents={"bot": {"agent": "bot"}, "other": {"agent": "bot"}}), {})
        await store.freeze("main", 1, Weights("clones/a", "hash"))
        old = await store.next_match("main")
        assert await store.begin_anew()
        assert {standing.player for standing in (await store.show()).standings} == {"main", "exploiter", "bot", "other"}
        assert (await store.player("main")).period == 1
        assert await store.report(old.id, WIN) is Reply.UNKNOWN
        fresh = await store.next_match("main")
        assert await store.report(fresh.id, WIN) is Reply.COUNTED
    (aside,) = laid_aside(tmp_path)
    async with store_in(folder) as again, store_in(aside) as before:
        assert {standing.frozen for standing in (await again.show()).standings} == {False, True}  # The bots stay.
        assert "main:1" in {standing.player for standing in (await before.show()).standings}
        assert "main:1" not in {standing.player for standing in (await again.show()).standings}
