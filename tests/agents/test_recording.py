"""Episodes that are recorded beside what is learned from."""

import numpy as np

from app.agents.game_log import About, Event, GameLog, Played
from app.agents.recording import RecordedUnroll, Recording, is_recorded
from app.agents.unroll import Row, Step, Unroll
from app.models.question import Decision
from app.seeding import Draws
from app.types import UNTRAINED, Purpose, RowKind, Version
from app.wire.trees import Tree, pack, unpack

ABOUT = About("s", "g", "player", Purpose.TRAIN, 1)


class Game:
    """Plays both unrolls at once, one step of the session a tick."""

    def __init__(self) -> None:
        self.learned: list[list[Row]] = []
        self.played: list[Played] = []
        self.log = GameLog(ABOUT, Draws(1), self.played.append, part_ticks=100)
        self.log.keep("every")
        self.unroll: Unroll = RecordedUnroll(Unroll(7, 2, self.learned.append), Recording(7, self.log))

    @property
    def recorded(self) -> list[list[Row]]:
        """The rows of each session that was handed over, in order."""
        return [[row for entry in played.entries for row in entry.rows] for played in self.played]

    def load(self, state: Tree, log: Tree) -> None:
        self.log.load_state_dict(log)
        self.unroll.load_state_dict(state)

    def play(self, first: int, ticks: int, version: Version) -> "Game":
        for t in range(first, first + ticks):
            entry = self.log.begin(Event.TICK, None)
            self.unroll.reward(float(t))
            self.unroll.reached(np.array([t], np.float32))
            self.unroll.decided(Step(np.array([t], np.float32), np.array([True]), Decision(0, -0.5, 1.0, version)))
            self.log.answered(entry)
        return self

    def stop(self, first: int) -> "Game":
        self.log.begin(Event.STOP, None)
        self.unroll.reward(float(first))
        self.unroll.cut(RowKind.TERMINATED, np.array([first], np.float32))
        self.log.end()
        return self


def ticks(rows: list[Row]) -> list[int]:
    return [int(row.observation[0]) for row in rows]


def test_an_episode_is_recorded_whole_while_its_trajectories_are_full() -> None:
    game = Game().play(0, 3, Version(1, 5)).stop(3)
    assert [ticks(rows) for rows in game.learned] == [[0, 1, 2], [2, 3]]
    assert [ticks(rows) for rows in game.recorded] == [[0, 1, 2, 3]]
    assert [row.reward for row in game.recorded[0]] == [1, 2, 3, 0]
    assert [row.kind for row in game.recorded[0]] == [0, 0, 0, RowKind.TERMINATED]


def test_ticks_of_an_untrained_model_are_recorded_and_not_learned_from() -> None:
    game = Game().play(0, 2, UNTRAINED).stop(2)
    assert game.learned == []
    assert [ticks(rows) for rows in game.recorded] == [[0, 1, 2]]


def test_greedy_actions_are_recorded_and_not_learned_from() -> None:
    game = Game()
    recording = game.unroll.unlearned()
    assert recording is not None
    assert recording.unlearned() is recording
    game.unroll = recording
    game.play(0, 2, Version(1, 5)).stop(2)
    assert (game.learned, [ticks(rows) for rows in game.recorded]) == ([], [[0, 1, 2]])
    assert Unroll(1, None, game.learned.append).unlearned() is None


def test_an_episode_goes_on_in_another_replica() -> None:
    first, second = Game().play(0, 2, Version(1, 5)), Game()
    second.load(unpack(pack(first.unroll.state_dict())), unpack(pack(first.log.state_dict())))
    second.play(2, 1, Version(1, 6)).stop(3)
    assert [ticks(rows) for rows in second.recorded] == [[0, 1, 2, 3]]
    assert [ticks(rows) for rows in second.learned] == [[0, 1, 2], [2, 3]]


def test_an_episode_that_began_without_a_recording_is_learned_from_alone() -> None:
    plain: list[list[Row]] = []
    first, second = Unroll(7, 2, plain.append), Game()
    second.unroll.load_state_dict(unpack(pack(first.state_dict())))
    second.play(0, 1, Version(1, 6)).stop(1)
    assert (len(second.learned), second.recorded) == (1, [[]])
    first.load_state_dict(unpack(pack(Game().play(0, 1, Version(1, 5)).unroll.state_dict())))
    first.reward(1.0)
    first.cut(RowKind.TERMINATED, None)
    assert [ticks(rows) for rows in plain] == [[0, 0]]


def test_the_name_of_a_game_decides_whether_it_is_recorded() -> None:
    names = [f"game-{number}" for number in range(2000)]
    chosen = [name for name in names if is_recorded(name, 10)]
    assert 150 < len(chosen) < 250
    assert chosen == [name for name in names if is_recorded(name, 10)]
    assert all(is_recorded(name, 1) for name in names)
