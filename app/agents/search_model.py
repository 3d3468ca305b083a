"""A model that looks ahead: each decision is a search over what the served network thinks."""

from collections.abc import Sequence
from typing import Any, Final, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.errors import AgentError, BadPayloadError, SparringError
from app.models.around import ModelAround
from app.models.distributions.categorical import Categorical, log_softmax
from app.models.model import Model
from app.models.question import Decision, Question
from app.planning.game import Evaluation, GamePosition
from app.planning.puct import visit_policy
from app.planning.search import Search, SearchSettings
from app.types import Version

SEED_MAX: Final = 2**53
"""Different numbers in [0, 1) that a session draws."""


class ShownPosition(GamePosition, Protocol):
    """A position that a network can look at."""

    @classmethod
    def of_planes(cls, planes: NDArray[Any], /) -> Self:
        """Returns the position that an observation shows.

        Raises:
          ValueError: No game looks like this.
        """

    def planes(self) -> NDArray[np.generic]:
        """Returns the observation of whoever moves."""


S = TypeVar("S", bound=ShownPosition)


class SearchModel(ModelAround, Generic[S]):
    """Decides by search; all else is the served model's.

    A decision's log-probability is that under the root's visits, its value the mean of the search. A search that new
    weights arrive in goes on with them; the decision bears the version that judged the root.
    """

    def __init__(
        self, model: Model, position: type[S], settings: SearchSettings, temperature: float, *, noisy: bool
    ) -> None:
        """Makes a model for positions of one game.

        Args:
          model: Served policy, whose value is the expected outcome.
          position: The game's.
          settings: How each position is searched.
          temperature: Of drawn actions; a question that wants the best action gets the most visited one.
          noisy: Whether the root's priors get noise where actions are drawn.

        Raises:
          SparringError: The model is no policy of one choice, or carries a state.
        """
        spec = model.spec
        if not isinstance(spec.action, Categorical) or len(spec.states) or len(spec.inputs) != 1 or spec.rewards:
            raise SparringError(
                f"a search needs a model of one observation, one choice, one reward and no state; this one is {spec}"
            )
        super().__init__(model)
        self._position = position
        self._settings = settings
        self._temperature = temperature
        self._noisy = noisy

    async def decide(self, question: Question) -> Decision:
        """Returns the decision for one observation; see ``Model``.

        Raises:
          AgentError: The network failed, or its answer is not finite.
          BadPayloadError: The observation shows no position in which an action is allowed.
        """
        # All that is random follows from the question, so a session that moves to another process plays alike.
        rng = np.random.default_rng(int(question.uniforms[0] * SEED_MAX)) if question.uniforms else None
        search = self._begun(question, rng if self._noisy else None)
        version: Version | None = None
        while leaves := search.leaves():
            evaluation, answered = await self._evaluated(leaves, question.version)
            search.take(evaluation)
            version = version or answered
        if version is None:  # The root is evaluated always.
            raise AgentError("a search ended without an evaluation")
        if rng is None:
            policy = visit_policy(search.visits, 1)
            action = int(policy.argmax())
        else:
            policy = visit_policy(search.visits, self._temperature * question.temperature)
            action = _drawn(policy, rng.random())
        target = visit_policy(search.visits, 1).astype(np.float32)
        return Decision(action, float(np.log(policy[action])), search.value, version, policy_target=target)

    def _begun(self, question: Question, noise: np.random.Generator | None) -> Search[S]:
        (planes,) = self.spec.inputs.flatten(question.observation)
        mask = None if question.mask is None else np.asarray(question.mask, bool)
        try:
            return Search(self._position.of_planes(planes), self._settings, noise, mask)
        except ValueError as error:
            raise BadPayloadError(f"the observation cannot be searched: {error}") from error

    async def _evaluated(self, positions: Sequence[S], version: Version | None) -> tuple[Evaluation, Version]:
        (leaf,) = self.spec.inputs.leaves
        planes = np.stack([position.planes() for position in positions]).astype(leaf.numpy_dtype)
        answer = await self._model.forward(self.spec.inputs.unflatten([planes]), None, version)
        *logits, values = self.spec.answers.flatten(answer.outputs)
        if not (np.isfinite(logits[0]).all() and np.isfinite(values).all()):
            raise AgentError("the network's answer to positions of the search is not finite")
        legal = np.stack([position.legal for position in positions])
        priors = np.exp(log_softmax(np.asarray(logits[0], np.float32), legal))
        return Evaluation(priors, np.clip(values, -1, 1)), answer.version


def _drawn(policy: NDArray[np.float64], uniform: float) -> int:
    """Returns an action, from a number in [0, 1)."""
    reached = policy.cumsum()
    return int(np.searchsorted(reached / reached[-1], uniform, side="right"))
