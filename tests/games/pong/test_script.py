"""The scripted Pong player goes where the ball comes, and back."""

from typing import Any

import numpy as np
import pytest

from app.errors import BadPayloadError
from app.games.pong.rules import DOWN, STAY, UP
from app.games.pong.script import FollowsTheBall, follow
from tests.games.context import context


@pytest.mark.parametrize(
    ("own", "ball", "forward", "action"),
    [
        (0.0, 0.5, -1.0, UP),
        (0.0, -0.5, -1.0, DOWN),
        (0.0, 0.01, -1.0, STAY),
        (0.5, 0.9, 1.0, DOWN),  # It flies away: back to the middle.
        (0.0, 0.9, 1.0, STAY),
    ],
)
async def test_it_follows_what_comes_and_else_goes_back(own: float, ball: float, forward: float, action: int) -> None:
    observation = [own, 0.0, 0.0, ball, forward, 0.0]
    assert follow(np.array(observation)) == action
    assert await FollowsTheBall(context()).on_tick({"observation": observation}) == {"action": action}


@pytest.mark.parametrize("payload", [None, {"observation": [1, 2]}, {"observation": "left"}, {"observation": [[1], 2]}])
async def test_what_is_no_observation_is_refused(payload: Any) -> None:
    with pytest.raises(BadPayloadError, match="observation"):
        await FollowsTheBall(context()).on_tick(payload)
