"""From a trainer's config to its optimizer and learner."""

import torch
from torch import nn

from app.algorithms.learner import PpoLearner, PpoSettings, ReduceSum
from app.algorithms.ppo import PpoCoefficients
from app.config.training import TrainerConfig
from app.models.spec import ModelSpec


def make_optimizer(trainer: TrainerConfig, module: nn.Module) -> torch.optim.Optimizer:
    """Returns the optimizer of the module's parameters."""
    settings = trainer.optimizer
    return torch.optim.Adam(module.parameters(), settings.learning_rate, eps=settings.epsilon, fused=True)


def make_learner(
    trainer: TrainerConfig,
    module: nn.Module,
    spec: ModelSpec,
    optimizer: torch.optim.Optimizer,
    workers: int,
    reduce_sum: ReduceSum,
) -> PpoLearner:
    """Returns the learner of the trainer's one input.

    Args:
      trainer: Its config.
      module: The network; where there are several workers, one that averages gradients over them.
      spec: The network's shapes.
      optimizer: Of the network's parameters.
      workers: Number of workers.
      reduce_sum: Adds a tensor up over them.
    """
    wanted = trainer.inputs[0]
    ppo = wanted.algorithm
    settings = PpoSettings(
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        coefficients=PpoCoefficients(ppo.clip_epsilon, ppo.value_coef, ppo.entropy_coef),
        epochs=ppo.epochs,
        minibatches=max(1, wanted.batch_rows // ppo.minibatch_rows),
        max_grad_norm=trainer.optimizer.max_grad_norm,
    )
    return PpoLearner(module, spec, optimizer, settings, workers, reduce_sum)
