"""What sessions without a connection cost in memory, and whether ticks leave anything behind."""

import base64
from collections.abc import Iterator
from typing import Final

import httpx
import psutil

from train.bench.generator import Load, Mode, Run
from train.bench.service import BenchError, GamePort

SESSIONS: Final = 10_000
"""Idle sessions."""
STEPS_A_REQUEST: Final = 1_000
"""Steps that are sent at a time."""
BODY: Final = b"x" * 64
"""A tick's body, and so the reply that the session keeps."""
WARM_TICKS: Final = 20_000
"""Ticks before growth counts."""
COUNTED_TICKS: Final = 100_000
"""Ticks over which growth is counted."""
PART_S: Final = 1.0
"""Seconds of load between two looks at the number of ticks."""
PARTS_MAX: Final = 300
"""Looks after which the service is too slow to be measured."""


def memory(run: Run, port: GamePort, sessions: int = SESSIONS) -> dict[str, object]:
    """Returns the growth over many ticks and the memory of each idle session, as proportional set size.

    Raises:
      SparringError: The service does not answer as it should.
    """
    errors = _play(run, port, WARM_TICKS)[1]
    before = _pss_bytes(port)
    ticks, later_errors = _play(run, port, COUNTED_TICKS)
    grown = _pss_bytes(port) - before
    return {
        "growth_mib_per_100000_ticks": round(grown / 2**20 * COUNTED_TICKS / ticks, 3),
        "growth_ticks": ticks,
        **_idle(port, sessions),
        "errors": errors + later_errors,
    }


def _idle(port: GamePort, sessions: int) -> dict[str, object]:
    """Opens sessions, plays one tick of each, and closes the connection."""
    ids = [f"idle-{number}" for number in range(sessions)]
    before = _pss_bytes(port)
    with port.client() as client:
        for kind in ("start", "tick"):
            for part in _parts(ids):
                _send(client, kind, part)
    per_session = (_pss_bytes(port) - before) / sessions
    with port.client() as client:
        for part in _parts(ids):
            _send(client, "stop", part)
    return {"idle_sessions": sessions, "kib_per_idle_session": round(per_session / 1024, 3)}


def _play(run: Run, port: GamePort, wanted: int) -> tuple[int, int]:
    """Returns ticks and errors of load that goes on until there were as many ticks as wanted."""
    ticks = errors = 0
    for part in range(PARTS_MAX):
        window = run(Load(Mode.HTTP, port.port, seconds=PART_S, warmup_s=0, prefix=f"growth-{part}"))
        ticks, errors = ticks + window.ticks, errors + window.errors
        if ticks >= wanted:
            return ticks, errors
    raise BenchError(f"only {ticks} ticks in {PARTS_MAX * PART_S:g} s, {errors} errors; wanted are {wanted}")


def _send(client: httpx.Client, kind: str, ids: list[str]) -> None:
    body = base64.b64encode(BODY).decode()
    tick = {"body_b64": body} if kind == "tick" else {}
    reply = client.post("/steps", json=[{"session": session, "kind": kind, **tick} for session in ids])
    for answer in reply.raise_for_status().json():
        if "error" in answer or (kind == "tick" and answer.get("body_b64") != body):
            raise BenchError(f"a {kind} of an idle session was answered {answer}")


def _parts(ids: list[str]) -> Iterator[list[str]]:
    for at in range(0, len(ids), STEPS_A_REQUEST):
        yield ids[at : at + STEPS_A_REQUEST]


def _pss_bytes(port: GamePort) -> int:
    return sum(int(psutil.Process(pid).memory_full_info().pss) for pid in port.pids)
