"""From a trainer's config to its learner."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from torch import nn

from app.algorithms.adversarial import Adversarial, Adversary
from app.algorithms.contract import Learner
from app.algorithms.critic_learner import CriticLearner
from app.algorithms.custom import Training, custom_learner
from app.algorithms.descent import ReduceSum
from app.algorithms.learner import PolicyLearner
from app.algorithms.q_learner import QLearner
from app.algorithms.rewards import Rewarded
from app.algorithms.stepper import Stepper, Still
from app.algorithms.trpo import TrpoLearner
from app.config.algorithms import Algorithm, CustomAlgorithm, Gail, asks_parts
from app.config.from_trajectories import FromTrajectories, Online
from app.config.off_policy import Cql, Ddpg, Dqn, Iql, Sac, Td3
from app.config.root import ExperimentConfig
from app.config.training import TrainerConfig, TrainInput
from app.config.trust_region import Trpo
from app.models.module import spec_of
from app.models.spec import ModelSpec
from app.sources.opening import open_held_out
from train.held_out import HeldOut
from train.learner_settings import (
    adversarial_settings,
    critic_settings,
    policy_settings,
    q_settings,
    reward_settings,
    sequence_settings,
    trpo_settings,
)
from train.learners import Learners
from train.strategies.strategy import MakeLearner, Trained
from train.together import Shared


def make_learners(
    trainer: TrainerConfig,
    trained: Trained,
    spec: ModelSpec,
    teachers: Mapping[int, nn.Module] = MappingProxyType({}),
    adversaries: Mapping[int, Adversary] = MappingProxyType({}),
) -> Learners:
    """Returns the learners of a trainer's inputs.

    Args:
      trainer: Its config.
      trained: The network, and what changes it.
      spec: The network's shapes.
      teachers: Frozen networks by the places of the inputs whose algorithms name one.
      adversaries: Experts, and what tells them apart, likewise.

    Raises:
      ValueError: An algorithm cannot train such a model.
    """
    makes = [
        partial(make_learner, one, spec, teacher=teachers.get(at), adversary=adversaries.get(at))
        for at, one in enumerate(trainer.inputs)
    ]
    if trainer.mixing.steps == "in_turn" or len(trainer.inputs) == 1:
        return Learners([trained.learner(make) for make in makes])
    steppers: list[Shared] = []

    def together(make_one: MakeLearner, weight: float) -> MakeLearner:
        def make(module: nn.Module, stepper: Stepper, workers: int, reduce_sum: ReduceSum) -> Learner:
            steppers.append(Shared(stepper, weight))
            return make_one(module, steppers[-1], workers, reduce_sum)

        return make

    inputs = zip(makes, trainer.inputs, strict=True)
    return Learners([trained.learner(together(make, one.weight)) for make, one in inputs], steppers)


def make_held_out(
    config: ExperimentConfig, trainer: TrainerConfig, trained: Trained, module: nn.Module
) -> list[HeldOut]:
    """Returns what measures the losses of those inputs whose sources have set rows aside.

    Args:
      config: With the components of its mode.
      trainer: Its config.
      trained: The network, and what changes it.
      module: The network itself.

    Raises:
      SourceError: The rows cannot be found.
      PluginError: A function that preprocesses them cannot be imported.
    """
    settings, spec, found = trainer.evaluation, spec_of(module), []
    for one in trainer.inputs:
        if settings is None or one.source is None or asks_parts(one.algorithm):
            continue
        aside = open_held_out(config, one.source, spec)
        if aside is None:
            continue
        whole = {"minibatch_rows": one.batch_rows}
        once = {"epochs": 1} if isinstance(one.algorithm, FromTrajectories) else {}
        free = {"teacher": None, "first_policy_coef": 0.0} if isinstance(one.algorithm, Online) else {}
        alone = one.model_copy(update={"algorithm": one.algorithm.model_copy(update=whole | once | free)})

        def make(
            called: nn.Module, _: Stepper, workers: int, reduce_sum: ReduceSum, alone: TrainInput = alone
        ) -> Learner:
            return make_learner(alone, spec, called, Still(), workers, reduce_sum)

        learner = trained.learner(make)
        found.append(HeldOut(one.source, module, learner, aside, one.batch_rows, settings.held_out_batches))
    return found


def make_learner(
    wanted: TrainInput,
    spec: ModelSpec,
    module: nn.Module,
    stepper: Stepper,
    workers: int,
    reduce_sum: ReduceSum,
    teacher: nn.Module | None = None,
    adversary: Adversary | None = None,
) -> Learner:
    """Returns the learner of an input.

    Args:
      wanted: Its config.
      spec: The network's shapes.
      module: The network; where there are several workers, one that averages gradients over them.
      stepper: Changes the network's parameters.
      workers: Number of workers.
      reduce_sum: Adds a tensor up over them.
      teacher: Frozen network that the algorithm's ``teacher`` names; None where it names none.
      adversary: Its expert, and what tells the two apart; None where it has none.

    Raises:
      ValueError: The algorithm cannot train such a model, or its expert is missing.
    """
    learner = learner_of(wanted.algorithm, wanted.batch_rows, module, spec, stepper, workers, reduce_sum, teacher)
    rewards = reward_settings(wanted, spec.rewards)
    if rewards is not None:
        learner = Rewarded(learner, spec, rewards, reduce_sum)
    if not isinstance(wanted.algorithm, Gail):
        return learner
    if adversary is None:
        raise ValueError(f"gail learns from the games of {wanted.algorithm.expert!r}, got none of their rows")
    minibatches = max(1, wanted.batch_rows // wanted.algorithm.minibatch_rows)
    settings = adversarial_settings(wanted.algorithm, minibatches)
    return Adversarial(learner, spec, adversary, settings, workers, reduce_sum)


def learner_of(
    algorithm: Algorithm,
    batch_rows: int,
    module: nn.Module,
    spec: ModelSpec,
    stepper: Stepper,
    workers: int,
    reduce_sum: ReduceSum,
    teacher: nn.Module | None = None,
) -> Learner:
    """Returns the learner of one algorithm.

    Args:
      algorithm: Its config.
      batch_rows: Rows of one batch of one worker.
      module: The network; where there are several workers, one that averages gradients over them.
      spec: The network's shapes.
      stepper: Changes the network's parameters.
      workers: Number of workers.
      reduce_sum: Adds a tensor up over them.
      teacher: Frozen network that the algorithm's ``teacher`` names; None where it names none.

    Raises:
      PluginError: The factory of a custom algorithm is missing or returns no learner.
      ValueError: The algorithm cannot train such a model.
    """
    minibatches = max(1, batch_rows // algorithm.minibatch_rows)
    match algorithm:
        case Dqn() | Cql():
            return QLearner(module, spec, stepper, q_settings(algorithm, minibatches), workers, reduce_sum)
        case Sac() | Td3() | Ddpg() | Iql():
            criticised = critic_settings(algorithm, minibatches)
            return CriticLearner(module, spec, stepper, criticised, workers, reduce_sum)
        case Trpo():
            return TrpoLearner(
                module, spec, stepper, trpo_settings(algorithm, minibatches, spec.rewards), workers, reduce_sum
            )
        case CustomAlgorithm():
            sequences = sequence_settings(algorithm)
            training = Training(module, spec, stepper, minibatches, workers, reduce_sum, sequences)
            return custom_learner(algorithm.factory, algorithm.kwargs, training)
        case _:
            settings = policy_settings(algorithm, minibatches, spec.rewards)
            return PolicyLearner(module, spec, stepper, settings, workers, reduce_sum, teacher)
