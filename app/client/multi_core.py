"""Games of several agents, each agent in a session of its own: one ``/steps`` request a frame for all of them."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import NamedTuple

from app.client.errors import StepFailedError, failure_of
from app.client.game import Game, action_of
from app.client.game_client import GameClient
from app.client.multi_agent import MultiAgentEnvironment
from app.client.result import Scores
from app.client.seats import EVERYBODY, Seats
from app.client.steps import STOP, TICK, StepAnswer, StepItem
from app.client.turns import Turns, closing


class Asked(NamedTuple):
    """One step of a frame, and whose it is."""

    table: "Table"
    agent: str
    game: Game
    item: StepItem

    @property
    def turn(self) -> int:
        """Returns which game's turn it is."""
        return id(self.table)


@dataclass(slots=True)
class Table:
    """One game under way."""

    env: MultiAgentEnvironment
    episodes: Iterator[int]
    """Numbers of the games that are still to be played here."""
    prefix: str
    seats: Sequence[Seats]
    episode: int | None = None
    """Number of the game; None between two games."""
    games: int = 0
    """Games begun here."""
    open: dict[str, Game] = field(default_factory=dict)
    """Session of each agent of the game that has one."""
    sessions: Counter[str] = field(default_factory=Counter)
    """Sessions that each of the service's agents has had in this game."""
    returns: list[tuple[str, float]] = field(default_factory=list)
    """What the agents whose game has ended have got, and who of the service played for them."""
    closing: list[Asked] = field(default_factory=list)
    """Stops of a game that was given up."""

    def begin(self, seed: int) -> bool:
        """Begins the next game; returns whether there is one."""
        self.episode = next(self.episodes, None)
        if self.episode is None:
            return False
        self.env.restart(seed + self.episode)
        self.open, self.returns, self.sessions = {}, [], Counter()
        self.games += 1
        return True

    def give_up(self) -> None:
        """Ends the game under way, which will be played again from its seed."""
        self.closing = self.stops()
        if self.episode is not None:
            self.episodes, self.episode = chain([self.episode], self.episodes), None

    def stops(self) -> list[Asked]:
        """Returns the stops of those who play, as truncated; what one sees whose turn it is not is not known."""
        due = self.env.due() if self.episode is not None else {}
        seen = {agent: due[agent].observation if agent in due else None for agent in self.open}
        return [
            Asked(self, agent, game, game.stop(seen[agent], terminated=False, truncated=True))
            for agent, game in self.open.items()
        ]

    def player(self, agent: str) -> str:
        """Returns the service's agent that plays for one of the game."""
        seats = self.seats[(self.episode or 0) % len(self.seats)] if self.seats else {}
        return seats.get(agent, seats.get(EVERYBODY, agent))

    def session(self, agent: str) -> Game:
        """Returns a new session for an agent of the game."""
        player = self.player(agent)
        number = self.sessions[player]
        self.sessions[player] += 1
        name = f"{self.prefix}-{self.games}-agent-{player}" + (f".{number}" if number else "")
        self.open[agent] = Game(name, self.episode or 0)
        return self.open[agent]


class MultiCore:
    """Plays the games of all tables in step."""

    def __init__(
        self,
        client: GameClient,
        tables: Sequence[Table],
        seed: int,
        scores: Scores,
        options: Mapping[str, object],
        scored: frozenset[str] = frozenset(),
    ) -> None:
        """Keeps the parts; no game is begun.

        Args:
          client: Connection to the service.
          tables: Where games are played.
          seed: Game i begins with seed + i.
          scores: Counts, kept up to date.
          options: Body of each start.
          scored: The service's agents whose mean return is a game's; empty means all.
        """
        self._client, self._tables, self._seed = client, tables, seed
        self._scores, self._options, self._scored = scores, options, scored
        self._turns = Turns[Asked](client)

    @property
    def policy_version(self) -> str | None:
        """Returns the version that the newest reply named."""
        return self._client.policy_version

    async def play(self, stop: asyncio.Event) -> None:
        """Plays until no game is left or ``stop`` is set, which leaves games open.

        Raises:
          SparringError: Playing on cannot help.
        """
        while not stop.is_set():
            frame = [
                asked for table in self._tables if not self._turns.waits(id(table)) for asked in self._steps(table)
            ]
            if not frame and not self._turns:
                return
            for table, actions in self._read(await self._turns.ask(frame)):
                table.env.act(actions)

    async def close_open_games(self) -> None:
        """Sends a stop to each agent of the games under way, which are truncated."""
        frame = closing(self._turns, [asked for table in self._tables for asked in table.stops()])
        if frame:
            await self._client.steps([asked.item for asked in frame])

    def _steps(self, table: Table) -> list[Asked]:
        """Returns the steps of a game's next turn: of who has left, of who begins, and of who has to act."""
        steps, table.closing = table.closing, []
        if table.episode is not None:
            steps += self._stops(table)
        if (table.episode is None or not table.env.due()) and not table.begin(self._seed):
            return steps
        for agent, due in table.env.due().items():
            game = table.open.get(agent)
            if game is None:
                game = table.session(agent)
                steps.append(Asked(table, agent, game, game.start(self._options)))
            game.rewarded(due.reward, over=False)
            steps.append(Asked(table, agent, game, game.tick(due.observation, due.action_mask)))
        return steps

    def _stops(self, table: Table) -> list[Asked]:
        """Returns the stops of those who have left; the last one of a game counts its result."""
        steps = []
        for agent, left in table.env.left().items():
            game = table.open.pop(agent, None)
            if game is None:  # It never had to act.
                continue
            game.rewarded(left.reward, over=True)
            table.returns.append((table.player(agent), game.episode_return))
            item = game.stop(left.observation, terminated=left.terminated, truncated=left.truncated)
            steps.append(Asked(table, agent, game, item))
        if steps and not table.env.due():
            counted = [got for name, got in table.returns if not self._scored or name in self._scored]
            self._scores.finish(sum(counted) / len(counted) if counted else 0.0)
        return steps

    def _read(self, answered: Sequence[tuple[Asked, StepAnswer]]) -> Iterator[tuple[Table, dict[str, object]]]:
        """Yields the actions of each game that goes on; one that has lost an agent is begun anew."""
        actions: dict[int, dict[str, object]] = {}
        failures: dict[int, StepFailedError] = {}
        for asked, answer in answered:
            at = asked.turn
            if "error" in answer:
                if asked.item["kind"] != STOP:
                    failures.setdefault(at, failure_of(answer["error"]["code"], answer["error"]["message"]))
            elif asked.item["kind"] == TICK:
                actions.setdefault(at, {})[asked.agent] = action_of(answer.get("body"), lambda action: action)
                self._scores.ticks += 1
        for table in self._tables:
            if failure := failures.get(id(table)):
                self._scores.fail(failure)
                table.give_up()
            elif played := actions.get(id(table)):
                yield table, played


def slots_of(slots: int, episodes: int | None) -> list[Iterator[int]]:
    """Returns the numbers of the games of each slot: i, i + slots, …; endless without a number of episodes."""
    return [count(i, slots) if episodes is None else iter(range(i, episodes, slots)) for i in range(slots)]
