"""A service that echoes, and does whatever the name of a session or path asks for."""

import asyncio
from collections import defaultdict

import orjson

from app.errors import BadPayloadError, OverloadedError, StepError
from app.types import Version
from app.wire.http import HttpReply, HttpRequest
from app.wire.steps import StepReply, StepRequest
from tests.deployments.wire_client import WAIT_S


class EchoService:
    """Echoes bodies; a name with ``wait`` is answered when the test opens its door, ``bad`` and ``bug`` fail."""

    def __init__(self) -> None:
        self.names: list[str] = []
        """Sessions and paths, in the order of their arrival."""
        self.steps: list[StepRequest] = []
        self.doors: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._seen: dict[int, asyncio.Event] = {}
        self.body: bytes | None = None
        """In place of the echo."""

    async def answer(self, request: HttpRequest) -> HttpReply:
        await self._obey(request.path)
        return HttpReply(200, self.body or orjson.dumps({"path": request.path, "body": request.body.decode()}))

    async def step(self, request: StepRequest) -> StepReply:
        self.steps.append(request)
        await self._obey(request.session)
        body = request.body if self.body is None else self.body
        return StepReply(request.session or "minted", body, request.seq or 0, Version(1, len(self.names)))

    async def batch(self, steps: list[StepRequest]) -> list[StepReply | StepError]:
        answers: list[StepReply | StepError] = []
        for step in steps:
            try:
                answers.append(await self.step(step))
            except StepError as error:
                answers.append(error)
        return answers

    async def until(self, count: int) -> None:
        """Returns when so many steps and requests have come."""
        seen = self._seen[count] = asyncio.Event()
        if len(self.names) >= count:
            seen.set()
        await asyncio.wait_for(seen.wait(), WAIT_S)

    async def _obey(self, name: str) -> None:
        self.names.append(name)
        for count, seen in self._seen.items():
            if len(self.names) >= count:
                seen.set()
        if "wait" in name:
            await self.doors[name].wait()
        if "full" in name:
            raise OverloadedError("no room")
        if "bad" in name:
            raise BadPayloadError("no observation")
        if "bug" in name:
            raise ZeroDivisionError("a bug of ours")
