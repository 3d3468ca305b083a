import pytest

from app.config.models import ModelConfig
from app.models.batching import BatchLimits
from deployments.models import batch_limits


@pytest.mark.parametrize(
    ("batching", "limits"),
    [
        ({}, BatchLimits(1024, 20_000, 0.0, ())),
        ({"max_rows": 5, "max_waiting_rows": 9, "wait_ms": 2.5}, BatchLimits(5, 9, 0.0025, ())),
        ({"pad_to": [1, 8, 32]}, BatchLimits(32, 20_000, 0.0, (1, 8, 32))),
        ({"pad_to": [1, 8, 32], "max_rows": 20}, BatchLimits(20, 20_000, 0.0, (1, 8, 32))),
    ],
)
def test_no_batch_is_larger_than_the_last_size_that_is_padded_to(
    batching: dict[str, object], limits: BatchLimits
) -> None:
    config = ModelConfig.model_validate({"factory": "a.b:c", "batching": batching})
    assert batch_limits(config) == limits
