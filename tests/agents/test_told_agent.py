"""What a game core has played by itself becomes trajectories."""

from typing import Any

import numpy as np
import pytest

from app.agents.told_agent import ToldAgent
from app.errors import BadPayloadError
from app.models.distributions.categorical import Categorical
from app.models.distributions.distribution import Distribution
from app.models.distributions.gaussian import Gaussian
from app.types import RowKind, Version

from .test_gym_agent import Play


class Told(Play):
    """A told agent with all that surrounds it."""

    def __init__(self, action: Distribution = Categorical(3)) -> None:  # noqa: B008  # A value.
        super().__init__(action=action)
        self.agent = ToldAgent(self.agent.context)

    async def told(self, t: int, **changes: Any) -> Any:
        return await self.tick(t, **({"action": 2, "log_prob": -0.5, "version": "1.4"} | changes))


async def test_a_row_holds_what_was_done_with_which_probability_and_weights() -> None:
    play = Told()
    assert await play.told(0) is None
    await play.told(1, action=0, log_prob=-1.5, version="1.5", action_mask=[1, 1, 0])
    assert play.agent.version == Version(1, 5)
    await play.stop(2)
    first, second, end = play.emitted[0]
    assert (first.action, first.log_prob, first.reward, first.generation, first.version) == (2, -0.5, 101, 1, 4)
    assert (second.action, second.log_prob, second.reward, second.version) == (0, -1.5, 102, 5)
    np.testing.assert_array_equal(second.action_mask, [True, True, False])
    assert end.kind == RowKind.TERMINATED
    assert play.reports == [(101 + 102, 2)]
    assert play.model.questions == []


async def test_numbers_may_be_what_was_done() -> None:
    play = Told(Gaussian((2,)))
    await play.told(0, action=[0.5, -2])
    await play.stop(1)
    np.testing.assert_array_equal(play.emitted[0][0].action, np.array([0.5, -2], np.float32))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"action": 3}, "allowed are whole numbers from 0 to 2"),
        ({"action": 1.0}, "allowed are whole numbers"),
        ({"action": True}, "allowed are whole numbers"),
        ({"action": None}, "action is None"),
        ({"log_prob": None}, "log_prob is None"),
        ({"log_prob": float("-inf")}, "allowed is a finite number"),
        ({"version": "newest"}, "allowed is generation.number"),
        ({"version": 3}, "version is 3"),
    ],
)
async def test_what_does_not_fit_is_told(changes: dict[str, Any], message: str) -> None:
    play = Told()
    with pytest.raises(BadPayloadError, match=message):
        await play.told(0, **changes)
    with pytest.raises(BadPayloadError, match="shape"):
        await Told(Gaussian((2,))).told(0, action=[1])
