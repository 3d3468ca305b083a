from pathlib import Path

import pytest

from app.config.load import load
from app.errors import ConfigError

RL = Path(__file__).parents[2] / "configs" / "rl.yaml"
WAIT = "buffers.rollouts.rollouts=wait"


def test_games_may_wait_for_the_trainer() -> None:
    assert load(RL, [WAIT]).buffers["rollouts"].rollouts == "wait"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("trainers.main.publish_every_updates=2", "games wait for the weights of each update, got 2, allowed: 1"),
        ("models.main.placement=remote", "rollouts is wait, got remote, allowed: local"),
        ("actors.main.autoscaling={min_replicas: 1, max_replicas: 2}", "allowed: a fixed number of replicas"),
        ("agents.player.blocking=true", "allowed: blocking: false"),
        ("trainers.main.workers={min: 1, max: 3}", "got 1 to 3 of them, allowed: one number"),
        ("buffers.rollouts.shards=2", "rollouts is wait with 2 shards"),
        ("buffers.rollouts.capacity_rows=9000", "capacity_rows 9000"),
    ],
)
def test_what_would_let_them_wait_for_ever_is_refused(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(RL, [WAIT, override])
