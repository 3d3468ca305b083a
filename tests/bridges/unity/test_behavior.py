"""What agents of a Unity game see and do."""

from typing import Any

import numpy as np
import pytest

from app.bridges.errors import BridgeError
from app.bridges.unity import unity_pb2 as pb
from app.bridges.unity.behavior import Behavior, read_behavior, read_observation


def sensor(name: str, shape: list[int], numbers: list[float]) -> pb.Observation:
    return pb.Observation(name=name, shape=shape, floats=pb.Floats(data=numbers))


def test_one_sensor_stands_alone_and_several_have_names() -> None:
    one = pb.Agent(observations=[sensor("a", [2], [1, 2])])
    np.testing.assert_array_equal(read_observation(one, named=False), [1, 2])
    assert read_observation(one, named=True).keys() == {"a"}
    two = pb.Agent(observations=[sensor("a", [2], [1, 2]), sensor("b", [2, 1], [3, 4])])
    assert read_observation(two, named=False)["b"].tolist() == [[3], [4]]


@pytest.mark.parametrize(
    ("behavior", "action", "continuous", "discrete"),
    [
        (Behavior(2, ()), [0.5, -3], [0.5, -1], []),
        (Behavior(0, (3,)), 2, [], [2]),
        (Behavior(0, (3, 2)), [2, 1], [], [2, 1]),
        (Behavior(1, (2,)), {"continuous": [0.25], "discrete": 1}, [0.25], [1]),
    ],
)
def test_an_action_is_numbers_or_choices_or_both(
    behavior: Behavior, action: Any, continuous: list[float], discrete: list[int]
) -> None:
    made = behavior.action(action, named=False)
    assert (list(made.continuous), list(made.discrete)) == (continuous, discrete)


def test_what_is_forbidden_there_is_allowed_here_the_other_way_round() -> None:
    assert Behavior(0, (2,)).mask([], named=False) is None
    assert Behavior(0, (2,)).mask([True, False], named=False) == [False, True]
    both = Behavior(1, (2, 1)).mask([True, False, False], named=False)
    assert both == {"continuous": None, "discrete": [[False, True], [True]]}


@pytest.mark.parametrize(
    ("behavior", "action", "message"),
    [
        (Behavior(2, ()), [1.0], "allowed are 2 finite numbers"),
        (Behavior(1, ()), ["fast"], "allowed are numbers"),
        (Behavior(1, ()), [float("nan")], "allowed are 1 finite numbers"),
        (Behavior(0, (3,)), 3, "allowed is 0 to 2"),
        (Behavior(0, (3, 2)), 1, "allowed are 2 choices"),
        (Behavior(1, (2,)), {"discrete": 1}, "exactly continuous, discrete"),
    ],
)
def test_an_action_that_does_not_fit_is_told(behavior: Behavior, action: Any, message: str) -> None:
    with pytest.raises(BridgeError, match=message):
        behavior.action(action, named=False)


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (pb.Agent(), "at least one, each with a name"),
        (pb.Agent(observations=[sensor("a", [1], [1])] * 2), "each with a name of its own"),
        (pb.Agent(observations=[sensor("a", [3], [1])]), "sends 1 numbers for the shape"),
        (pb.Agent(observations=[sensor("a", [2**16] * 4, [])]), "sends 0 numbers for the shape"),
        (pb.Agent(observations=[sensor("a", [1], [float("inf")])]), "finite"),
        (
            pb.Agent(observations=[pb.Observation(name="eye", compression=1, shape=[1, 1, 3])]),
            "sensor 'eye': it has no picture",
        ),
        (pb.Agent(observations=[pb.Observation(name="eye", compression=2)]), "allowed are 0 and 1"),
    ],
)
def test_what_cannot_be_seen_is_told(agent: pb.Agent, message: str) -> None:
    with pytest.raises(BridgeError, match=message):
        read_observation(agent, named=False)


def test_masks_and_behaviours_that_do_not_fit_are_told() -> None:
    with pytest.raises(BridgeError, match="has 1 flags; allowed are 2"):
        Behavior(0, (2,)).mask([True], named=False)
    with pytest.raises(BridgeError, match="no action that can be served"):
        read_behavior(pb.Behavior(name="old"))
    with pytest.raises(BridgeError, match="more than"):
        read_behavior(pb.Behavior(name="huge", action_spec=pb.ActionSpec(continuous_actions=2**30)))
