from pathlib import Path

import pytest

from app.capacity.from_config import with_config
from app.capacity.workload import Learning, Model, Workload
from app.config.load import load
from app.errors import PlanError

CONFIGS = Path(__file__).parents[2] / "configs"
ASKED = Workload(100, 10, model=Model("cnn"), learning=Learning(row_bytes=77))


def test_a_training_config_rules_over_what_was_asked() -> None:
    overrides = ["actors.main.push_ms=20", "trainers.main.publish_every_updates=3", "buffers.rollouts.max_policy_lag=5"]
    found = with_config(ASKED, load(CONFIGS / "rl.yaml", overrides))
    assert (found.games, found.model.name, found.model.placement) == (100, "cnn", "local")
    learning = found.learning
    assert learning is not None
    assert (learning.strategy, learning.batch_rows, learning.epochs, learning.unroll_ticks) == ("ddp", 1024, 8, 64)
    assert (learning.push_rows, learning.push_ms, learning.publish_every_updates) == (256, 20, 3)
    assert (learning.max_policy_lag, learning.row_bytes) == (5, 77)


def test_a_remote_model_and_its_batches_are_read() -> None:
    config = load(CONFIGS / "rl.yaml", ["models.main.placement=remote", "models.main.batching.max_rows=99"])
    found = with_config(ASKED, config)
    assert (found.model.placement, found.model.max_rows) == ("remote", 99)


def test_the_stages_of_deepspeed_have_the_benchmarks_names() -> None:
    found = with_config(ASKED, load(CONFIGS / "rl.yaml", ["trainers.main.strategy={kind: deepspeed, stage: 2}"]))
    assert found.learning is not None
    assert found.learning.strategy == "deepspeed_2"


def test_a_deployed_config_learns_nothing() -> None:
    found = with_config(ASKED, load(CONFIGS / "deploy.yaml"))
    assert found.learning is None
    assert found.model.name == "cnn"


def test_a_config_whose_trainer_has_no_buffer_is_refused() -> None:
    with pytest.raises(PlanError, match="learns from no buffer"):
        with_config(ASKED, load(CONFIGS / "imitation.yaml"))
