"""A service with a remote model, asked by this process as an actor replica asks it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import uvloop

from app.config.active import active
from app.config.root import ExperimentConfig
from app.models.batching import DEFAULT_LIMITS
from app.models.placement import RemoteModel
from app.stores.names import namespace_of
from app.stores.trial import Trial
from deployments.port import free_port
from train.bench.asking import Asked, ask
from train.bench.service import START_TIMEOUT_S, BenchError
from train.launch.ring import APP, Ring
from train.launch.stopping import Stopper

CHANNELS: Final = ("handle", "direct")
WARM_UP_S: Final = 0.5
"""Seconds of load before the first window."""
CONNECT_TRIES: Final = 100
"""Looks for the replica's port before the benchmark gives up."""


def remote_windows(
    factory: str, sessions: int, windows: int, seconds: float, stopper: Stopper, say: Callable[[str], None]
) -> dict[str, list[Asked]]:
    """Returns what sessions got over Serve's handle and over the model's own connections, measured by turns.

    Args:
      factory: The network.
      sessions: How many ask at a time.
      windows: Windows of each way.
      seconds: Length of one.
      stopper: Knows whether the user has asked to stop.
      say: Told what is measured next.

    Raises:
      SparringError: The service cannot be started, or the model not be reached.
      InterruptedLaunchError: The user has asked to stop.
    """
    config = active(_config(factory))
    ring = Ring(config, free_port(), START_TIMEOUT_S, stopper)
    try:
        ring.start_ray()
        ring.serve(config)
        say("the small network in a replica of its own")
        return uvloop.run(_windows(config, sessions, windows, seconds, stopper))
    finally:
        ring.close()


async def _windows(
    config: ExperimentConfig, sessions: int, windows: int, seconds: float, stopper: Stopper
) -> dict[str, list[Asked]]:
    found: dict[str, list[Asked]] = {channel: [] for channel in CHANNELS}
    async with _models(config) as models:
        for model in models.values():
            await ask(model, sessions, WARM_UP_S)
        for _ in range(windows):
            for channel, model in models.items():
                stopper.check()
                found[channel].append(await ask(model, sessions, seconds))
    return found


@asynccontextmanager
async def _models(config: ExperimentConfig) -> AsyncIterator[dict[str, RemoteModel]]:
    """Yields the model as it is reached each way."""
    from ray import serve  # noqa: PLC0415  # Ray has just been started, with its environment.

    from deployments.model_calls import ModelCalls  # noqa: PLC0415
    from deployments.models import RemoteReplicas, build_engine  # noqa: PLC0415

    trial = Trial(namespace_of(config.run))
    info = trial.directory.info()
    secret = info.cluster_secret
    spec = build_engine(config.models["main"], config.run.seed, None, info.home).spec
    handle = serve.get_deployment_handle("model-main", APP)
    counts: Counter[str] = Counter()
    calls = {name: ModelCalls(handle, spec, secret, counts, direct=name == "direct") for name in CHANNELS}
    work = [asyncio.create_task(one) for call in calls.values() for one in call.work()]
    try:
        models = {
            name: RemoteModel(spec, RemoteReplicas(call, trial.weights("main")), DEFAULT_LIMITS)
            for name, call in calls.items()
        }
        for _ in range(CONNECT_TRIES):
            await ask(models["direct"], 1, 0.05)
            if counts["model_calls_direct"]:
                break
        else:
            raise BenchError("the model's own port is not reached")
        yield models
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)


def _config(factory: str) -> ExperimentConfig:
    return ExperimentConfig.model_validate(
        {
            "run": {"project": "bench", "trial": "inference", "mode": "deploy"},
            "models": {"main": {"factory": factory, "placement": "remote", "num_cpus": 0}},
            "agents": {"echo": {"factory": "app.agents.echo:EchoAgent"}},
            "actors": {"main": {"agents": ["echo"], "port": 0, "num_cpus": 0}},
        }
    )
