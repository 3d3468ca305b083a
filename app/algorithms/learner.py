"""One update of PPO on flat rows, the same on one worker and on many."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from app.algorithms.gae import gae
from app.algorithms.ppo import PpoBatch, PpoCoefficients, PpoLoss, ppo_loss
from app.errors import NonFiniteLossError
from app.models.columns import mask_columns, nested_parts
from app.models.distributions.action import log_prob_and_entropy
from app.models.module import call
from app.models.spec import ModelSpec

ReduceSum = Callable[[Tensor], Tensor]
"""Adds a tensor up over all workers; the identity where there is but one."""


@dataclass(frozen=True, slots=True)
class PpoSettings:
    """How a batch is learned from."""

    gamma: float
    gae_lambda: float
    coefficients: PpoCoefficients
    epochs: int
    minibatches: int
    """Optimizer steps of one epoch, the same on all workers."""
    max_grad_norm: float


class Rows(NamedTuple):
    """The rows that count, and what they were worth."""

    observation: list[Tensor]
    """By leaves, each [N, …]."""
    action: list[Tensor]
    """By leaves, each [N, …]."""
    mask: list[Tensor | None]
    """By leaves of the action, each bool [N, choices]; None where there are no choices."""
    batch: PpoBatch

    def at(self, rows: Tensor) -> "Rows":
        """Returns these rows alone."""
        return Rows(
            [leaf[rows] for leaf in self.observation],
            [leaf[rows] for leaf in self.action],
            [None if leaf is None else leaf[rows] for leaf in self.mask],
            PpoBatch(*(column[rows] for column in self.batch)),
        )


class PpoLearner:
    """Holds the network and its optimizer."""

    def __init__(
        self,
        module: nn.Module,
        spec: ModelSpec,
        optimizer: Optimizer,
        settings: PpoSettings,
        workers: int,
        reduce_sum: ReduceSum,
    ) -> None:
        """Makes a learner.

        Args:
          module: The network; where there are several workers, one that averages gradients over them.
          spec: The network's shapes.
          optimizer: Of the network's parameters.
          settings: How a batch is learned from.
          workers: Number of workers.
          reduce_sum: Adds up over the workers.

        Raises:
          ValueError: The model is no policy, or carries a state, which this learner does not unroll.
        """
        if not spec.is_policy or len(spec.states):
            raise ValueError("PPO learns policies without a state; the model is none, or its spec has a state")
        self._spec = spec
        self._columns = {name: part.columns(name) for name, part in nested_parts(spec).items()}
        self._module = module
        self._optimizer = optimizer
        self._settings = settings
        self._workers = workers
        self._reduce_sum = reduce_sum

    def update(self, batch: Mapping[str, Tensor], shuffle: torch.Generator) -> dict[str, float]:
        """Learns from a batch and returns metrics; none where no row counts on any worker.

        Values are recomputed with the present network; the log-probability stored with each row is the ratio's base.

        Args:
          batch: Columns of ``app.replay.rows``, [N, …]; rows of weight 0 are not learned from.
          shuffle: Draws the minibatches.

        Raises:
          NonFiniteLossError: A loss or gradient is NaN or infinite; the step that would have spread it was not taken.
        """
        rows, explained = self._rows(batch)
        total = torch.zeros(len(PpoLoss._fields))
        norm_sum, steps = 0.0, 0
        for _ in range(self._settings.epochs):
            chunks = self._chunks(len(rows.batch.weight), shuffle)
            sizes = self._reduce_sum(torch.tensor([float(len(chunk)) for chunk in chunks]))
            for chunk, size in zip(chunks, sizes.tolist(), strict=True):
                if size == 0:
                    continue  # On all workers alike: the size is that of all of them.
                loss, norm = self._step(rows, chunk, size)
                total += torch.stack([part.detach().cpu() for part in loss]) / size
                norm_sum, steps = norm_sum + norm, steps + 1
        if steps == 0:
            return {}
        mean = dict(zip(PpoLoss._fields, (self._reduce_sum(total) / steps).tolist(), strict=True))
        return {f"loss_{name}": mean[name] for name in ("total", "policy", "value")} | {
            "entropy": mean["entropy"],
            "clip_fraction": mean["clipped"],
            "kl": mean["kl"],
            "grad_norm": norm_sum / steps,
            "explained_variance": explained,
            "optimizer_steps": float(steps),
        }

    def _rows(self, batch: Mapping[str, Tensor]) -> tuple[Rows, float]:
        """Returns the rows that count with normalised advantages, and how much of the returns the value explains."""
        with torch.no_grad():
            value = self._forward([batch[name] for name in self._columns["observation"]])[-1]
        value_cpu = value.float().cpu()
        advantage = torch.from_numpy(
            gae(
                batch["reward"].cpu().numpy(),
                value_cpu.numpy(),
                batch["kind"].cpu().numpy(),
                self._settings.gamma,
                self._settings.gae_lambda,
            )
        )
        counted = torch.nonzero(batch["weight"].cpu() > 0).squeeze(1)
        advantage, value_cpu = advantage[counted], value_cpu[counted]
        target = advantage + value_cpu
        # In float64: in float32 nothing would be left of a small spread around a large mean.
        a, t = advantage.double(), target.double()
        moments = torch.stack([torch.ones_like(a), a, a.square(), t, t.square()]).sum(1)
        count, mean, square, target_mean, target_square = _means(self._reduce_sum(moments))
        deviation = math.sqrt(max(square - mean**2, 0.0))
        variance = max(target_square - target_mean**2, 0.0)
        explained = 1 - square / variance if count and variance > 0 else 0.0
        device = batch["reward"].device
        counted = counted.to(device)
        ppo = PpoBatch(
            behaviour_log_prob=batch["log_prob"][counted],
            advantage=((advantage - mean) / (deviation + 1e-8)).to(device),
            target_value=target.to(device),
            weight=batch["weight"][counted],
        )
        masked = mask_columns(self._spec)
        masks = [batch[name][counted] > 0 if name in masked else None for name in self._columns["action_mask"]]
        observation, action = ([batch[n][counted] for n in self._columns[what]] for what in ("observation", "action"))
        return Rows(observation, action, masks, ppo), explained

    def _forward(self, observation: list[Tensor]) -> list[Tensor]:
        """Returns the inputs of the action's distribution by leaves, and the value behind them."""
        return call(self._module, self._spec, observation, [])[0]

    def _chunks(self, rows: int, shuffle: torch.Generator) -> list[Tensor]:
        """Splits a permutation of the rows into as many minibatches as every worker makes; some may be empty."""
        return list(torch.randperm(rows, generator=shuffle).tensor_split(self._settings.minibatches))

    def _step(self, rows: Rows, chunk: Tensor, size: float) -> tuple[PpoLoss, float]:
        """Takes one optimizer step on a minibatch of ``size`` rows over all workers."""
        part = rows.at(chunk.to(rows.batch.weight.device))
        *dist_inputs, value = self._forward(part.observation)
        log_prob, entropy = log_prob_and_entropy(self._spec.actions, dist_inputs, part.action, part.mask)
        loss = ppo_loss(log_prob, entropy, value, part.batch, self._settings.coefficients)
        self._optimizer.zero_grad(set_to_none=True)
        (loss.total * self._workers / size).backward()  # type: ignore[no-untyped-call]
        norm = float(nn.utils.clip_grad_norm_(self._module.parameters(), self._settings.max_grad_norm))
        if not math.isfinite(norm):
            raise NonFiniteLossError(_diagnosis(loss, norm))
        self._optimizer.step()
        return loss, norm


def _means(sums: Tensor) -> list[float]:
    count, *rest = sums.tolist()
    return [count, *(x / count if count else 0.0 for x in rest)]


def _diagnosis(loss: PpoLoss, norm: float) -> str:
    terms = ", ".join(f"{name} {value.item():g}" for name, value in zip(PpoLoss._fields, loss, strict=True))
    return (
        f"the gradient norm is {norm:g} (sums over the minibatch: {terms}); the weights before this step are good. "
        "Look for rewards or observations without bound, or lower trainers.<name>.optimizer.learning_rate"
    )
