"""The spaces of a model file, as its texts tell them: shapes, choices and bounds."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.errors import ConfigError

IMAGE_AXES: Final = 3
BYTE_TEXTS: Final = ("0", "255")
NUMBER: Final = re.compile(r"-?(?:inf|nan|\d+\.?\d*(?:e[+-]?\d+)?)")
KINDS: Final = "Box|Discrete|MultiDiscrete|MultiBinary"
PART: Final = re.compile(rf"'([^'\\]+)'(?::|,)\s*({KINDS})\(((?:[^()]|\([^()]*\))*)\)")
BOX: Final = re.compile(r"(?P<low>.*?), (?P<high>.*?), \((?P<shape>[\d, ]*)\), (?P<dtype>\w+)", re.DOTALL)
LARGEST: Final = 2**31
"""Numbers of a shape; more is no space."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One array of an observation.

    Attributes:
      shape: As the network sees it.
      dtype: "uint8" for pictures of bytes, else "float32", which the network computes with.
      is_image: Whether it is a picture of bytes from 0 to 255, channels first.
      one_hot: What it is made of where the environment gives whole numbers: how many values each has; else empty.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    is_image: bool = False
    one_hot: tuple[int, ...] = ()

    def described(self) -> dict[str, Any]:
        """Returns it as a config has it."""
        return {"shape": list(self.shape), **({} if self.dtype == "float32" else {"dtype": self.dtype})}


Observation = Seen | dict[str, Seen]


@dataclass(frozen=True, slots=True)
class Done:
    """An action: choices, or real numbers of a shape.

    Attributes:
      choices: How many each has; empty for real numbers.
      shape: Of the real numbers; None for choices.
      low: Smallest of each number; empty where the file does not tell.
      high: Largest.
      is_binary: Whether each choice is one of a ``MultiBinary``.
      is_single: Whether there is one choice alone.
    """

    choices: tuple[int, ...] = ()
    shape: tuple[int, ...] | None = None
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    is_binary: bool = False
    is_single: bool = False


def read_observation(space: object) -> Observation:
    """Returns what an observation is made of.

    Raises:
      ConfigError: The text tells of no space that can be served.
    """
    kind, told = _kind("observation_space", space)
    if kind != "Dict":
        return _seen(kind, told, "observation_space")
    text = str(told.get("spaces"))
    parts = {name: _part(kind, inside) for name, kind, inside in PART.findall(text)}
    if not parts or len(parts) != len(
        re.findall(
            rf"(?:{KINDS}|Text|Graph|Sequence|OneOf|Dict|Tuple)\(", text.removeprefix("Ordered").removeprefix("Dict")
        )
    ):
        raise ConfigError(f"observation_space is {text[:200]!r}; allowed are parts of the kinds {KINDS}")
    if list(parts) != sorted(parts):
        raise ConfigError(f"observation_space has the parts {', '.join(parts)}; allowed is the order of the alphabet")
    return parts


def read_action(space: object) -> Done:
    """Returns what an action is.

    Raises:
      ConfigError: The text tells of no action that can be served.
    """
    kind, told = _kind("action_space", space)
    if any(number != 0 for number in _numbers(told.get("start", "0"))):
        raise ConfigError(f"action_space starts at {told['start']}; allowed are choices that are counted from 0")
    if kind == "Discrete":
        return Done(choices=(_whole("action_space.n", told.get("n")),), is_single=True)
    if kind == "MultiDiscrete":
        return Done(choices=_wholes("action_space.nvec", told.get("nvec")))
    if kind == "MultiBinary":
        return Done(choices=(2,) * _whole("action_space.n", told.get("n")), is_binary=True)
    shape = _shape("action_space", told.get("_shape"))
    low, high = _bounds(told.get("low"), shape), _bounds(told.get("high"), shape)
    return Done(shape=shape, low=low if high else (), high=high if low else ())


def given_observation(described: Any) -> Observation:
    """Returns an observation that the user describes as a config does, such as ``{"shape": [4]}``.

    Raises:
      ConfigError: It is not described so.
    """
    if isinstance(described, dict) and "shape" not in described and described:
        return {str(name): _given(part, f"--observation {name}") for name, part in sorted(described.items())}
    return _given(described, "--observation")


def given_action(described: Any) -> Done:
    """Returns an action that the user describes as a config does, such as ``{"choices": 2}``.

    Raises:
      ConfigError: It is not described so.
    """
    if isinstance(described, dict) and described.keys() == {"choices"}:
        choices = described["choices"]
        if isinstance(choices, list):
            return Done(choices=_wholes("--action choices", choices))
        return Done(choices=(_whole("--action choices", choices),), is_single=True)
    if not isinstance(described, dict) or not {"shape"} <= described.keys() <= {"shape", "low", "high"}:
        raise ConfigError(f"--action is {described!r}; allowed are an object with choices, or shape, low and high")
    shape = _shape("--action", described["shape"])
    bounds = [
        _given_bound(f"--action {name}", described[name], shape) if name in described else ()
        for name in ("low", "high")
    ]
    return Done(shape=shape, low=bounds[0], high=bounds[1])


