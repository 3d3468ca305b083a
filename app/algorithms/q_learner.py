"""Q-learning on transitions, with all that the network says of itself: dueling, noisy, C51 or quantiles."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from app.algorithms.batch_columns import Batch, BatchColumns, at, masks_at
from app.algorithms.contract import Learned, taken
from app.algorithms.descent import Descent, ReduceSum
from app.algorithms.distributional import c51_loss, project, quantile_loss
from app.algorithms.dqn import QLoss, Transitions, double_q_target, greedy, q_loss
from app.algorithms.imitation import conservative_penalty
from app.algorithms.minibatches import minibatches
from app.algorithms.normalising import observe, unwrapped
from app.algorithms.schedules import Line
from app.algorithms.single_steps import are_trajectories, single_steps
from app.algorithms.stepper import Stepper
from app.algorithms.target_network import Target, TargetSettings
from app.models.action_values import ValuesActions, values_problem
from app.models.spec import ModelSpec


@dataclass(frozen=True, slots=True)
class QSettings:
    """How a batch is learned from."""

    target: TargetSettings
    double: bool
    """Whether the trained network chooses the action that the target network values."""
    huber_delta: float
    """Error from which on the loss grows linearly."""
    epsilon: Line
    """Chance of a random action: how games explore."""
    minibatches: int
    """Optimizer steps of an update, the same on all workers."""
    gamma: float = 0.99
    """Discount per tick, where batches are trajectories; transitions bring their own."""
    conservative_coef: float = 0.0
    """Weight of the penalty of CQL; 0 believes in what nobody did."""


class QLearner:
    """Learns values of actions from transitions, whoever played them."""

    def __init__(
        self,
        module: nn.Module,
        spec: ModelSpec,
        stepper: Stepper,
        settings: QSettings,
        workers: int,
        reduce_sum: ReduceSum,
    ) -> None:
        """Makes a learner, and sets the network's first chance of a random action.

        Args:
          module: See ``ValuesActions``; where there are several workers, one that averages gradients over them.
          spec: The network's shapes.
          stepper: Changes the network's parameters.
          settings: How a batch is learned from.
          workers: Number of workers.
          reduce_sum: Adds up over the workers.

        Raises:
          ValueError: It cannot learn such a model.
        """
        inner = unwrapped(module)
        if problem := values_problem(inner, spec):
            raise ValueError(f"a Q learner cannot train the model: {problem}")
        self._module = module
        self._online = inner
        self._values = cast("ValuesActions", inner)
        self._target = Target(inner, settings.target)
        self._spec = spec
        self._columns = BatchColumns(spec)
        self._stepper = stepper
        self._settings = settings
        self._workers = workers
        self._reduce_sum = reduce_sum
        self._updates = 0
        self._explore()

    def update(self, batch: Mapping[str, Tensor], shuffle: torch.Generator) -> Learned:
        """Learns from a batch; see ``Learner``. Priorities are the sizes of the errors, 0 for rows that do not count.

        Args:
          batch: Columns of ``app.replay.n_step``, [N, …]; ``weight`` is the importance weight, 0 where a row does not
            count. Or whole trajectories, columns of ``app.replay.rows``: then their single steps, without priorities.
          shuffle: Draws the minibatches, and the noise of noisy layers.

        Raises:
          NonFiniteLossError: A loss or gradient is NaN or infinite; the step that would have spread it was not taken.
        """
        was_cut = not are_trajectories(batch)
        batch = batch if was_cut else single_steps(batch, self._settings.gamma)
        observe(self._module, self._columns.leaves(batch, "observation"), batch["weight"], self._reduce_sum)
        descent = Descent(self._stepper, self._workers, self._reduce_sum)
        priorities = torch.zeros_like(batch["weight"])
        for rows, size in minibatches(batch, self._settings.minibatches, shuffle, self._reduce_sum):
            self._values.draw_noise(shuffle)
            cast("ValuesActions", self._target.network).draw_noise(shuffle)
            terms, error = self._terms(batch, rows)
            descent.step(terms, size)
            self._target.follow_step()
            priorities[rows] = error.abs()
        metrics = descent.metrics()
        if not metrics:
            return Learned({})
        self._updates += 1
        self._target.follow_update(self._updates)
        self._explore()
        return Learned(metrics | {"epsilon": float(self._values.epsilon)}, priorities.cpu() if was_cut else None)

    def state_dict(self) -> dict[str, Tensor]:
        """Returns the target network, and the updates done, by which games explore."""
        return self._target.state_dict() | {"updates": torch.tensor(self._updates)}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from a state; see ``Learner``."""
        fitting = taken(state, self.state_dict(), "a Q learner")
        self._target.load_state_dict(fitting)
        self._updates = int(fitting["updates"])
        self._explore()

    def _explore(self) -> None:
        self._values.epsilon.fill_(self._settings.epsilon.at(self._updates))

    def _terms(self, batch: Batch, rows: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        (action,) = at(self._columns.leaves(batch, "action"), rows)
        played = Transitions(action, batch["reward"][rows], batch["discount"][rows], batch["weight"][rows])
        returns_tm1 = self._returns(self._module, batch, rows)
        loss = self._loss(returns_tm1, batch, rows, played)
        values = self._values.expected(returns_tm1)
        (mask,) = masks_at(self._columns.masks(batch), rows)
        counts = torch.ones_like(played.weight)
        best = values.detach() if mask is None else values.detach().masked_fill(~mask, -torch.inf)
        terms = {"total": loss.total, "q": best.max(-1).values.sum(), "error": loss.error.abs().sum()}
        if self._settings.conservative_coef:
            penalty = conservative_penalty(values, action, counts, mask)
            terms["total"] = loss.total + self._settings.conservative_coef * penalty
            terms["conservative"] = penalty
        return terms, loss.error

    def _loss(self, returns_tm1: Tensor, batch: Batch, rows: Tensor, played: Transitions) -> QLoss:
        with torch.no_grad():
            returns_t = self._returns(self._target.network, batch, rows, "next_")
            values_t = self._values.expected(returns_t)
            chosen_by = values_t
            if self._settings.double:
                chosen_by = self._values.expected(self._returns(self._online, batch, rows, "next_"))
            (mask_t,) = masks_at(self._columns.masks(batch, "next_"), rows)
            best = returns_t[torch.arange(len(rows), device=rows.device), greedy(chosen_by, mask_t)]
        if self._values.returns == "categorical":
            target = project(best.softmax(-1), played, self._values.support)
            return c51_loss(returns_tm1, played, target, self._values.support)
        if self._values.returns == "quantile":
            return quantile_loss(returns_tm1, played, best, self._settings.huber_delta)
        target = double_q_target(played, chosen_by, values_t, mask_t)
        return q_loss(returns_tm1.squeeze(-1), played, target, self._settings.huber_delta)

    def _returns(self, network: nn.Module, batch: Batch, rows: Tensor, prefix: str = "") -> Tensor:
        """Returns the returns of all actions, [M, A, atoms], in the states of these rows."""
        leaves = at(self._columns.leaves(batch, "observation", prefix), rows)
        found: Tensor = network(self._spec.inputs.unflatten(leaves), returns=True)
        return found
