"""Who plays one side of games in this process: a network, or a script."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import nn

from app.models.content import content_hash
from app.models.distributions.action import draws_of
from app.models.module import hash_of, spec_of, to_arrays
from app.models.question import GREEDY, Decision, Question, decisions, prepare, stacked
from app.models.torch_engine import TorchEngine
from app.types import Version

Observations = Sequence[NDArray[np.float32]]
Masks = Sequence[NDArray[np.bool_] | None]


class Player(Protocol):
    """Decides for the sides that ask."""

    def actions(self, observations: Observations, masks: Masks, rng: np.random.Generator) -> list[int]:
        """Returns an action for each."""


class Network:
    """Plays what a network says, drawn or the most probable."""

    def __init__(self, module: nn.Module, *, greedy: bool = False) -> None:
        self.module, self._greedy = module, greedy
        self.spec = spec_of(module)
        self._engine = TorchEngine(module)
        self._engine.swap(Version(1, 0), module)

    def frozen(self) -> "Network":
        """Returns a player with the weights of now, which nothing changes."""
        return Network(deepcopy(self.module))

    def content_hash(self) -> str:
        """Returns what the weights are, as one hash."""
        return content_hash(to_arrays(self.module), hash_of(self.module))

    def logits(self, observations: NDArray[np.float32]) -> NDArray[np.generic]:
        """Returns those of each observation, [B, choices]."""
        return self._engine.forward([observations]).outputs[0]

    def actions(self, observations: Observations, masks: Masks, rng: np.random.Generator) -> list[int]:
        """Returns an action for each."""
        return [decision.action for decision in self.decisions(observations, masks, rng, Version(1, 0))]

    def decisions(
        self, observations: Observations, masks: Masks, rng: np.random.Generator, version: Version
    ) -> list[Decision]:
        """Returns a decision for each, said to be of a version."""
        draws = draws_of(self.spec.actions)
        asked = zip(observations, masks, strict=True)
        uniforms = [GREEDY if self._greedy else rng.random(draws).tolist() for _ in observations]
        questions = [
            prepare(Question(seen, drawn, mask), self.spec) for (seen, mask), drawn in zip(asked, uniforms, strict=True)
        ]
        answer = self._engine.forward(*stacked(self.spec, questions))
        found = decisions(self.spec, questions, answer.outputs, answer.states, version)
        wrong = [one for one in found if not isinstance(one, Decision)]
        if wrong:
            raise wrong[0]
        return [one for one in found if isinstance(one, Decision)]


class Script:
    """Plays what a function says."""

    def __init__(self, decide: Callable[[Any, np.random.Generator], int]) -> None:
        """Keeps a function from what one side sees, and random numbers, to its action."""
        self._decide = decide

    def actions(self, observations: Observations, masks: Masks, rng: np.random.Generator) -> list[int]:
        """Returns an action for each."""
        return [self._decide(seen, rng) for seen in observations]
