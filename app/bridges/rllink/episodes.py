"""Episodes as RLlib's clients send them, and the ticks that they are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.bridges.errors import BridgeError

MAX_ID = 200
"""Longest id of an episode."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of one episode: T actions and T + 1 observations.

    Attributes:
      episode: The client's id of the episode, the same in each of its parts.
      observations: As JSON or arrays, T + 1.
      actions: T.
      rewards: What each action brought, T.
      log_probs: With which each was drawn, T.
      terminated: The episode ended by its own rules, behind the last action.
      truncated: It was cut there.
    """

    episode: str
    observations: list[Any]
    actions: list[Any]
    rewards: list[float]
    log_probs: list[float]
    terminated: bool
    truncated: bool


def read_chunks(message: Mapping[str, Any]) -> list[Chunk]:
    """Returns the parts of episodes in a message.

    Raises:
      BridgeError: It holds none, or what cannot be learned from.
    """
    episodes = message.get("episodes")
    if not isinstance(episodes, list):
        raise BridgeError(f"episodes are {str(episodes)[:80]}; allowed is a list of states of SingleAgentEpisode")
    return [_chunk(state) for state in episodes]


def _chunk(state: Any) -> Chunk:
    if not isinstance(state, dict) or not isinstance(state.get("id_"), str) or not 0 < len(state["id_"]) <= MAX_ID:
        raise BridgeError("an episode has no id_; allowed is the state of a SingleAgentEpisode")
    episode = state["id_"]
    observations = _items(f"observations of episode {episode}", state.get("observations"))
    actions = _items(f"actions of episode {episode}", state.get("actions"))
    rewards = _items(f"rewards of episode {episode}", state.get("rewards"))
    extra: Any = state.get("extra_model_outputs")
    if actions and (not isinstance(extra, dict) or "action_logp" not in extra):
        raise BridgeError(
            f"episode {episode} has no action_logp among its extra_model_outputs: without the probability of an action "
            "nothing can be learned from it"
        )
    log_probs = _items(f"action_logp of episode {episode}", extra["action_logp"]) if actions else []
    lengths = len(observations) - 1, len(rewards), len(log_probs)
    if set(lengths) != {len(actions)}:
        raise BridgeError(
            f"episode {episode} has {len(actions)} actions, and {len(observations)} observations, {len(rewards)} "
            f"rewards, {len(log_probs)} action_logp; allowed are one observation more, and as many of the others"
        )
    return Chunk(
        episode,
        observations,
        [_plain(action) for action in actions],
        [_number("a reward", reward) for reward in rewards],
        [_number("an action_logp", log_prob) for log_prob in log_probs],
        bool(state.get("is_terminated")),
        bool(state.get("is_truncated")),
    )


def _items(what: str, buffer: Any) -> list[Any]:
    """Returns the items of a buffer, without those before it that it looks back to."""
    lookback = buffer.get("lookback") if isinstance(buffer, dict) else None
    if not isinstance(lookback, int) or lookback < 0:
        raise BridgeError(f"{what} are {str(buffer)[:80]}; allowed is the state of RLlib's buffers")
    data = buffer.get("data")
    rows = data if isinstance(data, list) else _rows(what, data)
    return rows[lookback:]


def _rows(what: str, data: Any) -> list[Any]:
    """Returns the rows of an array, or of nested ones."""
    if isinstance(data, np.ndarray) and data.ndim:
        return list(data)
    if isinstance(data, dict) and data:
        columns = {name: _rows(what, part) for name, part in data.items()}
        if len({len(column) for column in columns.values()}) == 1:
            return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    raise BridgeError(f"{what} hold {str(data)[:80]}; allowed are lists, and arrays of one length")


def _plain(action: Any) -> Any:
    return (
        action.item()
        if isinstance(action, np.generic) or (isinstance(action, np.ndarray) and not action.ndim)
        else action
    )


def _number(what: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise BridgeError(f"{what} is {str(value)[:80]}; allowed is a number") from error
    if not np.isfinite(number):
        raise BridgeError(f"{what} is {number}; allowed is a finite number")
    return number
