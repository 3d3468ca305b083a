"""What must hold where games wait for the trainer."""

from app.config.problems import Problems
from app.config.root import ExperimentConfig
from app.config.strategies import ElasticWorkers


def rollout_problems(config: ExperimentConfig) -> Problems:
    """Returns what would let games wait for ever, or play with other weights than they wait for."""
    waiting = {name for name, buffer in config.buffers.items() if buffer.rollouts == "wait"}
    problems: Problems = {}
    for name, agent in config.agents.items():
        if agent.buffer in waiting:
            problems |= _agent_problems(config, name, f"buffers.{agent.buffer}.rollouts is wait")
    for name, trainer in config.trainers.items():
        if not any(wanted.buffer in waiting for wanted in trainer.inputs):
            continue
        if isinstance(trainer.workers, ElasticWorkers):
            problems[f"trainers.{name}.workers"] = (
                f"games wait for a batch of each worker, got {trainer.workers.min} to {trainer.workers.max} of them, "
                "allowed: one number"
            )
        if trainer.publish_every_updates > 1:
            got = trainer.publish_every_updates
            problems[f"trainers.{name}.publish_every_updates"] = (
                f"games wait for the weights of each update, got {got}, allowed: 1"
            )
    return problems


def _agent_problems(config: ExperimentConfig, name: str, where: str) -> Problems:
    agent, problems = config.agents[name], {}
    if agent.blocking:
        problems[f"agents.{name}.blocking"] = f"{where}, got a blocking agent, allowed: blocking: false"
    model = None if agent.model is None else config.models.get(agent.model)
    if model is not None and model.placement != "local":
        problems[f"models.{agent.model}.placement"] = f"{where}, got {model.placement}, allowed: local"
    for actor, played in config.actors.items():
        if name in played.agents and played.autoscaling is not None:
            problems[f"actors.{actor}.autoscaling"] = f"{where}, allowed: a fixed number of replicas"
    return problems
