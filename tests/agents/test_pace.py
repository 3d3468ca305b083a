"""Games that wait for the trainer."""

import asyncio
from typing import Any

import numpy as np
import pytest

from app.agents.pace import Pace, PacedModel
from app.agents.unroll import Row, Step, Unroll
from app.models.question import Decision, Question
from app.types import RowKind, Version

FIRST, SECOND = Version(1, 0), Version(1, 1)


class Game:
    """One session's unroll, played tick by tick."""

    def __init__(self, pace: Pace, episode: int, ticks: int | None = None) -> None:
        self.emitted: list[list[Row]] = []
        self.unroll = Unroll(episode, ticks, self.emitted.append, watch=pace)
        self._pace = pace
        self.version = FIRST
        self.tick = 0
        pace.join(self.unroll)

    def play(self) -> None:
        """Comes with the reward of the last action and an observation, and gets an action."""
        observation = np.array([float(self.tick)])
        self.unroll.reward(1.0)
        self.unroll.reached(observation)
        if self._pace.closed:  # The decision waits.
            return
        self.unroll.decided(Step(observation, None, Decision(0, 0.0, 0.0, self.version)))
        self.tick += 1

    def rows(self) -> int:
        return sum(len(trajectory) for trajectory in self.emitted)


def begun(wanted_rows: int) -> Pace:
    pace = Pace(wanted_rows)
    pace.took(FIRST)
    return pace


def test_games_wait_as_soon_as_there_are_rows_enough_bootstrap_rows_included() -> None:
    pace = begun(10)
    games = [Game(pace, 1), Game(pace, 2)]
    frames = 0
    while not pace.closed:
        frames += 1
        for game in games:
            game.play()
    assert frames == 5  # Four rows of each are complete with the fifth tick, and two bootstrap rows: ten.
    assert [game.rows() for game in games] == [5, 5]
    assert all(game.emitted[0][-1].kind == RowKind.FULL for game in games)


def test_rows_of_full_trajectories_count_as_those_under_way_do() -> None:
    pace = begun(9)
    game = Game(pace, 1, ticks=2)  # A row of bootstrap to every two.
    while not pace.closed:
        game.play()
    assert game.rows() == 9
    assert [len(trajectory) for trajectory in game.emitted] == [3, 3, 3]


def test_newer_weights_let_them_go_on_and_no_trajectory_holds_rows_of_both() -> None:
    pace = begun(6)
    games = [Game(pace, 1), Game(pace, 2)]
    for _ in range(3):
        for game in games:
            game.play()
    assert pace.closed
    pace.took(SECOND)
    assert not pace.closed
    for game in games:
        game.version = SECOND
    while not pace.closed:
        for game in games:
            game.play()
    for game in games:
        assert [len({row.version for row in trajectory}) for trajectory in game.emitted] == [1, 1]


def test_older_weights_change_nothing() -> None:
    pace = begun(4)
    game = Game(pace, 1)
    while not pace.closed:
        game.play()
    pace.took(FIRST)
    assert pace.closed


def test_weights_that_nobody_waited_for_cut_what_is_under_way() -> None:
    pace = begun(100)
    game = Game(pace, 1)
    for _ in range(4):
        game.play()
    pace.took(SECOND)
    assert [row.version for row in game.emitted[0]] == [0, 0, 0, 0]


def test_missing_rows_are_played_by_whoever_waits() -> None:
    pace = begun(4)
    game = Game(pace, 1)
    while not pace.closed:
        game.play()
    before = game.rows()
    pace.want_more(3)
    while not pace.closed:
        game.play()
    assert game.rows() == before + 3


def test_the_untrained_model_keeps_nobody_waiting() -> None:
    pace = Pace(1)
    game = Game(pace, 1)
    game.version = Version(0, 0)
    for _ in range(5):
        game.play()
    assert not pace.closed


class Deciding:
    spec: Any = None

    def decide(self, question: Question) -> Any:
        decided: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        decided.set_result("decided")
        return decided


async def test_a_decision_waits_until_games_go_on() -> None:
    pace = begun(1)
    model = PacedModel(Deciding(), pace)  # type: ignore[arg-type]
    question: Any = None
    assert await model.decide(question) == "decided"
    game = Game(pace, 1)
    while not pace.closed:
        game.play()
    waiting = asyncio.ensure_future(model.decide(question))
    await asyncio.sleep(0)
    assert not waiting.done()
    assert not await pace.until_opened(0.01)
    pace.took(SECOND)
    assert await waiting == "decided"
    assert pace.waits == 1
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await pace.until_closed()
