from collections import Counter

import pytest

from app.client.kept import ConnectionLostError
from app.errors import AgentError, OverloadedError, SessionUnknownError
from app.sessions.directory import Replica
from app.types import StepKind
from app.wire.steps import StepReply, StepRequest
from deployments.gateway import Gateway
from deployments.links import ReplicaGoneError


class Cluster:
    """Replicas behind a gateway, and the directory beside them."""

    def __init__(self) -> None:
        self.replicas = {name: Replica(name, "10.0.0.1", number) for number, name in enumerate(["one", "two"])}
        self.owners = {"old": "two"}
        self.asked: list[str] = []
        self.sent: list[tuple[str, StepRequest]] = []
        self.faults: dict[str, Exception] = {}
        """What the next step to a replica meets."""
        self.counts: Counter[str] = Counter()
        self.gateway = Gateway(self, self.owner_of, self.send, self.counts)

    def better_place(self) -> str | None:
        return min(self.replicas, default=None)

    async def owner_of(self, game: str) -> str | None:
        self.asked.append(game)
        return self.owners.get(game)

    async def send(self, replica: Replica, request: StepRequest) -> StepReply:
        self.sent.append((replica.name, request))
        if (fault := self.faults.pop(replica.name, None)) is not None:
            raise fault
        return StepReply(request.session or f"{replica.name}.1", b"", 1)

    async def tick(self, session: str, kind: StepKind = StepKind.TICK, seq: int | None = None) -> str:
        """Returns who answered."""
        await self.gateway.step(StepRequest(session, kind, b"", seq=seq))
        return self.sent[-1][0]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


async def test_a_step_goes_to_the_owner_and_the_directory_is_asked_once_a_game(cluster: Cluster) -> None:
    assert [await cluster.tick(side) for side in ("old", "old-agent-scout", "old")] == ["two"] * 3
    assert cluster.asked == ["old"]


async def test_what_nobody_holds_goes_to_the_least_loaded(cluster: Cluster) -> None:
    assert await cluster.tick("new", StepKind.START) == "one"
    assert await cluster.tick("", StepKind.START) == "one"
    assert await cluster.tick("", StepKind.AUTO) == "one"
    assert cluster.asked == ["new"]


async def test_a_start_does_not_tell_who_holds_the_game_from_then_on(cluster: Cluster) -> None:
    await cluster.tick("new", StepKind.START)
    cluster.owners["new"] = "two"  # The one that was asked was crowded.
    assert await cluster.tick("new") == "two"


async def test_a_game_whose_owner_is_gone_goes_to_one_that_recovers_it(cluster: Cluster) -> None:
    await cluster.tick("old")
    cluster.faults["two"] = ReplicaGoneError("gone")
    assert await cluster.tick("old") == "one"
    assert [name for name, _ in cluster.sent] == ["two", "two", "one"]


async def test_a_game_that_has_moved_is_looked_up_again(cluster: Cluster) -> None:
    await cluster.tick("old")
    cluster.faults["two"] = SessionUnknownError("not here")
    with pytest.raises(SessionUnknownError):
        await cluster.tick("old")
    cluster.owners["old"] = "one"
    assert await cluster.tick("old") == "one"
    assert cluster.counts == {"steps": 3, "session_unknown": 1}


@pytest.mark.parametrize(("kind", "seq"), [(StepKind.TICK, 4), (StepKind.START, None), (StepKind.AUTO, None)])
async def test_a_step_that_may_be_played_twice_is_sent_again(cluster: Cluster, kind: StepKind, seq: int | None) -> None:
    cluster.faults["two"] = ConnectionLostError("reset", sent=True)
    assert await cluster.tick("old", kind, seq) == "two"
    assert len(cluster.sent) == 2


async def test_a_tick_without_a_number_is_not_sent_again(cluster: Cluster) -> None:
    cluster.faults["two"] = ConnectionLostError("reset", sent=True)
    with pytest.raises(AgentError, match="whether it played the step is unknown"):
        await cluster.tick("old")
    cluster.faults["two"] = ConnectionLostError("refused", sent=False)
    assert await cluster.tick("old") == "two"


async def test_without_a_replica_the_step_is_to_be_sent_again(cluster: Cluster) -> None:
    cluster.replicas.clear()
    with pytest.raises(OverloadedError, match="no replica is reached for the start"):
        await cluster.tick("new", StepKind.START)
    assert cluster.counts["overloaded"] == 1
