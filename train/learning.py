"""From a trainer's config to its learner."""

from torch import nn

from app.algorithms.actor_critic import ActorCritic
from app.algorithms.contract import Learner
from app.algorithms.estimators import Estimator, Gae, VTrace
from app.algorithms.learner import PolicyLearner, PolicySettings, ReduceSum
from app.algorithms.ppo import ClippedPolicy
from app.algorithms.stepper import Stepper
from app.algorithms.vtrace import Clips
from app.algorithms.worth import PolicyLoss
from app.config.algorithms import A2c, Algorithm, Appo, Ppo
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
    settings = PolicySettings(
        estimator=_estimator(algorithm),
        loss=_loss(algorithm),
        normalise=isinstance(algorithm, Ppo | Appo) or (isinstance(algorithm, A2c) and algorithm.normalise_advantage),
        epochs=algorithm.epochs,
        minibatches=max(1, wanted.batch_rows // algorithm.minibatch_rows),
    )
    return PolicyLearner(module, spec, stepper, settings, workers, reduce_sum)


def _estimator(algorithm: Algorithm) -> Estimator:
    if isinstance(algorithm, Ppo | A2c):
        return Gae(algorithm.gamma, algorithm.gae_lambda)
    return VTrace(algorithm.gamma, algorithm.trace_lambda, Clips(rho=algorithm.rho_clip, c=algorithm.c_clip))


def _loss(algorithm: Algorithm) -> PolicyLoss:
    if isinstance(algorithm, Ppo | Appo):
        return ClippedPolicy(algorithm.clip_epsilon, algorithm.value_coef, algorithm.entropy_coef)
    return ActorCritic(algorithm.value_coef, algorithm.entropy_coef)
