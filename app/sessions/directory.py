"""Which replica holds which game: claims by compare-and-set, each with an epoch of its own."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

GONE_REMEMBERED: Final = 100_000
"""Claims of replicas that are gone, so that a step can be told that its game is lost."""
FRESH_S: Final = 3.0
"""A replica that has reported within this time gets new games."""
SILENT_S: Final = 4.0
"""A replica that has not reported for longer, and that its peers do not reach, is gone: its games may go on elsewhere.
Longer than ``LEASE_S``, so that it has stopped to answer by then."""
LEASE_S: Final = 3.0
"""Seconds after a report for which a replica may answer for its games, where it does not reach the directory's node."""


@dataclass(frozen=True, slots=True)
class Replica:
    """A live replica and where it is reached."""

    name: str
    host: str
    peer_port: int
    endpoint: str = ""
    """``host:port`` where clients reach this very replica."""
    actor: str = ""
    """Component whose games it holds; games move between replicas of one actor alone."""

    @property
    def is_gateway(self) -> bool:
        """Tells whether it only passes steps on: then it holds no game, and has no port for its peers."""
        return not self.peer_port


@dataclass(frozen=True, slots=True)
class Claim:
    """Who holds a game."""

    owner: str
    epoch: int
    """Grows with each claim of any game; what carries an older one is refused."""


@dataclass(slots=True)
class Load:
    """What a replica last said of itself."""

    at_s: float
    games: int = 0
    draining: bool = False


@dataclass(slots=True)
class Directory:
    """Claims of games; the clock comes from outside."""

    epoch: int
    """Epochs begin above it; who makes a directory anew gives one that no earlier directory has reached."""
    replicas: dict[str, Replica] = field(default_factory=dict)
    loads: dict[str, Load] = field(default_factory=dict)
    claims: dict[str, Claim] = field(default_factory=dict)
    gone: OrderedDict[str, Claim] = field(default_factory=OrderedDict)
    """Claims of replicas that are gone, until somebody claims the game anew."""
    taken_over: OrderedDict[str, int] = field(default_factory=OrderedDict)
    """Epoch under which a game went on whose replica was gone: who held it before may still live, and come back."""
    awaited: set[str] = field(default_factory=set)
    """Replicas that others knew, and that have not told yet what they hold."""

    def join(self, replica: Replica, held: Iterable[tuple[str, int]], now_s: float) -> list[str]:
        """Adds a replica with the games that it holds already, and returns those that another holds by now."""
        self.replicas[replica.name] = replica
        self.loads[replica.name] = Load(now_s)
        self.awaited.discard(replica.name)
        refused: list[str] = []
        for game, epoch in held:
            self.epoch = max(self.epoch, epoch)
            present = self.claims.get(game)
            if epoch < self.taken_over.get(game, 0):
                refused.append(game)
            elif present is None or present.owner == replica.name or present.epoch < epoch:
                self.claims[game] = Claim(replica.name, epoch)
                self.gone.pop(game, None)
            else:
                refused.append(game)
        return refused

    def expect(self, others: Iterable[Replica], now_s: float) -> None:
        """Adds replicas that another knew; they get no new games before they have joined. No gateway is awaited."""
        for replica in others:
            if not replica.is_gateway and replica.name not in self.replicas:
                self.replicas[replica.name] = replica
                self.loads[replica.name] = Load(now_s)
                self.awaited.add(replica.name)

    def report(self, name: str, load: Load) -> None:
        """Takes what a replica says of itself."""
        if name in self.replicas:
            self.loads[name] = load

    def leave(self, name: str) -> None:
        """Removes a replica; what it held is kept as gone."""
        self.replicas.pop(name, None)
        self.loads.pop(name, None)
        self.awaited.discard(name)
        for game in [game for game, claim in self.claims.items() if claim.owner == name]:
            self.gone[game] = self.claims.pop(game)
        while len(self.gone) > GONE_REMEMBERED:
            self.gone.popitem(last=False)

    def leave_if_silent(self, name: str, now_s: float) -> bool:
        """Removes a replica that has not reported for long; returns whether it is not there any more."""
        load = self.loads.get(name)
        if load is not None and now_s - load.at_s > SILENT_S:
            self.leave(name)
        return name not in self.replicas

    def claim(self, game: str, name: str) -> Claim:
        """Makes a replica the owner of a game that nobody holds, and returns who holds it now."""
        return self.claims.get(game) or self._grant(game, name)

    def recover(self, game: str, name: str) -> Claim | None:
        """Makes a replica the owner of a game whose owner is gone; returns who holds it, None where it is unknown."""
        return self._grant(game, name) if game in self.gone else self.claims.get(game)

    def give_up(self, game: str, name: str) -> None:
        """Marks a game as lost that its new owner could not restore."""
        claim = self.claims.get(game)
        if claim is not None and claim.owner == name:
            self.gone[game] = self.claims.pop(game)

    def move(self, game: str, name: str, epoch: int, to: str) -> Claim | None:
        """Hands a game from its owner, if it is that still by this epoch, to another replica.

        Returns:
          The new claim; None where the game is no longer the giver's.
        """
        if self.claims.get(game) != Claim(name, epoch) or to not in self.replicas:
            return None
        return self._grant(game, to)

    def release(self, games: Iterable[tuple[str, int]], name: str) -> None:
        """Lets games go that the replica holds by these epochs."""
        for game, epoch in games:
            if self.claims.get(game) == Claim(name, epoch):
                del self.claims[game]

    def find(self, game: str) -> tuple[Claim | None, Replica | None]:
        """Returns the claim of a game, and its owner; no owner where that is gone."""
        claim = self.claims.get(game)
        return (self.gone.get(game), None) if claim is None else (claim, self.replicas[claim.owner])

    def fresh(self, actor: str, now_s: float) -> dict[str, int]:
        """Returns the games of each replica of an actor that takes new ones."""
        return {
            name: load.games
            for name, load in self.loads.items()
            if name not in self.awaited
            and not load.draining
            and now_s - load.at_s <= FRESH_S
            and self.replicas[name].actor == actor
        }

    def _grant(self, game: str, name: str) -> Claim:
        self.epoch += 1
        if self.gone.pop(game, None) is not None:
            self.taken_over[game] = self.epoch
            if len(self.taken_over) > GONE_REMEMBERED:
                self.taken_over.popitem(last=False)
        self.claims[game] = Claim(name, self.epoch)
        return self.claims[game]
