"""The replicas behind one service, each by its own status."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import ray
from ray import serve

from .service import Service, observation, step, wait_until

COUNTING = (
    "agents.player.factory=counting_agent:CountingAgent",
    "agents.player.model=null",
    "agents.player.buffer=null",
)
"""Agents that tell whether a tick was lost or played twice."""


@contextmanager
def games(url: str, *sessions: str, count: int = 0) -> Iterator[list[str]]:
    """Starts sessions, by these ids or so many that are minted; they are stopped at the end of the block."""
    with httpx.Client(base_url=url, timeout=30) as http:
        named: list[str | None] = [*sessions, *[None] * count]
        begun = [_step(http, session, "start").headers["session"] for session in named]
        yield begun
        for session in begun:
            _step(http, session, "stop")


def tick_all(url: str, sessions: list[str]) -> list[int]:
    """Plays a tick of each session, and returns their numbers."""
    with httpx.Client(base_url=url, timeout=30) as http:
        return [int(_step(http, session, "tick").headers["seq"]) for session in sessions]


@contextmanager
def connections(service: Service, replicas: int) -> Iterator[dict[str, httpx.Client]]:
    """Opens a kept connection to each replica of a game port, by its name; the kernel chooses which one it gives."""
    with ExitStack() as stack:
        clients: dict[str, httpx.Client] = {}

        def all_of_them() -> bool:
            client = stack.enter_context(service.new_client())
            clients.setdefault(client.get("/status").json()["replica"], client)
            return len(clients) == replicas

        wait_until(all_of_them, f"{replicas} replicas answer")
        yield clients


def statuses(service: Service, replicas: int) -> list[dict[str, Any]]:
    """Returns the status of each replica of a game port."""
    with connections(service, replicas) as clients:
        return [client.get("/status").json() for client in clients.values()]


def runs(trial: str, replicas: int) -> bool:
    """Returns whether the trial's actor has exactly so many replicas, and none that starts or ends."""
    application = serve.status().applications[trial]
    states = application.deployments["actor-main"].replica_states
    return {state: count for state, count in states.items() if count} == {"RUNNING": replicas}


def kill_controller() -> None:
    """Kills Serve's controller, which Ray starts again."""
    ray.kill(ray.get_actor("SERVE_CONTROLLER_ACTOR", namespace="serve"), no_restart=False)


def _step(http: httpx.Client, session: str | None, kind: str) -> httpx.Response:
    reply = step(http, session or "", kind, observation() if kind == "tick" else None)
    assert reply.status_code == 200, f"{kind} of {session}: {reply.status_code} {reply.text}"
    return reply
