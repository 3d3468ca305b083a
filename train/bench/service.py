"""The service that ``ticks`` measures: real actor replicas on a Ray cluster of this command's own."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal

import httpx

from app.config.active import active
from app.config.root import ExperimentConfig
from app.errors import SparringError
from deployments.port import free_port
from train.bench.generator import Load, Mode
from train.launch.ring import Ring
from train.launch.stopping import Stopper

Target = Literal["echo", "cartpole", "pair", "recorded", "timed_echo", "timed_cartpole"]
"""An actor: ``echo`` answers what it is sent, ``cartpole`` what its policy decides, ``pair`` echoes in two replicas;
``recorded`` plays as ``cartpole`` does, by the agents of ``RECORD``, and the last two by those of ``TIMED``."""

IDLE_TIMEOUT_S: Final = 3600.0
"""Seconds that a session without a step stays open: longer than any measurement."""
MAX_GAMES: Final = 20_000
"""Games that one replica may hold: twice as many as are ever left idle."""
START_TIMEOUT_S: Final = 120.0
"""Longest start of Ray or the service."""
REPLY_TIMEOUT_S: Final = 30.0
"""Longest answer of a replica to a request of ours."""
STATUS_TRIES: Final = 200
"""Fresh connections until the kernel has certainly spread one to each of two replicas."""
CARTPOLE_TICK: Final = '{"observation":[0.01,0.02,0.03,0.04],"reward":1.0}'
CARTPOLE_ANSWER: Final = '{"action":'

RECORD: Final[dict[str, dict[str, object] | None]] = {
    "plain": None,
    "control": None,
    "recorded": {"every": 100, "max_mb": 64},
    "kept": {"every": None, "keep_ticks": 200},
}
"""Agents that play CartPole in one replica, and what they record: twice nothing, one game of a hundred, and the last
ticks of all games for an alarm."""
TIMED: Final[dict[Target, list[str]]] = {
    "timed_echo": ["echo_plain", "echo_control", "echo_timed"],
    "timed_cartpole": ["policy_plain", "policy_control", "policy_timed"],
}
"""Agents that play in one replica; the times of the last one's ticks are measured, and of its model's batches."""

_ECHO: Final[dict[str, object]] = {"factory": "app.agents.echo:EchoAgent"}
_AGENTS: Final[dict[Target, dict[str, dict[str, object]]]] = {
    "echo": {"echo": _ECHO},
    "cartpole": {"cartpole": {"model": "main"}},
    "pair": {"echo": _ECHO},
    "recorded": {name: {"model": "main", "record": record} for name, record in RECORD.items()},
    "timed_echo": dict.fromkeys(TIMED["timed_echo"], _ECHO),
    "timed_cartpole": {name: {"model": name} for name in TIMED["timed_cartpole"]},
}
_MODEL: Final = "app.games.cartpole.model:build"


class BenchError(SparringError):
    """A benchmark cannot go on."""


@dataclass(frozen=True, slots=True)
class GamePort:
    """The game port of one actor and the replicas behind it."""

    port: int
    pids: tuple[int, ...]

    @contextmanager
    def client(self, pid: int | None = None) -> Iterator[httpx.Client]:
        """Opens a client with one connection, kept to one replica where a process is named.

        Raises:
          BenchError: No connection reaches that process.
        """
        for _ in range(STATUS_TRIES):
            with _client(self.port) as client:
                if pid is None or status(client)["pid"] == pid:
                    yield client
                    return
        raise BenchError(f"no connection to port {self.port} reaches process {pid}")


def service_config(targets: Collection[Target]) -> ExperimentConfig:
    """Returns the config of a service with these actors: no training, no snapshots, no limits that could be met."""
    limits = {"max_games": MAX_GAMES, "idle_timeout_s": IDLE_TIMEOUT_S}
    actors = {
        name: {"agents": list(_AGENTS[name]), "replicas": _replicas(name), "port": 0, "num_cpus": 0, "limits": limits}
        for name in targets
    }
    agents = {name: agent for target in targets for name, agent in _AGENTS[target].items()}
    timed = [TIMED[target][-1] for target in targets if target in TIMED]
    return ExperimentConfig.model_validate(
        {
            "run": {"project": "bench", "trial": "ticks", "mode": "deploy"},
            "models": {agent["model"]: {"factory": _MODEL} for agent in agents.values() if "model" in agent},
            "agents": agents,
            "actors": actors,
            "metrics": {"latencies": timed or True},
        }
    )


@contextmanager
def serving(targets: Collection[Target], stopper: Stopper) -> Iterator[dict[Target, GamePort]]:
    """Serves actors until the end of the block; then all processes of the service are gone.

    Raises:
      SparringError: The service cannot be started.
      InterruptedLaunchError: The user has asked to stop.
    """
    config = active(service_config(targets))
    ring = Ring(config, free_port(), START_TIMEOUT_S, stopper)
    try:
        ring.start_ray()
        ports = ring.serve(config)
        yield {name: replicas_of(ports[name], _replicas(name)) for name in targets}
    finally:
        ring.close()


def policy_load(
    port: GamePort, seconds: float, mode: Mode = Mode.HTTP, connections: int = 8, sessions: int = 1
) -> Load:
    """Returns a load of CartPole's ticks."""
    return Load(
        mode,
        port.port,
        connections,
        sessions,
        seconds=seconds,
        pids=port.pids,
        body=CARTPOLE_TICK,
        expect=CARTPOLE_ANSWER,
    )


def status(client: httpx.Client) -> dict[str, Any]:
    """Returns what the replica behind a client says of itself."""
    found: dict[str, Any] = client.get("/status").raise_for_status().json()
    return found


def replicas_of(port: int, replicas: int) -> GamePort:
    """Returns a game port with the process of each of its replicas.

    Raises:
      BenchError: There are more or fewer.
    """
    found: set[int] = set()
    for _ in range(STATUS_TRIES):
        with _client(port) as client:
            found.add(int(status(client)["pid"]))
        if len(found) == replicas:
            return GamePort(port, tuple(sorted(found)))
    raise BenchError(f"port {port} is shared by {len(found)} replicas; {replicas} were started")


def _replicas(target: Target) -> int:
    return 2 if target == "pair" else 1


def _client(port: int) -> httpx.Client:
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=REPLY_TIMEOUT_S)
