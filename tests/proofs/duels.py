"""Games of two sides in this process, by PettingZoo's interface: one side learns or is judged, the other is drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.agents.json_arrays import everything_allowed
from app.agents.outbox import Outbox
from app.agents.unroll import Step, Unroll
from app.client.multi_agent import Due, Left, MultiAgentEnvironment
from app.types import RowKind, Rows, Version

from .players import Network, Player

MakeGame = Callable[[], MultiAgentEnvironment]
SEATS = ("player_0", "player_1")


class Opponent(NamedTuple):
    """Whom a game is played against."""

    name: str
    player: Player


class Result(NamedTuple):
    """How a game ended."""

    opponent: str
    score: float
    """1 where the judged side won, 0 where it lost, 0.5 for a draw."""


class Asked(NamedTuple):
    """A side that has to act."""

    game: int
    observation: NDArray[np.float32]
    mask: NDArray[np.bool_] | None


@dataclass(slots=True)
class Duel:
    """One game."""

    env: MultiAgentEnvironment
    seat: str
    """Where the judged side sits."""
    opponent: Opponent
    unroll: Unroll
    gained: float = 0.0


class Duels:
    """Games side by side; the judged side begins, or stands at the left, in every other one."""

    def __init__(
        self,
        make_env: MakeGame,
        games: int,
        judged: Network,
        draw: Callable[[], Opponent],
        seed: int,
        unroll_ticks: int = 64,
        *,
        once: bool = False,
    ) -> None:
        """Begins the games.

        Args:
          make_env: Makes one game.
          games: How many.
          judged: Whose rows are kept and whose results count.
          draw: Draws the opponent of a game.
          seed: Of the games and of the actions drawn.
          unroll_ticks: Rows of a full trajectory.
          once: Whether no game follows one that is over.
        """
        self._judged, self._draw = judged, draw
        self._rng = np.random.default_rng(seed)
        self._outbox = Outbox(judged.spec, 1, lambda: None)
        self._everything = everything_allowed(judged.spec)
        self._unroll_ticks, self._episodes, self._once = unroll_ticks, 0, once
        self.version = Version(1, 0)
        """Of the judged side's weights."""
        self.results: list[Result] = []
        """Of games that are over, until somebody takes them."""
        self.steps = 0
        """Actions of the judged side."""
        self._duels = [self._begin(make_env()) for _ in range(games)]

    def play(self, ticks: int) -> Rows | None:
        """Plays so many ticks of each game; returns the rows of trajectories that are whole."""
        for _ in range(ticks):
            self._tick()
        return self._outbox.take() if len(self._outbox) else None

    def _begin(self, env: MultiAgentEnvironment) -> Duel:
        self._episodes += 1
        env.restart(int(self._rng.integers(2**31)))
        unroll = Unroll(self._episodes, self._unroll_ticks, self._outbox.add)
        return Duel(env, SEATS[1 - self._episodes % 2], self._draw(), unroll)

    def _tick(self) -> None:
        due = [duel.env.due() for duel in self._duels]
        chosen: list[dict[str, int]] = [{} for _ in due]
        self._decide_judged(due, chosen)
        self._decide_others(due, chosen)
        for duel, actions in zip(self._duels, chosen, strict=True):
            duel.env.act(actions)
            for seat, left in duel.env.left().items():
                if seat == duel.seat:
                    self._end(duel, left)
        going_on = [self._begin(duel.env) if not duel.env.due() and not self._once else duel for duel in self._duels]
        self._duels = [duel for duel in going_on if duel.env.due()]

    def _decide_judged(self, due: "Sequence[Mapping[str, Due]]", chosen: list[dict[str, int]]) -> None:
        asked = []
        for at, duel in enumerate(self._duels):
            if duel.seat in due[at]:
                one = due[at][duel.seat]
                asked.append(_asked(at, one))
                duel.gained += one.reward
                duel.unroll.reward(one.reward)
                duel.unroll.reached(asked[-1].observation, asked[-1].mask)
        if not asked:
            return
        _, seen, masks = zip(*asked, strict=True)
        decided = self._judged.decisions(seen, masks, self._rng, self.version)
        self.steps += len(asked)
        for one, decision in zip(asked, decided, strict=True):
            duel = self._duels[one.game]
            allowed = self._everything if one.mask is None else one.mask
            duel.unroll.decided(Step(one.observation, allowed, decision))
            chosen[one.game][duel.seat] = decision.action

    def _decide_others(self, due: "Sequence[Mapping[str, Due]]", chosen: list[dict[str, int]]) -> None:
        groups: dict[str, list[Asked]] = {}
        for at, duel in enumerate(self._duels):
            for seat, one in due[at].items():
                if seat != duel.seat:
                    groups.setdefault(duel.opponent.name, []).append(_asked(at, one))
        for asked in groups.values():
            games, seen, masks = zip(*asked, strict=True)
            actions = self._duels[games[0]].opponent.player.actions(seen, masks, self._rng)
            for at, action in zip(games, actions, strict=True):
                chosen[at][SEATS[1 - SEATS.index(self._duels[at].seat)]] = action

    def _end(self, duel: Duel, left: Left) -> None:
        duel.gained += left.reward
        duel.unroll.reward(left.reward)
        duel.unroll.cut(RowKind.TERMINATED if left.terminated else RowKind.TRUNCATED, left.observation)
        self.results.append(Result(duel.opponent.name, float(np.sign(duel.gained) + 1) / 2))


def scores(make_env: MakeGame, judged: Network, opponent: Player, games: int, seed: int) -> NDArray[np.float64]:
    """Returns the scores of so many games, [games], in each of which the judged side sits where it did not before."""
    duels = Duels(make_env, games, judged, lambda: Opponent("other", opponent), seed, once=True)
    while len(duels.results) < games:
        duels.play(8)
    return np.array([result.score for result in duels.results])


def _asked(game: int, due: Due) -> Asked:
    mask = None if due.action_mask is None else np.asarray(due.action_mask, bool)
    return Asked(game, np.asarray(due.observation, np.float32), mask)
