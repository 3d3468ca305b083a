"""Talks to the client's test program, line by line."""

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

WAIT_S = 20.0


class Line(NamedTuple):
    """One outcome."""

    command: str
    name: str
    code: str
    """Empty: there is an answer."""
    seq: int = 0
    resumed_at: int | None = None
    version: str = ""
    text: str = ""
    """The answer's body, or the failure's message."""

    @classmethod
    def parse(cls, line: str) -> "Line":
        command, name, how, *more = line.split(" ", 3)
        if how == "error":
            code, _, message = more[0].partition(" ")
            return cls(command, name, code, text=message)
        seq, resumed, version, body = more[0].split(" ", 3)
        return cls(command, name, "", int(seq), None if resumed == "-" else int(resumed), version, body)


class Shell:
    """The program, from ``async with`` to the end of the block; it must end well."""

    def __init__(self, program: Path, **options: object) -> None:
        self._program = program
        self._words = [f"{name}={value}" for name, value in options.items()]

        self._early: deque[str] = deque()
        """Outcomes that came while something else was awaited."""

    async def __aenter__(self) -> Self:
        self._process: Process = await asyncio.create_subprocess_exec(
            self._program, *self._words, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
            await self._process.communicate()
            return
        _, told = await asyncio.wait_for(self._process.communicate(b"quit\n"), WAIT_S)
        assert self._process.returncode == 0, told.decode()

    async def do(self, command: str) -> Line:
        """Sends a command and returns the outcome that comes next."""
        self.send(command)
        return await self.line()

    def send(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command.encode() + b"\n")

    async def line(self) -> Line:
        return Line.parse(self._early.popleft() if self._early else await self._read())

    async def lines(self, number: int) -> list[Line]:
        return [await self.line() for _ in range(number)]

    async def stats(self) -> dict[str, int]:
        self.send("stats")
        while not (line := await self._read()).startswith("stats "):
            self._early.append(line)
        told: dict[str, int] = json.loads(line.partition(" ")[2])
        return told

    async def _read(self) -> str:
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), WAIT_S)
        if not line:
            assert self._process.stderr is not None
            raise AssertionError((await self._process.stderr.read()).decode())
        return line.decode().rstrip("\n")
