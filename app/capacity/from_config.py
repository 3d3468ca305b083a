"""Reads the settings of a model and of training from a config file."""

from dataclasses import replace

from app.capacity.workload import Learning, Workload
from app.config.active import active
from app.config.root import ExperimentConfig
from app.config.serving import ActorConfig
from app.config.strategies import DeepSpeed
from app.config.training import TrainerConfig, TrainInput
from app.errors import PlanError


def with_config(workload: Workload, config: ExperimentConfig) -> Workload:
    """Returns a workload with what a config says of its first actor, that actor's model, and the model's trainer.

    What no config holds stays: games, rates, sizes, and which figures stand for the network.

    Raises:
      PlanError: The config has no actor, or its trainer learns from no buffer.
    """
    part = active(config)
    if not part.actors:
        raise PlanError(f"the config has no actor in mode {config.run.mode}: there is nothing to plan")
    actor = next(iter(part.actors.values()))
    names = [part.agents[name].model for name in actor.agents if name in part.agents]
    name = next((model for model in names if model is not None), None)
    found = replace(workload, snapshot_every_ticks=actor.snapshot_every_ticks, learning=None)
    if name is None:
        return replace(found, model=replace(workload.model, name="none"))
    model = part.models[name]
    found = replace(found, model=replace(workload.model, placement=model.placement, max_rows=model.batching.max_rows))
    trainers = [trainer for trainer in part.trainers.values() if trainer.model == name]
    if not trainers:
        return found
    return replace(found, learning=_learning(workload.learning or Learning(), trainers[0], actor, part))


def _learning(learning: Learning, trainer: TrainerConfig, actor: ActorConfig, config: ExperimentConfig) -> Learning:
    fed = next((one for one in trainer.inputs if one.buffer is not None), None)
    if fed is None or fed.buffer is None:
        raise PlanError("the config's trainer learns from no buffer: games send it no rows, plan without a trainer")
    return replace(
        learning,
        strategy=_strategy(trainer),
        batch_rows=fed.batch_rows,
        epochs=_epochs(fed),
        unroll_ticks=actor.unroll_ticks or learning.unroll_ticks,
        push_rows=actor.push_rows,
        push_ms=actor.push_ms,
        credits_batches=config.buffers[fed.buffer].credits_batches,
        publish_every_updates=trainer.publish_every_updates,
        max_policy_lag=config.buffers[fed.buffer].max_policy_lag,
    )


def _strategy(trainer: TrainerConfig) -> str:
    """Returns the name that ``sparring bench learner`` knows a strategy by."""
    strategy = trainer.strategy
    return f"deepspeed_{strategy.stage}" if isinstance(strategy, DeepSpeed) else strategy.kind


def _epochs(fed: TrainInput) -> int:
    return int(getattr(fed.algorithm, "epochs", 1))  # What has none goes over a batch once.
