"""A replica's game port, sessions and agents in a process without Ray; each answer tells the CPU seconds until then.

Run as ``python -m tests.capacity.bare_replica PASSES``: it prints its port and answers until its standard input ends.
A decision is so many passes through a small network; 0 decides nothing.
"""

import asyncio
import struct
import sys
import threading
import time
from collections import Counter
from functools import partial

import numpy as np
import uvloop

from app.agents.agent import AgentContext
from app.agents.echo import EchoAgent
from app.config.serving import ConnectionLimits
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.limits import Limits
from app.sessions.table import SessionTable
from app.types import Purpose, SessionId
from app.wire.http import HttpReply, HttpRequest
from app.wire.payload import Payload
from app.wire.routes import unserved
from deployments.listener.detecting import DetectingConnection
from deployments.listener.port import Connections
from deployments.steps import StepService

MAX_BODY = 100_000


LAYER = np.full((96, 96), 0.01, np.float32)


def decide(passes: int) -> None:
    """Takes CPU time as a network does."""
    row = np.ones(96, np.float32)
    for _ in range(passes):
        row = np.tanh(LAYER @ row)


class ClockAgent(EchoAgent):
    """Answers each tick with the CPU seconds of this process, behind its decision."""

    passes = 0

    async def on_tick(self, payload: Payload) -> Payload:
        decide(self.passes)
        return struct.pack(">d", time.process_time())


def make_agent(session: SessionId, purpose: Purpose, board: Board) -> ClockAgent:
    return ClockAgent(AgentContext(session, purpose, Draws(0), None, None, lambda value, ticks: None, board))


async def show(request: HttpRequest) -> HttpReply:
    return unserved(request)


async def serve() -> None:
    limits = Limits(max_games=1000, idle_timeout_s=3600, step_timeout_s=60)
    table = SessionTable(make_agent, limits, Purpose.PLAY, lambda: "minted", time.monotonic, Counter())
    service = StepService(table.step, show, show, MAX_BODY)
    connections = Connections(service, MAX_BODY, ConnectionLimits())
    loop = asyncio.get_running_loop()
    server = await loop.create_server(partial(DetectingConnection, connections), "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    ended = asyncio.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), loop.call_soon_threadsafe(ended.set)), daemon=True).start()
    await ended.wait()
    server.close()
    await connections.finish(0)


if __name__ == "__main__":
    ClockAgent.passes = int(sys.argv[1])
    uvloop.run(serve())
