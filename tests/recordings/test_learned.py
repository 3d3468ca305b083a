import asyncio

from app.recordings.learned import learned_rows
from app.types import RowKind
from tests.recordings.played import Service


def test_the_rows_of_sessions_stand_one_behind_another_with_their_ends() -> None:
    async def played() -> Service:
        service = Service()
        await service.game(2, "a-agent-player")
        await service.game(1, "b-agent-player")
        return service

    service = asyncio.run(played())
    rows = learned_rows(service.played, service.model.spec)
    assert rows is not None
    step, over = RowKind.STEP, RowKind.TERMINATED
    assert rows["kind"].tolist() == [step, step, over, step, over]
    assert rows["reward"].tolist() == [1, 2, 0, 1, 0]
    assert learned_rows([], service.model.spec) is None