def _given(part: Any, where: str) -> Seen:
    if not isinstance(part, dict) or not {"shape"} <= part.keys() <= {"shape", "dtype"}:
        raise ConfigError(f"{where} is {part!r}; allowed is an object with shape, and dtype where it is uint8")
    shape, dtype = _shape(where, part["shape"]), part.get("dtype", "float32")
    if dtype not in ("float32", "uint8"):
        raise ConfigError(f"{where} has the dtype {dtype!r}; allowed are float32 and uint8")
    return Seen(shape, dtype, dtype == "uint8" and len(shape) == IMAGE_AXES)


def _given_bound(where: str, bound: Any, shape: tuple[int, ...]) -> tuple[float, ...]:
    numbers = bound if isinstance(bound, list) else [bound] * math.prod(shape)
    if len(numbers) != math.prod(shape) or any(isinstance(x, bool) or not isinstance(x, int | float) for x in numbers):
        raise ConfigError(f"{where} is {bound!r}; allowed is a number, or one for each of {math.prod(shape)}")
    return tuple(map(float, numbers))


def _kind(where: str, space: object) -> tuple[str, Mapping[str, Any]]:
    text = str(space.get(":type:")) if isinstance(space, dict) else str(space)
    found = re.search(r"gym(?:nasium)?\.spaces\.(?:\w+\.)?(\w+)'", text)
    allowed = ("Box", "Discrete", "MultiDiscrete", "MultiBinary", *(("Dict",) if where == "observation_space" else ()))
    if not isinstance(space, dict) or found is None or found[1] not in allowed:
        raise ConfigError(f"{where} is {text[:100]!r}; allowed are {', '.join(allowed)}")
    return found[1], space


def _seen(kind: str, told: Mapping[str, Any], where: str) -> Seen:
    if kind == "Discrete":
        return _one_hot((_whole(f"{where}.n", told.get("n")),))
    if kind == "MultiDiscrete":
        return _one_hot(_wholes(f"{where}.nvec", told.get("nvec")))
    if kind == "MultiBinary":
        return Seen(_shape(where, told.get("_shape") or [_whole(f"{where}.n", told.get("n"))]))
    return _box(_shape(where, told.get("_shape")), str(told.get("dtype")), str(told.get("low")), str(told.get("high")))


def _part(kind: str, text: str) -> Seen:
    """Returns one part of a ``Dict``, of what stands inside the brackets of its text."""
    if kind == "Discrete":
        return _one_hot((_whole("observation_space", text),))
    if kind == "MultiDiscrete":
        return _one_hot(_wholes("observation_space", text))
    if kind == "MultiBinary":
        return Seen(_wholes("observation_space", text))
    box = BOX.fullmatch(text)
    if box is None:
        raise ConfigError(f"observation_space holds Box({text[:100]}); allowed are low, high, shape and dtype")
    shape = tuple(int(size) for size in re.findall(r"\d+", box["shape"]))
    return _box(shape, box["dtype"], box["low"], box["high"])


def _box(shape: tuple[int, ...], dtype: str, low: str, high: str) -> Seen:
    """Returns an array; a picture by the rule of Stable-Baselines3: bytes from 0 to 255 on three axes."""
    whole = set(re.findall(r"\d+", low)), set(re.findall(r"\d+", high))
    is_image = dtype == "uint8" and len(shape) == IMAGE_AXES and whole == ({BYTE_TEXTS[0]}, {BYTE_TEXTS[1]})
    return Seen(shape, "uint8" if dtype == "uint8" else "float32", is_image)


def _one_hot(values: tuple[int, ...]) -> Seen:
    return Seen((sum(values),), one_hot=values)


def _shape(where: str, shape: object) -> tuple[int, ...]:
    if (
        not isinstance(shape, list)
        or not all(isinstance(size, int) and size > 0 for size in shape)
        or math.prod(shape) > LARGEST
    ):
        raise ConfigError(f"{where} has the shape {shape!r}; allowed is a list of positive sizes")
    return tuple(shape)


def _bounds(text: object, shape: tuple[int, ...]) -> tuple[float, ...]:
    """Returns the bound of each number; nothing where the text leaves some out."""
    numbers = _numbers(text)
    return tuple(numbers) if len(numbers) == math.prod(shape) and "..." not in str(text) else ()


def _numbers(text: object) -> list[float]:
    return [float(one) for one in NUMBER.findall(str(text))]


def _whole(where: str, text: object) -> int:
    if not re.fullmatch(r"[1-9]\d{0,8}", str(text)):
        raise ConfigError(f"{where} is {str(text)[:100]!r}; allowed is a whole number above 0")
    return int(str(text))


def _wholes(where: str, text: object) -> tuple[int, ...]:
    inside = re.fullmatch(r"[\[(]?([\d\s,]+)[\])]?", str(text))
    if inside is None:
        raise ConfigError(f"{where} is {str(text)[:100]!r}; allowed are whole numbers on one axis")
    return tuple(_whole(where, one) for one in re.findall(r"\d+", inside[1]))
