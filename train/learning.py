"""From a trainer's config to its learner."""

from torch import nn

from app.algorithms.actor_critic import ActorCritic
from app.algorithms.contract import Learner
from app.algorithms.descent import ReduceSum
from app.algorithms.estimators import Estimator, Gae, VTrace
from app.algorithms.imitation import Cloning
from app.algorithms.learner import PolicyLearner, PolicySettings
from app.algorithms.passes import SequenceSettings
from app.algorithms.ppo import ClippedPolicy
from app.algorithms.stepper import Stepper
from app.algorithms.vtrace import Clips
from app.algorithms.worth import PolicyLoss
from app.config.algorithms import A2c, Appo, Bc, Impala, Marwil, Ppo, TrajectoryAlgorithm
from app.config.training import TrainerConfig
from app.models.spec import ModelSpec


def make_learner(
    trainer: TrainerConfig,
    spec: ModelSpec,
    module: nn.Module,
    stepper: Stepper,
    workers: int,
    reduce_sum: ReduceSum,
) -> Learner:
    """Returns the learner of the trainer's one input.

    Args:
      trainer: Its config.
      spec: The network's shapes.
      module: The network; where there are several workers, one that averages gradients over them.
      stepper: Changes the network's parameters.
      workers: Number of workers.
      reduce_sum: Adds a tensor up over them.
    """
    wanted = trainer.inputs[0]
    algorithm = wanted.algorithm
    minibatches = max(1, wanted.batch_rows // algorithm.minibatch_rows)
    return PolicyLearner(module, spec, stepper, policy_settings(algorithm, minibatches), workers, reduce_sum)


def policy_settings(algorithm: TrajectoryAlgorithm, minibatches: int) -> PolicySettings:
    """Returns how an algorithm learns from rows of trajectories.

    Args:
      algorithm: Its config.
      minibatches: Optimizer steps of one epoch.
    """
    return PolicySettings(
        estimator=_estimator(algorithm),
        loss=_loss(algorithm),
        normalise=isinstance(algorithm, Ppo | Appo) or (isinstance(algorithm, A2c) and algorithm.normalise_advantage),
        epochs=algorithm.epochs,
        minibatches=minibatches,
        sequences=SequenceSettings(algorithm.sequence_ticks, algorithm.burn_in_ticks),
        largest_kl=algorithm.largest_kl if isinstance(algorithm, Ppo | Appo) else None,
        running_scale=algorithm.scale_share if isinstance(algorithm, Marwil) else None,
    )


def _estimator(algorithm: TrajectoryAlgorithm) -> Estimator:
    if isinstance(algorithm, Impala | Appo):
        clips = Clips(rho=algorithm.rho_clip, c=algorithm.c_clip)
        return VTrace(algorithm.gamma, algorithm.trace_lambda, clips)
    return Gae(algorithm.gamma, algorithm.gae_lambda)


def _loss(algorithm: TrajectoryAlgorithm) -> PolicyLoss:
    match algorithm:
        case Ppo() | Appo():
            return ClippedPolicy(
                algorithm.clip_epsilon, algorithm.value_coef, algorithm.entropy_coef, algorithm.dual_clip,
                algorithm.value_clip,
            )  # fmt: skip
        case A2c() | Impala():
            return ActorCritic(algorithm.value_coef, algorithm.entropy_coef)
        case Marwil():
            scale, largest = algorithm.advantage_scale, algorithm.largest_weight
            return Cloning(scale, largest, algorithm.value_coef, algorithm.entropy_coef)
        case Bc():
            return Cloning(0.0, 1.0, algorithm.value_coef, algorithm.entropy_coef)
