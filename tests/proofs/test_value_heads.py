"""A game with two named rewards is learned, and the weights of the heads say which of them is sought."""

import pytest
import torch

from .corridor import CELLS, Corridor
from .learning import Learning

pytestmark = [pytest.mark.proof, pytest.mark.fast_proof]


def learned(left: float, right: float, kind: str) -> "tuple[float, torch.Tensor]":
    """Returns the chance of going right in the middle, and the values there of left and right."""
    mixing = "trace_lambda" if kind == "impala" else "gae_lambda"
    algorithm = (
        f"{{kind: {kind}, gamma: 0.9, {mixing}: 0.9, minibatch_rows: 64, entropy_coef: 0.01, "
        f"heads: {{left: {{weight: {left}}}, right: {{weight: {right}, gamma: 0.8}}}}}}"
    )
    learning = Learning(
        "rl.yaml",
        0,
        Corridor,
        [
            "models.main.factory=app.models.networks.policy:build",
            f"models.main.kwargs={{observation: {{shape: [{CELLS}]}}, action: {{choices: 2}}, rewards: [left, right]}}",
            f"trainers.main.inputs=[{{buffer: rollouts, batch_rows: 256, algorithm: {algorithm}}}]",
            "trainers.main.optimizer.learning_rate=0.003",
        ],
    )
    learning.run(6_000, promising=1e9)
    with torch.no_grad():
        answer = learning.module(torch.eye(CELLS)[CELLS // 2 : CELLS // 2 + 1])
    return float(answer.dist_inputs.softmax(-1)[0, 1]), answer.value[0]


@pytest.mark.parametrize("kind", ["ppo", "impala"])
def test_the_weights_of_the_heads_say_which_reward_is_sought(kind: str) -> None:
    goes_right, value = learned(1.0, 0.2, kind)
    assert goes_right < 0.1
    assert value[0] == pytest.approx(0.9**2, abs=0.1)  # Two ticks before the one that is paid.
    goes_right, value = learned(0.2, 1.0, kind)
    assert goes_right > 0.9
    assert value[1] == pytest.approx(0.8**2, abs=0.1)
    assert abs(value[0]) < 0.2
