"""A league with its folder: what is changed is written down before anybody is told."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from app.errors import LeagueError, SparringError
from app.league.about import refuse_other_rating, write_about
from app.league.events import to_bytes
from app.league.image import image_of
from app.league.journal import Journal
from app.league.keeping import Restored, restore, save
from app.league.league import League
from app.league.matchmaking.equilibrium import solved
from app.league.settings import LeagueSettings
from app.league.state import LeagueState
from app.stores.league_config import Given, write_given
from app.stores.league_settings import asks_equilibrium, league_settings

MAX_BEHIND: Final = 100_000
"""Records that may wait for the disk; beyond, nothing is changed any more."""
MIB: Final = 2**20

_log = logging.getLogger(__name__)


class KeptLeague:
    """A league that goes on from what its folder holds; ``commit`` says when all changes so far are in there."""

    def __init__(
        self, given: Given, folder: Path, seed: int, restored: Restored, clock: Callable[[], float] = time.time
    ) -> None:
        """Begins to write; see ``restored_in``.

        Raises:
          LeagueError: The journal cannot be gone on with.
        """
        self.given, self.folder = given, folder
        self._seed, self._clock = seed, clock
        self._journal = Journal(folder, restored.segment, fsync=given.config.keeping.fsync)
        self._segment = restored.segment
        self._lock = asyncio.Lock()
        self._written = 0
        self._saved = -1
        self._froze = asyncio.Event()
        self.league = self._begun(league_settings(given.config, seed, given.weights), restored.state)

    async def commit(self) -> None:
        """Waits until all that was changed before is written; one write serves all who wait.

        Raises:
          OSError: It cannot be written now; it is tried again by the next call.
        """
        wanted = self._journal.appended
        while self._written < wanted:
            async with self._lock:
                if self._written < wanted:
                    reached = self._journal.appended
                    await asyncio.to_thread(self._journal.write)
                    self._written = reached

    def refuse_if_behind(self) -> None:
        """Does nothing as long as the disk keeps up.

        Raises:
          LeagueError: It does not, and nothing may be changed.
        """
        if self._journal.behind > MAX_BEHIND:
            raise LeagueError(
                f"{self._journal.behind} records wait for the disk of {self.folder}; allowed are {MAX_BEHIND}: "
                "the league changes no more until they are written"
            )

    async def configure(self, given: Given) -> None:
        """Goes on by this config from now on, with all that the league knows.

        Raises:
          LeagueError: Its players would be rated by another system, or it cannot be written down.
        """
        if given == self.given:
            return
        settings = league_settings(given.config, self._seed, given.weights)
        refuse_other_rating(self.folder, settings)
        await asyncio.to_thread(write_given, self.folder, given)
        self.given = given
        self.league.state.adopt(settings)
        strategy = self.league.equilibrium.strategy
        self.league = self._begun(settings, self.league.state)
        self.league.equilibrium.take(strategy)
        await self.commit()
        _log.info("the league goes on by a changed config")

    async def save(self) -> None:
        """Writes a snapshot now.

        Raises:
          OSError: It cannot be written.
        """
        self._segment += 1
        self._journal.rotate(self._segment)
        segment, image, appended = self._segment, image_of(self.league.state), self._journal.appended
        await self.commit()
        keep_mb = self.given.config.keeping.keep_mb
        await asyncio.to_thread(save, self.folder, segment, image, None if keep_mb is None else keep_mb * MIB)
        self._saved = appended

    async def solve(self) -> None:
        """Solves the game of the frozen players now.

        Raises:
          SparringError: The solver finds no solution.
        """
        state = self.league.state
        ids, payoff, image = state.roster.frozen_ids, state.payoff, state.payoff.state()
        if ids:
            strategy = await asyncio.to_thread(lambda: solved(payoff.at(image), ids))
            self.league.equilibrium.take(strategy)

    def froze(self) -> None:
        """Tells that there is another frozen player, so that the game is solved anew."""
        self._froze.set()

    async def save_for_ever(self) -> None:
        """Saves whenever it is time and something has changed."""
        while True:
            await asyncio.sleep(self.given.config.keeping.save_every_s)
            if self._journal.appended == self._saved:
                continue
            try:
                await self.save()
            except OSError as error:
                _log.error("the league's snapshot is not written, its journal goes on: %s", error)

    async def solve_for_ever(self) -> None:
        """Solves whenever it is time, or a player was frozen, and something has changed, where somebody asks for it."""
        seen: Any = None
        while True:
            state = self.league.state
            now = (state.counts["pairs_counted"], state.roster.frozen_ids)
            if asks_equilibrium(self.given.config) and now != seen:
                try:
                    await self.solve()
                    seen = now
                except SparringError as error:
                    _log.error("the game of the frozen players is not solved: %s", error)
            self._froze.clear()
            try:
                async with asyncio.timeout(self.given.config.solve_every_s):
                    await self._froze.wait()
            except TimeoutError:
                continue

    async def close(self) -> None:
        """Writes what is left.

        Raises:
          OSError: It cannot be written.
        """
        await asyncio.to_thread(self._journal.close)

    def _begun(self, settings: LeagueSettings, state: LeagueState) -> League:
        league = League(settings, lambda event: self._journal.append(to_bytes(event)), state)
        for name in league.begin(secrets.token_hex(4), self._clock()):
            _log.warning("opponent %s stays what it was in this league; allowed for another one is another name", name)
        return league


def restored_in(folder: Path, given: Given, seed: int) -> Restored:
    """Returns what a folder holds, or what the config has a new league begin with.

    Raises:
      LeagueError: It cannot be read, or not be gone on from with this config.
    """
    settings = league_settings(given.config, seed, given.weights)
    found = restore(folder, settings)
    source = given.config.keeping.restore
    if source is not None and not found.state.token:
        other = restore(Path(source).expanduser(), settings, cut=False)
        if not other.state.token:
            raise LeagueError(f"league.keeping.restore is {source}, where there is no league")
        other.state.token = ""  # Its matches are none of ours.
        save(folder, found.segment, image_of(other.state))
        found = replace(found, state=other.state, snapshot=found.segment)
    write_about(folder, settings)
    return found
