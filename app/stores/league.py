"""The league of a trial: one place that hands out matches, counts results, and writes both down before it says so."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from app.config.league import LeagueConfig
from app.errors import LeagueError, SparringError
from app.league.about import write_about
from app.league.events import to_bytes
from app.league.image import image_of
from app.league.journal import Journal
from app.league.keeping import Restored, restore, save
from app.league.league import DUEL, League
from app.league.matches import Match, MatchId, Reply, Result, Side
from app.league.matchmaking.equilibrium import solved
from app.league.payoff import PlayerId
from app.league.periods import Due, Freeze
from app.league.players import LearningPlayer, Weights
from app.league.report import LeagueReport, report_of
from app.league.standings import by_level, by_rating, standings
from app.stores.league_settings import asks_equilibrium, league_settings

MAX_BEHIND: Final = 100_000
"""Records that may wait for the disk; beyond, nothing is changed any more."""
AGAIN_S: Final = 1.0
"""Pause after a snapshot or solution that failed."""

_log = logging.getLogger(__name__)


class LeagueStore:
    """Holds the league; each change is on the disk before its call returns."""

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
        self._config, self._folder, self._clock = config, Path(folder), clock
        self._settings = league_settings(config, seed, weights)
        self._lock = asyncio.Lock()
        self._written = 0
        self._frozen = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Restores the league, and begins to save it and to solve its game.

        Raises:
          LeagueError: What is in the folder cannot be read or gone on from.
        """
        restored = await asyncio.to_thread(self._restored)
        self._segment = restored.segment
        self._journal = Journal(self._folder, restored.segment, fsync=self._config.keeping.fsync)
        self._league = League(self._settings, lambda event: self._journal.append(to_bytes(event)), restored.state)
        self._league.begin(secrets.token_hex(4), self._clock())
        await self._commit()
        self._saved = self._journal.appended if restored.events == 0 and restored.snapshot else -1
        _log.info("the league has %d players; %d events restored", len(restored.state.roster.ids), restored.events)
        self._tasks = [asyncio.create_task(self._save_for_ever())]
        if asks_equilibrium(self._config):
            self._tasks.append(asyncio.create_task(self._solve_for_ever()))

    async def close(self) -> None:
        """Ends what ``start`` began, with all written down."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self._journal.close)

    async def next_match(self, player: PlayerId, seats: Sequence[int] = DUEL, own: int = 0) -> Match:
        """Returns a match for a learning player; see ``League``.

        Raises:
          LeagueError: The player does not learn here, or the sides are none.
        """
        self._refuse_if_behind()
        match = self._league.next_match(player, self._clock(), seats, own)
        await self._commit()
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
        self._refuse_if_behind()
        match = self._league.next_evaluation(self._clock(), seats, pool)
        await self._commit()
        return match

    async def report(self, match: MatchId, result: Result) -> Reply:
        """Counts a result, once, and returns what became of it; it is safe to ask again.

        Raises:
          LeagueError: The result does not fit the match.
        """
        self._refuse_if_behind()
        reply = self._league.report(match, result, self._clock())
        await self._commit()
        return reply

    async def player(self, player: PlayerId) -> LearningPlayer:
        """Returns a learning player as it is now.

        Raises:
          LeagueError: It does not learn here.
        """
        return self._league.state.roster.learner(player)

    async def at(self, trainer: str) -> LearningPlayer:
        """Returns the player that a trainer is to go on with.

        Raises:
          LeagueError: The trainer has no player.
        """
        turns = self._league.state.turns
        if trainer not in turns:
            raise LeagueError(f"trainer {trainer!r} has no player in the league; allowed: {', '.join(turns)}")
        return self._league.state.roster.learner(turns[trainer])

    async def side(self, player: PlayerId) -> Side:
        """Returns a side that a player plays, without a match.

        Raises:
          LeagueError: There is no such player.
        """
        return self._league.side(player)

    async def due(self, player: PlayerId, updates: int) -> Due:
        """Returns what a trainer is to do with its player after some updates since it took it over.

        Raises:
          LeagueError: The player does not learn here.
        """
        return self._league.due(player, updates)

    async def freeze(self, player: PlayerId, period: int, weights: Weights, anew: bool | None = None) -> Freeze:
        """Freezes a player at the end of a period; it is safe to ask again.

        Raises:
          LeagueError: The player does not learn here, or the period has not begun.
        """
        self._refuse_if_behind()
        frozen = self._league.freeze(player, period, weights, self._clock(), anew=anew)
        await self._commit()
        self._frozen.set()
        return frozen

    async def taken_over(self, player: PlayerId) -> LearningPlayer:
        """Notes that a trainer has taken over and published a player's weights.

        Raises:
          LeagueError: The player does not learn here.
        """
        self._refuse_if_behind()
        learning = self._league.taken_over(player)
        await self._commit()
        return learning

    async def turn(self, trainer: str, leaving: PlayerId, weights: Weights, updates: int) -> LearningPlayer:
        """Turns a trainer to the next of its players, and returns that one; it is safe to ask again.

        Raises:
          LeagueError: The player is not the trainer's.
        """
        self._refuse_if_behind()
        entering = self._league.turn(trainer, leaving, weights, updates)
        await self._commit()
        return entering

    async def next_opponent(self, level: float | None = None, rating: float | None = None) -> Side:
        """Returns a frozen player for a live game: of a level from 0 to 1, or the one nearest to a rating.

        Without either it is the champion, or the strongest where there is none.

        Raises:
          LeagueError: Nobody is frozen, or the level is none.
        """
        champion = self._league.state.championship.champion
        if level is None and rating is None and champion is not None:
            return self._league.side(champion)
        found = standings(self._league.state)
        wanted = by_level(found, 1.0 if level is None else level) if rating is None else by_rating(found, rating)
        return self._league.side(wanted.player)

    async def show(self, matches: int = 0, players: int | None = None) -> LeagueReport:
        """Returns how the league stands.

        Args:
          matches: Newest finished matches to tell, at most the thousand that are in memory.
          players: Strongest players to tell; None tells all.
        """
        return report_of(self._league.state, self._league.equilibrium.strategy, matches, players)

    async def folder(self) -> str:
        """Returns where the league writes, for who reads the whole match log."""
        return str(self._folder)

    async def save(self) -> None:
        """Writes a snapshot now.

        Raises:
          OSError: It cannot be written.
        """
        self._segment += 1
        self._journal.rotate(self._segment)
        segment, image = self._segment, image_of(self._league.state)
        appended = self._journal.appended
        await self._commit()
        keep_mb = self._config.keeping.keep_mb
        await asyncio.to_thread(save, self._folder, segment, image, None if keep_mb is None else keep_mb * 2**20)
        self._saved = appended

    async def solve(self) -> None:
        """Solves the game of the frozen players now."""
        state = self._league.state
        ids, payoff, image = state.roster.frozen_ids, state.payoff, state.payoff.state()
        if ids:
            self._league.equilibrium.take(await asyncio.to_thread(lambda: solved(payoff.at(image), ids)))

    async def _commit(self) -> None:
        """Waits until all that was appended before is written; one write serves all who wait."""
        wanted = self._journal.appended
        while self._written < wanted:
            async with self._lock:
                if self._written < wanted:
                    reached = self._journal.appended
                    await asyncio.to_thread(self._journal.write)
                    self._written = reached

    def _refuse_if_behind(self) -> None:
        if self._journal.behind > MAX_BEHIND:
            raise LeagueError(
                f"{self._journal.behind} records wait for the disk of {self._folder}; allowed are {MAX_BEHIND}: "
                "the league changes no more until they are written"
            )

    def _restored(self) -> Restored:
        found = restore(self._folder, self._settings)
        source = self._config.keeping.restore
        if source is not None and not found.state.token:
            other = restore(Path(source).expanduser(), self._settings, cut=False)
            if not other.state.token:
                raise LeagueError(f"league.keeping.restore is {source}, where there is no league")
            other.state.token = ""  # Its matches are none of ours.
            save(self._folder, found.segment, image_of(other.state))
            found = replace(found, state=other.state, snapshot=found.segment)
        write_about(self._folder, self._settings)
        return found

    async def _save_for_ever(self) -> None:
        pause_s = self._config.keeping.save_every_s
        while True:
            await asyncio.sleep(pause_s)
            if self._journal.appended == self._saved:
                continue
            try:
                await self.save()
                pause_s = self._config.keeping.save_every_s
            except OSError as error:
                _log.error("the league's snapshot is not written, its journal goes on: %s", error)
                pause_s = max(AGAIN_S, pause_s)

    async def _solve_for_ever(self) -> None:
        seen: Any = None
        while True:
            state = self._league.state
            now = (state.counts["pairs_counted"], state.roster.frozen_ids)
            if now != seen:
                try:
                    await self.solve()
                    seen = now
                except SparringError as error:
                    _log.error("the game of the frozen players is not solved: %s", error)
            self._frozen.clear()
            try:
                await asyncio.wait_for(self._frozen.wait(), self._config.solve_every_s)
            except TimeoutError:
                continue
