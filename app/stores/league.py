"""The league of a trial: one place that hands out matches, counts results, and writes both down before it says so."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from app.aside import lay_aside
from app.config.league import LeagueConfig
from app.errors import LeagueError
from app.league.league import DUEL
from app.league.matches import Match, MatchId, Reply, Result, Side
from app.league.payoff import PlayerId
from app.league.periods import Due, Freeze
from app.league.players import LearningPlayer, Weights
from app.league.report import LeagueReport, gathered
from app.league.standings import by_level, by_rating, standings
from app.metrics.registry import Registry
from app.stores.kept_league import KeptLeague, restored_in
from app.stores.league_config import Given, read_given, write_given
from app.stores.league_metrics import measure_league

_log = logging.getLogger(__name__)


class LeagueStore:
    """Holds the league; each change is written down before its call returns."""

    def __init__(
        self,
        config: LeagueConfig,
        folder: str,
        seed: int,
        weights: Mapping[str, Weights] = MappingProxyType({}),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Makes a store that has not started.

        Args:
          config: Of the league.
          folder: Where it writes; what is there is gone on from.
          seed: Of the run.
          weights: What the config's references to weights stand for, by reference.
          clock: Returns the present in Unix seconds.
        """
        self._first = Given(config, dict(weights))
        self._folder, self._clock, self._seed = Path(folder), clock, seed
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Restores the league, and begins to save it and to solve its game.

        A process that Ray starts anew is given the config of its first start; what it was told since then is in the
        folder.

        Raises:
          LeagueError: What is in the folder cannot be read or gone on from.
        """
        given = read_given(self._folder) or self._first
        restored = await asyncio.to_thread(restored_in, self._folder, given, self._seed)
        self._kept = KeptLeague(given, self._folder, self._seed, restored, self._clock)
        self._counted_before = dict(self._kept.league.state.counts)
        await self._kept.commit()
        _log.info("the league has %d players; %d events restored", len(restored.state.roster.ids), restored.events)
        loops = (self._kept.save_for_ever(), self._kept.solve_for_ever())
        self._tasks = [asyncio.create_task(loop) for loop in loops]

    async def configure(self, config: LeagueConfig, weights: Mapping[str, Weights]) -> None:
        """Goes on by this config from now on, with all that the league knows.

        Args:
          config: Of the league.
          weights: What its references to weights stand for, by reference.

        Raises:
          LeagueError: Its players would be rated by another system, or it cannot be written down.
        """
        await self._kept.configure(Given(config, dict(weights)))

    async def begin_anew(self) -> bool:
        """Begins with nothing where a learning player was frozen before, and returns whether; its files are laid aside.

        Who is trained from the first weights on is not who has played those matches.

        Raises:
          LeagueError: The files cannot be laid aside.
        """
        roster = self._kept.league.state.roster
        if all(player.learner is None for player in (*roster.frozen.values(), *roster.away.values())):
            return False
        self._first = self._kept.given
        await self.close()
        try:
            aside = await asyncio.to_thread(lay_aside, self._folder, self._clock())
            await asyncio.to_thread(write_given, self._folder, self._first)
        except OSError as error:
            raise LeagueError(f"the league's files in {self._folder} cannot be laid aside: {error}") from error
        finally:
            await self.start()
        _log.info("the league of an earlier start is now in %s", aside)
        return True

    async def save(self) -> None:
        """Writes a snapshot now.

        Raises:
          OSError: It cannot be written.
        """
        await self._kept.save()

    async def close(self) -> None:
        """Ends what ``start`` began, with all written down."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._kept.close()

    async def next_match(self, player: PlayerId, seats: Sequence[int] = DUEL, own: int = 0) -> Match:
        """Returns a match for a learning player; see ``League``.

        Raises:
          LeagueError: The player does not learn here, or the sides are none.
        """
        self._kept.refuse_if_behind()
        match = self._kept.league.next_match(player, self._clock(), seats, own)
        await self._kept.commit()
        return match

    async def next_of(self, trainer: str, seats: Sequence[int] = DUEL) -> Match:
        """Returns a match for the player that a trainer has now; see ``League``.

        Raises:
          LeagueError: The trainer has no player, or the sides are none.
        """
        return await self.next_match((await self.at(trainer)).id, seats)

    async def next_evaluation(self, seats: Sequence[int] = DUEL, pool: str | None = None) -> Match:
        """Returns a match of frozen players whose result says most; see ``League``.

        Raises:
          LeagueError: There are not two players who could meet, or the sides are none.
        """
        self._kept.refuse_if_behind()
        match = self._kept.league.next_evaluation(self._clock(), seats, pool)
        await self._kept.commit()
        return match

    async def report(self, match: MatchId, result: Result) -> Reply:
        """Counts a result, once, and returns what became of it; it is safe to ask again.

        Raises:
          LeagueError: The result does not fit the match.
        """
        self._kept.refuse_if_behind()
        reply = self._kept.league.report(match, result, self._clock())
        await self._kept.commit()
        return reply

    async def player(self, player: PlayerId) -> LearningPlayer:
        """Returns a learning player as it is now.

        Raises:
          LeagueError: It does not learn here.
        """
        return self._kept.league.state.roster.learner(player)

    async def at(self, trainer: str) -> LearningPlayer:
        """Returns the player that a trainer is to go on with.

        Raises:
          LeagueError: The trainer has no player.
        """
        turns = self._kept.league.state.turns
        if trainer not in turns:
            raise LeagueError(f"trainer {trainer!r} has no player in the league; allowed: {', '.join(turns)}")
        return self._kept.league.state.roster.learner(turns[trainer])

    async def side(self, player: PlayerId) -> Side:
        """Returns a side that a player plays, without a match.

        Raises:
          LeagueError: There is no such player.
        """
        return self._kept.league.side(player)

    async def due(self, player: PlayerId, updates: int) -> Due:
        """Returns what a trainer is to do with its player after some updates since it took it over.

        Raises:
          LeagueError: The player does not learn here.
        """
        return self._kept.league.due(player, updates)

    async def freeze(self, player: PlayerId, period: int, weights: Weights, anew: bool | None = None) -> Freeze:
        """Freezes a player at the end of a period; it is safe to ask again.

        Raises:
          LeagueError: The player does not learn here, or the period has not begun.
        """
        self._kept.refuse_if_behind()
        frozen = self._kept.league.freeze(player, period, weights, self._clock(), anew=anew)
        await self._kept.commit()
        self._kept.froze()
        return frozen

    async def taken_over(self, player: PlayerId) -> LearningPlayer:
        """Notes that a trainer has taken over and published a player's weights.

        Raises:
          LeagueError: The player does not learn here.
        """
        self._kept.refuse_if_behind()
        learning = self._kept.league.taken_over(player)
        await self._kept.commit()
        return learning

    async def turn(self, trainer: str, leaving: PlayerId, weights: Weights, updates: int) -> LearningPlayer:
        """Turns a trainer to the next of its players, and returns that one; it is safe to ask again.

        Raises:
          LeagueError: The player is not the trainer's.
        """
        self._kept.refuse_if_behind()
        entering = self._kept.league.turn(trainer, leaving, weights, updates)
        await self._kept.commit()
        return entering

    async def next_opponent(self, level: float | None = None, rating: float | None = None) -> Side:
        """Returns a frozen player for a live game: of a level from 0 to 1, or the one nearest to a rating.

        Without either it is the champion, or the strongest where there is none.

        Raises:
          LeagueError: Nobody is frozen, or the level is none.
        """
        champion = self._kept.league.state.championship.champion
        if level is None and rating is None and champion is not None:
            return self._kept.league.side(champion)
        found = standings(self._kept.league.state)
        wanted = by_level(found, 1.0 if level is None else level) if rating is None else by_rating(found, rating)
        return self._kept.league.side(wanted.player)

    async def show(self, matches: int = 0, players: int | None = None) -> LeagueReport:
        """Returns how the league stands.

        Args:
          matches: Newest finished matches to tell, at most the thousand that are in memory.
          players: Strongest players to tell; None tells all.
        """
        league = self._kept.league
        parts = gathered(league.state, league.equilibrium.strategy, matches, players)
        return await asyncio.to_thread(parts.report)

    def take_stock(self, registry: Registry, process: str) -> None:
        """Takes down ratings, shares of games won, and matches; see ``Measured``."""
        measure_league(self._kept.league.state, registry, self._counted_before)

    async def folder(self) -> str:
        """Returns where the league writes, for who reads the whole match log."""
        return str(self._kept.folder)
