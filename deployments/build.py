"""Builds the Serve application that ``serve run serve_config.yaml`` starts: wiring, no logic."""

# No postponed annotations here: Serve validates a builder's arguments only if the annotation is the class itself.

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import ray
from pydantic import BaseModel, ConfigDict
from ray import serve
from ray.serve import Application
from torch import nn

from app.config.access import is_loopback
from app.config.active import active
from app.config.keys import refuse_bad_keys
from app.config.load import load
from app.config.root import ExperimentConfig
from app.config.slots import refuse_if_too_big
from app.errors import ConfigError, TrackingError
from app.home import state_root
from app.model_check import build_models
from app.models.checked import checked_engine, fitting_arrays
from app.models.module import hash_of, spec_of
from app.releases.plan import played_as
from app.stores.followed_model import ReleaseSource
from app.stores.model_sources import ModelSources
from app.stores.names import namespace_of
from app.stores.release_registry import ReleaseRegistry, parts_of
from app.stores.trial import Trial, open_buffer, open_league, open_releases, open_stores
from app.types import Arrays, Version
from deployments.actor import ActorReplica
from deployments.actor_args import ActorArgs
from deployments.gateway_replica import GatewayReplica
from deployments.league_weights import set_apart
from deployments.model import ModelPlace, ModelReplica
from deployments.models import network_of
from deployments.nodes import machines, refuse_loopback, tell_unshared
from deployments.options import actor_options, gateway_options, model_options
from deployments.port import refuse_taken
from deployments.releases import release_sources


class BuilderArgs(BaseModel):
    """The ``args`` of the application in ``serve_config.yaml``."""

    model_config = ConfigDict(extra="forbid")

    config: str
    """Config file; a relative path is looked up in the working directory, then beside the ``deployments`` package."""
    set: list[str] = []
    """``dotted.key=value`` overrides."""
    revision: str = ""
    """Any text. Serve compares ``args`` and does not look into the config file, so after a change of the file alone
    another text here is what makes ``serve deploy`` roll."""


def build(args: BuilderArgs) -> Application:
    """Returns the application of a config file.

    Raises:
      SparringError: The config is wrong, a factory is missing, or the game port is taken.
    """
    return application(prepare(load(find_config(args.config), args.set)))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A trial whose stores run, ready to be served."""

    config: ExperimentConfig
    """With the components of its mode alone."""
    trial: Trial
    owner: str
    """Name under which its replicas hold the game port."""
    first: dict[str, Arrays | None]
    """First weights of each model; None where they are drawn from the seed."""
    released: dict[str, Version]
    """Models that follow the registry, and the versions that they begin with."""


def prepare(whole: ExperimentConfig) -> Prepared:
    """Checks what could fail late and starts the stores of a config.

    Raises:
      SparringError: A factory is missing, a model cannot be trained as the config asks, keys cannot be read, the game
        port is taken, or a checkpoint cannot be had.
    """
    config = active(whole)
    refuse_bad_keys(config)
    modules = build_models(config)
    refuse_if_too_big(config, ray.cluster_resources().get("CPU", 0.0))  # type: ignore[no-untyped-call]
    nodes = machines()
    refuse_loopback(config, list(nodes))
    namespace = namespace_of(config.run)
    owner = f"{namespace} of the cluster at {ray.get_runtime_context().gcs_address}"
    for actor in config.actors.values():
        if actor.use_gateway is not None:
            refuse_taken(actor.host, actor.port, owner)
    sources = release_sources(config)
    root = state_root(config.run.project)
    if len(nodes) > 1:
        tell_unshared(root, nodes)
    trial = open_stores(config, root)
    if config.league is not None:
        hashes = {name: hash_of(module) for name, module in modules.items()}
        league, weights = set_apart(config, config.league, hashes, ModelSources(config, root))
        open_league(config, league, root, weights)
    first = {name: declare_model(config, name, modules[name], trial) for name in config.models if name not in sources}
    released: dict[str, Version] = {}
    for name, source in sources.items():
        number, first[name] = first_release(config, name, source)
        released[name] = played_as(number)
    open_releases(config, sources)
    return Prepared(config, trial, owner, first, released)


def application(prepared: Prepared) -> Application:
    """Returns the Serve application: remote models, and behind one ingress the actors with their game ports.

    Raises:
      ConfigError: The config has no actor.
    """
    remote = {
        name: _bind_model(prepared, name)
        for name, model in prepared.config.models.items()
        if model.placement == "remote"
    }
    return _bind_actors(prepared, remote)


def declare_model(config: ExperimentConfig, name: str, module: nn.Module, trial: Trial) -> Arrays | None:
    """Declares a model to the weight store, starts the buffers behind it, and returns its checkpoint's weights."""
    fixed = config.run.mode == "deploy" and config.models[name].checkpoint is not None
    trial.weights(name).register(hash_of(module), fixed=fixed)
    if config.models[name].engine == "onnx":  # Once here, and not by all replicas at the same time.
        network_of(config.models[name], config.run.seed, trial.directory.info().home).make_engine()
    if config.run.mode == "train":
        for buffer in {a.buffer for a in config.agents.values() if a.model == name and a.buffer}:
            open_buffer(config, buffer, spec_of(module))
    return None if config.models[name].checkpoint is None else load_checkpoint(config, name, module)


