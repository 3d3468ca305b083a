"""Agent that searches over the served model, in training and in play."""

from dataclasses import replace
from typing import Any, cast

from app.agents.agent import AgentContext
from app.agents.gym_agent import GymAgent
from app.agents.search_model import SearchModel
from app.errors import SparringError
from app.planning.search import SearchSettings
from app.plugins import load_plugin
from app.types import Purpose


class SearchAgent(GymAgent):
    """Plays as ``GymAgent`` does, and looks ahead before each action.

    In training actions are drawn in proportion to visits, and the root's priors get noise; an evaluated game takes the
    most visited action.
    """

    def __init__(
        self,
        context: AgentContext,
        position: str,
        simulations: int,
        temperature: float = 1.0,
        **settings: Any,
    ) -> None:
        """Makes the agent of one session.

        Args:
          context: The session's.
          position: ``package.module:Class`` of the game's positions; see ``ShownPosition``.
          simulations: Of one action.
          temperature: Of drawn actions: 1 draws in proportion to visits, 0 takes the most visited one.
          settings: Further fields of ``SearchSettings``.

        Raises:
          PluginError: There is no such class.
          SparringError: The config gives the agent no model, or one that cannot be searched over; or a setting is out
            of range.
        """
        if context.model is None:
            raise SparringError("a SearchAgent asks a model; name one under agents.<name>.model")
        try:
            wanted = SearchSettings(simulations, **settings)
        except (TypeError, ValueError) as error:
            raise SparringError(f"a SearchAgent cannot search like this: {error}") from error
        if temperature < 0:
            raise SparringError(f"temperature is {temperature}; allowed is at least 0")
        game = cast("type[Any]", load_plugin(position))
        noisy = context.purpose is Purpose.TRAIN
        model = SearchModel(context.model, game, wanted, temperature, noisy=noisy)
        super().__init__(replace(context, model=model))
