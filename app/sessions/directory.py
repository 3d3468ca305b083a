"""Which replica holds which game."""

from dataclasses import dataclass, field

from app.types import SessionId


@dataclass(frozen=True, slots=True)
class Replica:
    """A live replica and where its peers reach it."""

    name: str
    host: str
    peer_port: int


@dataclass(slots=True)
class Directory:
    """Owners of games; the first claim wins until the owner lets go or is gone."""

    replicas: dict[str, Replica] = field(default_factory=dict)
    owners: dict[SessionId, str] = field(default_factory=dict)

    def join(self, replica: Replica) -> None:
        """Adds a replica, or takes the new address of one."""
        self.replicas[replica.name] = replica

    def leave(self, name: str) -> None:
        """Removes a replica and all it owned."""
        self.replicas.pop(name, None)
        self.owners = {game: owner for game, owner in self.owners.items() if owner != name}

    def claim(self, game: str, name: str) -> Replica | None:
        """Makes a replica the owner of a game; returns None if it is, else the owner that was first."""
        owner = self.replicas.get(self.owners.get(game, ""))
        if owner is not None and owner.name != name:
            return owner
        self.owners[game] = name
        return None

    def release(self, games: list[str], name: str) -> None:
        """Lets games go that the replica owns."""
        for game in games:
            if self.owners.get(game) == name:
                del self.owners[game]

    def owner(self, game: str) -> Replica | None:
        """Returns the owner of a game; None where nobody holds it."""
        return self.replicas.get(self.owners.get(game, ""))
