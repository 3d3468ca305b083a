"""Networks that are more than a policy are exported as the part that games ask."""

from typing import Any

import pytest
import torch

from app.models.export.compare import check_graph
from app.models.export.graph import export_graph
from app.models.networks.policy import build

pytestmark = pytest.mark.export

KINDS: dict[str, dict[str, Any]] = {
    "values of actions": {"action": {"choices": 3}, "q": {"dueling": True, "noisy": True}, "normalise": True},
    "atoms": {"action": {"choices": 2}, "q": {"returns": {"kind": "categorical", "atoms": 5, "low": -1, "high": 1}}},
    "critics": {"action": {"shape": [2], "low": -1, "high": 1}, "critics": {"hidden": [4]}},
    "a value at its own scale": {"action": {"choices": 2}, "popart": 0.1},
    "named rewards": {"action": {"choices": 2}, "rewards": ["win", "health"], "popart": 0.1},
    "normalised": {"action": {"choices": 2}, "normalise": True, "memory": {"kind": "lstm", "units": 4}},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_described_network_is_exported_and_answers_as_in_torch(kind: str) -> None:
    torch.manual_seed(0)
    module = build({"shape": [3]}, encoder={"kind": "mlp", "hidden": [4]}, **KINDS[kind])
    check_graph(module, export_graph(module))
