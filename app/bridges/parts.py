"""Observations, masks and actions of several parts, as agents of the service have them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.bridges.errors import BridgeError


def joined(parts: Mapping[str, Any], *, named: bool = False) -> Any:
    """Returns one part as it is, and several by their names.

    Args:
      parts: By name.
      named: Whether one part alone keeps its name as well.
    """
    return dict(parts) if named or len(parts) != 1 else next(iter(parts.values()))


def split(action: Any, names: tuple[str, ...], *, named: bool = False) -> dict[str, Any]:
    """Returns the parts of an action that ``joined`` would have joined.

    Raises:
      BridgeError: The parts are others.
    """
    if len(names) == 1 and not named:
        return {names[0]: action}
    if not isinstance(action, dict) or action.keys() != set(names):
        raise BridgeError(
            f"the service's action is {str(action)[:200]}; allowed is an object with exactly {', '.join(names)}"
        )
    return action


def whole_number(name: str, action: Any, choices: int) -> int:
    """Returns a choice.

    Raises:
      BridgeError: It is none of them.
    """
    if isinstance(action, bool) or not isinstance(action, int) or not 0 <= action < choices:
        raise BridgeError(f"the service's action {name} is {str(action)[:200]}; allowed is 0 to {choices - 1}")
    return action


def unit_numbers(name: str, action: Any, count: int) -> NDArray[np.float32]:
    """Returns numbers, [count], those beyond -1 and 1 moved there.

    Raises:
      BridgeError: They are not so many finite numbers.
    """
    try:
        numbers = np.asarray(action, np.float32).reshape(-1)
    except (TypeError, ValueError) as error:
        raise BridgeError(f"the service's action {name} is {str(action)[:200]}; allowed are numbers") from error
    if numbers.size != count or not np.isfinite(numbers).all():
        raise BridgeError(f"the service's action {name} is {str(action)[:200]}; allowed are {count} finite numbers")
    return np.clip(numbers, -1.0, 1.0)
