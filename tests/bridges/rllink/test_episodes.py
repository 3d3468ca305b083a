"""Episodes of RLlib's SingleAgentEpisode as ticks."""

from typing import Any

import numpy as np
import pytest

from app.bridges.errors import BridgeError
from app.bridges.rllink.episodes import read_chunks


def buffer(data: Any, lookback: int = 0) -> dict[str, Any]:
    return {"data": data, "lookback": lookback, "finalized": isinstance(data, np.ndarray), "space": None}


def episode(**changes: Any) -> dict[str, Any]:
    """Returns the state of an episode of two actions, as ``SingleAgentEpisode.get_state`` has it."""
    return {
        "id_": "e1",
        "observations": buffer([np.zeros(4, np.float32), np.ones(4, np.float32), np.full(4, 2, np.float32)]),
        "actions": buffer([1, np.int64(0)]),
        "rewards": buffer([1.0, 0.5]),
        "extra_model_outputs": {"action_logp": buffer([-0.5, -0.25]), "action_dist_inputs": buffer([[0, 1], [1, 0]])},
        "is_terminated": True,
        "is_truncated": False,
    } | changes


def test_an_episode_is_read() -> None:
    (chunk,) = read_chunks({"episodes": [episode()]})
    assert (chunk.episode, chunk.actions, chunk.rewards, chunk.log_probs) == ("e1", [1, 0], [1.0, 0.5], [-0.5, -0.25])
    assert [observation.tolist() for observation in chunk.observations] == [[0] * 4, [1] * 4, [2] * 4]
    assert (chunk.terminated, chunk.truncated) == (True, False)


def test_what_an_episode_looks_back_to_was_sent_before() -> None:
    whole = episode(
        observations=buffer(np.arange(12.0).reshape(3, 4), 1),
        actions=buffer(np.array([1, 0]), 1),
        rewards=buffer(np.array([1.0, 2.0]), 1),
        extra_model_outputs={"action_logp": buffer(np.array([-1.0, -2.0]), 1)},
    )
    (chunk,) = read_chunks({"episodes": [whole]})
    assert (chunk.actions, chunk.rewards, chunk.log_probs) == ([0], [2.0], [-2.0])
    assert len(chunk.observations) == 2


def test_observations_may_have_names() -> None:
    seen = {"a": np.arange(3), "b": {"c": np.ones((3, 2))}}
    (chunk,) = read_chunks({"episodes": [episode(observations=buffer(seen))]})
    assert chunk.observations[2]["a"] == 2
    assert chunk.observations[2]["b"]["c"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id_": 7}, "no id_"),
        ({"extra_model_outputs": None}, "has no action_logp"),
        ({"rewards": buffer([1.0])}, "2 actions, and 3 observations, 1 rewards, 2 action_logp"),
        ({"rewards": buffer([1.0, float("nan")])}, "a reward is nan"),
        ({"rewards": buffer([1.0, "much"])}, "a reward is much"),
        ({"actions": [1, 0]}, "allowed is the state of RLlib's buffers"),
        ({"observations": buffer({"a": np.arange(3), "b": np.arange(2)})}, "arrays of one length"),
    ],
)
def test_what_cannot_be_learned_from_is_told(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BridgeError, match=message):
        read_chunks({"episodes": [episode(**changes)]})


def test_a_message_without_episodes_is_told() -> None:
    with pytest.raises(BridgeError, match="allowed is a list of states"):
        read_chunks({"episodes": "none"})
