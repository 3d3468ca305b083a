"""The texts of spaces."""

from typing import Any

import pytest

from app.errors import ConfigError
from train.porting.spaces import Done, Seen, given_action, given_observation, read_action, read_observation


def space(kind: str, **told: Any) -> dict[str, Any]:
    return {":type:": f"<class 'gymnasium.spaces.{kind.lower()}.{kind}'>", **told}


def test_pictures_are_bytes_from_0_to_255_on_three_axes() -> None:
    low, high = "[[[0 0 ... 0]]]", "[[[255 255 ... 255]]]"
    picture = space("Box", _shape=[1, 44, 44], dtype="uint8", low=low, high=high)
    assert read_observation(picture) == Seen((1, 44, 44), "uint8", is_image=True)
    assert read_observation(picture | {"high": "[[[9 9 ... 9]]]"}) == Seen((1, 44, 44), "uint8")


@pytest.mark.parametrize(
    "text",
    [
        "{'a': Discrete(3), 'eye': Box(0, 255, (1, 40, 40), uint8), 'z': Box(-1.0, [1. 2.], (2,), float64)}",
        "OrderedDict([('a', Discrete(3)), ('eye', Box(0, 255, (1, 40, 40), uint8)), ('z', Box(-1, 1, (2,), float32))])",
    ],
)
def test_a_dict_has_its_parts_by_name(text: str) -> None:
    seen = {"a": Seen((3,), one_hot=(3,)), "eye": Seen((1, 40, 40), "uint8", is_image=True), "z": Seen((2,))}
    assert read_observation(space("Dict", spaces=text)) == seen


@pytest.mark.parametrize(
    "text", ["{'b': Discrete(3), 'a': Discrete(2)}", "{'a': Text(3)}", "{'a': Dict('b': Discrete(3))}", "?"]
)
def test_a_dict_that_cannot_be_served_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match="observation_space"):
        read_observation(space("Dict", spaces=text))


def test_actions_are_choices_or_numbers() -> None:
    assert read_action(space("Discrete", n="3", start="0")) == Done(choices=(3,), is_single=True)
    assert read_action(space("MultiDiscrete", nvec="[3 2]", start="[0 0]")) == Done(choices=(3, 2))
    assert read_action(space("MultiBinary", n=2)) == Done(choices=(2, 2), is_binary=True)
    numbers = space("Box", _shape=[2], low="[-2.  0.]", high="[2.  0.3]")
    assert read_action(numbers) == Done(shape=(2,), low=(-2, 0), high=(2, 0.3))
    assert read_action(numbers | {"low": "[-2. ... 0.]"}) == Done(shape=(2,))


def test_a_user_describes_spaces_as_a_config_does() -> None:
    assert given_observation({"shape": [2]}) == Seen((2,))
    assert given_observation({"b": {"shape": []}, "a": {"shape": [1, 2, 2], "dtype": "uint8"}}) == {
        "a": Seen((1, 2, 2), "uint8", is_image=True), "b": Seen(()),
    }  # fmt: skip
    assert given_action({"choices": [3, 2]}) == Done(choices=(3, 2))
    assert given_action({"shape": [2], "low": -1, "high": [1, 2]}) == Done(shape=(2,), low=(-1, -1), high=(1, 2))


@pytest.mark.parametrize("described", [{"shape": 2}, {"choices": 0}, {"shape": [2], "low": [1], "high": 2}, 3, {}])
def test_what_is_no_description_is_told(described: Any) -> None:
    with pytest.raises(ConfigError, match="--action"):
        given_action(described)