def find_config(path: str) -> Path:
    """Returns where a config file lies: under the working directory, or beside this package."""
    here = Path(path)
    return here if here.is_absolute() or here.exists() else Path(__file__).parent.parent / path


def first_release(config: ExperimentConfig, name: str, source: ReleaseSource) -> tuple[int, Arrays]:
    """Returns the number and the weights of the version that a model's checkpoint names now.

    Raises:
      TrackingError: MLflow does not have it.
      VersionRefusedError: It cannot be played.
    """
    checkpoint = str(config.models[name].checkpoint)
    registry = ReleaseRegistry(source.uri, source.root, source.registered)
    named = registry.find(parts_of(checkpoint)[1])
    if named is None:
        raise TrackingError(f"models.{name}.checkpoint {checkpoint} names no version")
    saved = registry.load(named.number)
    arrays = fitting_arrays(saved, source.network)
    checked_engine(source.network, played_as(named.number), arrays)
    return named.number, arrays


def load_checkpoint(config: ExperimentConfig, name: str, module: nn.Module) -> Arrays:
    """Returns the weights of a model's checkpoint.

    Raises:
      CheckpointError: There is no such clone or checkpoint, or it is damaged.
      TrackingError: MLflow does not have it.
      ModelMismatchError: It is a checkpoint of another network.
    """
    own = config.models[name]
    saved = ModelSources(config, state_root(config.run.project)).read(str(own.checkpoint)).saved
    saved.check(hash_of(module), f"models.{name}.checkpoint {own.checkpoint}", own.factory)
    return saved.arrays


def _bind_model(prepared: Prepared, name: str) -> Application:
    run, model = prepared.config.run, prepared.config.models[name]
    deployment = deploy(ModelReplica).options(name=f"model-{name}", **model_options(model))
    info = prepared.trial.directory.info()
    local = all(is_loopback(actor.host) for actor in prepared.config.actors.values())
    latencies = prepared.config.metrics.timed(name)
    place = ModelPlace(info.home, info.cluster_secret, local, prepared.config.logs, latencies)
    return deployment.bind(model, name, prepared.trial.namespace, run.seed, prepared.first[name], place)


def _bind_actors(prepared: Prepared, remote: dict[str, Application]) -> Application:
    """Returns the first actor as the ingress; behind it stand the others, and the gateways, each with its own port."""
    service = prepared.trial.directory.info()
    ingress: Application | None = None
    for name, actor in reversed(prepared.config.actors.items()):
        namespace = prepared.trial.namespace
        args = ActorArgs(prepared.config, name, namespace, service, prepared.owner, prepared.first, prepared.released)
        if actor.use_gateway == "head":
            ingress = (
                deploy(GatewayReplica).options(name=f"gateway-{name}", **gateway_options(actor)).bind(args, ingress)
            )
        ingress = deploy(ActorReplica).options(name=f"actor-{name}", **actor_options(actor)).bind(args, remote, ingress)
    if ingress is None:
        mode = prepared.config.run.mode
        raise ConfigError(f"no actor is enabled in mode {mode}: nothing would answer; add one under actors")
    return ingress


def deploy(replica: type) -> serve.Deployment:
    """Returns the deployment of a replica class."""
    return cast("serve.Deployment", serve.deployment(replica))
