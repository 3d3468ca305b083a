"""A directory that begins anew knows nothing; a replica that is slow to tell it what it holds must not lose that."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from ray.exceptions import RayError

from app.stores.rejoining import REJOIN_S
from tests.soak.faults import children

from .fleet import COUNTING, connections
from .service import Cluster, Service, step, wait_until, whole
from .test_hand_over import pids

pytestmark = pytest.mark.ray


@contextmanager
def held_up(pid: int) -> Iterator[None]:
    """Stops a process while the block runs, as a machine that swaps or is overcommitted does."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_games_of_a_replica_that_is_slow_to_tell_a_new_directory_are_not_lost(cluster: Cluster) -> None:
    with Service(cluster, "slow_to_tell", "actors.main.replicas=2", *COUNTING) as service:
        processes = pids(service, 2)
        slow, games = _games_of_one(service)
        other = next(name for name in processes if name != slow)
        with ExitStack() as stack:
            doors = {game: stack.enter_context(connections(service, 2))[other] for game in games}
            pool = stack.enter_context(ThreadPoolExecutor(len(games)))
            assert step(doors[games[0]], games[0], "tick", 1, seq=1).status_code == 200  # Whose owner it remembers now.
            next_ticks = dict.fromkeys(games, 1) | {games[0]: 2}
            with held_up(processes[slow]):
                _new_directory(service, other)
                threading.Event().wait(REJOIN_S + 0.5)  # The directory's patience where it knows of nobody.
                answers = [
                    pool.submit(step, doors[game], game, "tick", 1, again_s=0, seq=seq)
                    for game, seq in next_ticks.items()
                ]
                threading.Event().wait(1)  # Time to be told wrongly that they are gone.
            codes = [answer.result(40).json().get("code") for answer in answers]
            assert set(codes) <= {None, "overloaded"}, codes
            for game, seq in next_ticks.items():
                assert wait_until(lambda g=game, n=seq: _ticks(doors[g], g, n), f"{game} goes on") == seq


def _new_directory(service: Service, member: str) -> None:
    """Starts the directory's process anew, and waits until a replica has told it what it holds."""
    before = _hosts()
    service.restart_stores()
    wait_until(lambda: before - _hosts(), "its old process is gone")
    wait_until(lambda: member in _members(service), "the replica joins again")


def _members(service: Service) -> set[str]:
    try:
        return {one.name for one in service.trial.directory.replicas()}
    except RayError:  # It restarts.
        return set()


def _hosts() -> set[int]:
    return {process.pid for process in children("ray::Host")}


def _games_of_one(service: Service) -> tuple[str, list[str]]:
    """Starts games until a replica has two; returns its name and them."""
    for number in range(3):
        service.step(f"game-{number}", "start", seq=0)
    held: dict[str, list[str]] = {}
    for row in whole(f"{service.url}/sessions")["sessions"]:
        held.setdefault(row["replica"], []).append(row["id"])
    return max(held.items(), key=lambda item: len(item[1]))


def _ticks(http: httpx.Client, game: str, seq: int) -> int | None:
    """Returns how many ticks a game has played; None where it is to be sent again."""
    reply = step(http, game, "tick", 1, again_s=0, seq=seq)
    assert reply.json().get("code") in {None, "overloaded"}, reply.text
    return int(reply.json()["ticks"]) if reply.status_code == 200 else None
