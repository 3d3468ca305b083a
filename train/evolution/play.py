"""What one task does: perturbs the weights by seeds and plays games with each candidate."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

from app.algorithms.evolution import noise
from app.errors import TrainingError
from app.models.depending import acting_parameters
from app.models.distributions.action import act
from app.models.module import build_module, call, from_arrays, spec_of
from app.models.spec import ModelSpec
from app.types import Arrays


class Candidate(NamedTuple):
    """Weights as what is added to the present ones."""

    seed: int = 0
    """Of the noise."""
    scale: float = 0.0
    """What the noise is multiplied by; 0 leaves the weights as they are."""


PRESENT: Final = Candidate()
"""The weights themselves."""


@dataclass(frozen=True, slots=True)
class Job:
    """What all tasks of one update have in common."""

    factory: str
    """What builds the network."""
    kwargs: Mapping[str, Any]
    arrays: Arrays
    """The present weights and buffers."""
    env: str
    """Gymnasium id."""
    episode_ticks: int | None
    """Ticks after which a game is cut; None: the environment's own limit."""


class Share(NamedTuple):
    """What one task plays: each of the games with each of the candidates."""

    candidates: tuple[Candidate, ...]
    game_seeds: tuple[int, ...]


class Played(NamedTuple):
    """What came of a share."""

    returns: tuple[tuple[float, ...], ...]
    """Of each candidate, by game."""
    ticks: int


def play(job: Job, share: Share) -> Played:
    """Plays a share in this process, greedily, and returns its returns; equal arguments give equal returns.

    Raises:
      PluginError: The network cannot be built.
      TrainingError: There is no such environment, it does not fit the network, or a return is not finite.
    """
    torch.set_num_threads(1)
    module = build_module(job.factory, job.kwargs, 0).eval()
    from_arrays(module, job.arrays)
    parameters = acting_parameters(module)
    present = nn.utils.parameters_to_vector(parameters).detach()
    env = _environment(job)
    returns, ticks = [], 0
    try:
        for candidate in share.candidates:
            nn.utils.vector_to_parameters(_moved(present, candidate), parameters)
            games = [_game(module, env, job.env, seed) for seed in share.game_seeds]
            returns.append(tuple(total for total, _ in games))
            ticks += sum(length for _, length in games)
    finally:
        env.close()
    return Played(tuple(returns), ticks)


def _moved(present: Tensor, candidate: Candidate) -> Tensor:
    if candidate.scale == 0:
        return present.clone()
    return present + candidate.scale * torch.from_numpy(noise(candidate.seed, present.numel()))


def _environment(job: Job) -> gymnasium.Env[Any, Any]:
    try:  # The checker looks at each tick, which takes longer than the tick itself.
        return gymnasium.make(job.env, max_episode_steps=job.episode_ticks, disable_env_checker=True)
    except (gymnasium.error.Error, ImportError) as error:
        raise TrainingError(f"evolution.env is {job.env}, which cannot be made: {error}") from error


def _game(module: nn.Module, env: gymnasium.Env[Any, Any], name: str, seed: int) -> tuple[float, int]:
    """Returns the return of one game and its length in ticks."""
    spec = spec_of(module)
    greedy = np.full((1, spec.draws), np.nan)
    observation, _ = env.reset(seed=seed)
    _check(spec, observation, name)
    states, total, ticks, over = _zeros(spec, "states"), 0.0, 0, False
    with torch.inference_mode():
        while not over:
            outputs, states = call(module, spec, _tensors(spec, observation), states)
            inputs = [x.float().numpy() for x in outputs[: len(spec.actions.leaves)]]
            actions = act(spec.actions, inputs, greedy, [None] * len(inputs)).actions
            observation, reward, terminated, truncated, _ = env.step(spec.actions.unflatten([x[0] for x in actions]))
            total, ticks, over = total + float(reward), ticks + 1, terminated or truncated
    if not math.isfinite(total):
        raise TrainingError(f"a game of {name} with seed {seed} returned {total}; allowed are finite rewards")
    return total, ticks


def _check(spec: ModelSpec, observation: object, name: str) -> None:
    """Refuses an environment whose observations are not what the network takes."""
    wanted = [leaf.shape for leaf in spec.inputs.leaves]
    try:
        got: Sequence[object] = [np.shape(leaf) for leaf in spec.inputs.flatten(observation)]
    except (ValueError, TypeError) as error:
        raise TrainingError(f"{name} observes something nested otherwise than the network takes: {error}") from error
    if got != wanted:
        raise TrainingError(f"{name} observes arrays of the shapes {got}; the network takes {wanted}")


def _tensors(spec: ModelSpec, observation: object) -> list[Tensor]:
    leaves = zip(spec.inputs.flatten(observation), spec.inputs.leaves, strict=True)
    return [torch.from_numpy(np.asarray(leaf, part.numpy_dtype)[None]) for leaf, part in leaves]


def _zeros(spec: ModelSpec, part: str) -> list[Tensor]:
    leaves = spec.inputs.leaves if part == "inputs" else spec.states.leaves
    return [torch.from_numpy(np.zeros((1, *leaf.shape), leaf.dtype)) for leaf in leaves]
