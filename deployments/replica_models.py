"""The models of one actor replica, and what is told of their weights."""

import contextlib
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from ray.exceptions import RayError
from ray.serve.handle import DeploymentHandle

from app.metrics.here import PROCESS
from app.models.model import Model
from app.models.placement import LocalModel
from app.models.released import ReleasedModel
from app.models.times import ModelTimes
from app.stores.trial import Trial
from app.types import Version
from deployments.actor_args import ActorArgs
from deployments.models import WeightsClock, batch_limits, build_engine, local_model, network_of, remote_model, watch
from deployments.releases import ReplicaReleases
from deployments.weights_pages import WeightsPages


class ReplicaModels:
    """Local, remote and released models by name, with the work that keeps them new."""

    def __init__(
        self,
        args: ActorArgs,
        trial: Trial,
        wanted: Iterable[str],
        remote_models: dict[str, DeploymentHandle[Any]],
        counts: Counter[str],
    ) -> None:
        """Builds the models that the replica's agents ask.

        Args:
          args: The replica's.
          trial: Its stores.
          wanted: Names of the models.
          remote_models: Handles of those that answer elsewhere.
          counts: The replica's counters.

        Raises:
          PluginError: A model cannot be imported.
        """
        self._args = args
        self._trial = trial
        self._counts = counts
        self._following: list[Coroutine[Any, Any, None]] = []
        self._clocks: dict[str, WeightsClock] = {}
        self.released: dict[str, ReplicaReleases] = {}
        """Those that follow the registry."""
        self._models = {name: self._model(name, remote_models) for name in dict.fromkeys(wanted)}
        self._frozen = {
            name: self._frozen_model(name) for name in self._models if self._asked_here(name, remote_models)
        }

    def __getitem__(self, name: str) -> Model:
        """Returns a model."""
        return self._models[name]

    def frozen(self, name: str) -> Model:
        """Returns the model that is asked for versions that were set apart."""
        return self._frozen.get(name, self._models[name])

    def tell(self, name: str, took: Callable[[Version], None]) -> None:
        """Tells from now on which version of a local model answers, as soon as it does."""
        self._clocks[name].listeners.append(took)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        """Returns what must run for as long as the replica lives."""
        return [*self._following, *(one for released in self.released.values() for one in released.work())]

    def versions(self) -> dict[str, str]:
        """Returns the version of each local model's newest weights."""
        local = {name: model for name, model in self._models.items() if isinstance(model, LocalModel)}
        released = {name: str(released.model.plan.champion) for name, released in self.released.items()}
        return {name: str(model.engine.version) for name, model in local.items()} | released

    def releases(self) -> dict[str, dict[str, Any]]:
        """Returns how each model that follows the registry stands."""
        return {name: released.status() for name, released in self.released.items()}

    def weights_ages(self) -> dict[str, float | None]:
        """Returns the seconds since the newest weights of each model came; None before the first."""
        return {name: clock.age_s() for name, clock in self._clocks.items()}

    def weights_taken(self) -> dict[str, float]:
        """Returns when each local model last took up new weights, in Unix seconds; none before the first."""
        return {name: clock.taken_s for name, clock in self._clocks.items() if clock.taken_s is not None}

    def weights_pages(self) -> WeightsPages:
        """Returns what shows the weights of the trial's models."""
        models = self._args.config.models.items()
        return WeightsPages(
            self._trial.catalog, {name: int(model.weights.max_download_mb * 2**20) for name, model in models}
        )

    async def close(self) -> None:
        """Reports for the last time what the sessions of released models did."""
        for released in self.released.values():
            with contextlib.suppress(RayError):  # The stores may be gone already.
                await released.flush()

    def _model(self, name: str, remote_models: dict[str, DeploymentHandle[Any]]) -> Model:
        config, seed = self._args.config.models[name], self._args.config.run.seed
        if name in self._args.released:
            return self._released_model(name).for_nobody()
        weights, clock = self._trial.weights(name), self._clocks.setdefault(name, WeightsClock())
        if name in remote_models:
            secret, handle = self._args.service.cluster_secret, remote_models[name]
            remote, work = remote_model(config, seed, handle, weights, secret, self._counts)
            remote.queue.times = self._times(name)
            self._following += [watch(weights, clock), *work]
            return remote
        model, following = local_model(config, seed, self._args.first[name], weights, clock, self._args.service.home)
        self._following.append(following)
        model.queue.times = self._times(name)
        return model

    def _times(self, name: str) -> ModelTimes | None:
        """Returns what takes a model's times; None where nobody wants them."""
        return ModelTimes(PROCESS, name) if self._args.config.metrics.timed(name) else None

    def _asked_here(self, name: str, remote_models: dict[str, DeploymentHandle[Any]]) -> bool:
        """Returns whether frozen versions of a model answer in this process, though the newest one does not."""
        league = self._args.config.league
        return league is not None and league.frozen_inference == "actor" and name in remote_models

    def _frozen_model(self, name: str) -> Model:
        config, run = self._args.config.models[name], self._args.config.run
        engine = build_engine(config, run.seed, None, self._args.service.home)
        model = LocalModel(engine, self._trial.weights(name).fetch, batch_limits(config))
        model.queue.times = self._times(name)
        return model

    def _released_model(self, name: str) -> ReleasedModel:
        """Returns a model that follows the registry, beginning with the version that the service found."""
        args = self._args
        config = args.config.models[name]
        network = network_of(config, args.config.run.seed, args.service.home)
        first = args.released[name], args.first[name] or {}
        store = self._trial.releases(name)
        releases = ReplicaReleases(name, network, batch_limits(config), first, store, self._counts)
        self.released[name] = releases
        return releases.model
