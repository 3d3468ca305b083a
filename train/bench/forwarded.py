"""What a step costs that reaches another replica than its game's."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final

import httpx

from train.bench.cells import told
from train.bench.generator import Load, Mode, Run
from train.bench.service import BenchError, GamePort, status
from train.bench.statistics import figure

CONNECTIONS: Final = 8
"""Games, each with a connection of its own."""
PREFIX: Final = "forwarded"
"""Of their ids."""


def forwarded(run: Run, port: GamePort, windows: int, seconds: float) -> dict[str, object]:
    """Returns the CPU time of both replicas a tick, sent to the game's replica and to the other one, in turns.

    Raises:
      SparringError: The games cannot be placed, or the load generator fails.
    """
    owner, other = port.pids
    load = Load(
        Mode.HTTP, port.port, CONNECTIONS, seconds=seconds, pids=port.pids, prefix=PREFIX, attach=True, only_pid=owner
    )
    direct, via_other = [], []
    with _games(port, owner, other):
        for _ in range(windows):
            direct.append(run(load))
            via_other.append(run(replace(load, only_pid=other)))
    result: dict[str, object] = {
        "connections": CONNECTIONS,
        "body_bytes": load.body_bytes,
        "direct": told(direct),
        "forwarded": told(via_other),
        "errors": sum(window.errors for window in (*direct, *via_other)),
    }
    shares = zip(*(window.watched_cpu_s for window in via_other), strict=True)
    ticks = sum(window.ticks for window in via_other)
    if ticks:
        result["forwarded_cpu_us_of_owner_and_other"] = [round(1e6 * sum(share) / ticks, 1) for share in shares]
    direct_us = figure([window.cpu_us for window in direct]).median
    ratio = figure([window.cpu_us for window in via_other]).median / direct_us if direct_us else None
    return result | {"ratio": None if ratio is None else round(ratio, 2)}


@contextmanager
def _games(port: GamePort, owner: int, other: int) -> Iterator[None]:
    """Keeps the games open that are wanted in one replica, and as many in the other.

    A start goes to the emptier replica where one holds more than its share, so the other one gets a game first.
    """
    with ExitStack() as stack:
        there = stack.enter_context(port.client(other))
        here = stack.enter_context(port.client(owner))
        try:
            for number in range(CONNECTIONS):
                _step(there, "start", f"{PREFIX}-ballast-{number}")
                _step(here, "start", _id(number))
            held = status(here)["sessions"]
            if held != CONNECTIONS:
                raise BenchError(f"of {CONNECTIONS} games started in replica {owner}, {held} are held there")
            yield
        finally:
            for number in range(CONNECTIONS):
                _step(here, "stop", _id(number))
                _step(there, "stop", f"{PREFIX}-ballast-{number}")


def _id(connection: int) -> str:
    """Returns the id that the load generator gives to the only session of a connection."""
    return f"{PREFIX}-{connection}-0"


def _step(client: httpx.Client, kind: str, session: str) -> None:
    client.post("/step", headers={"session": session, "step_kind": kind}).raise_for_status()
