"""The evolution section: its model is there, and its optimizer takes one gradient an update."""

from pathlib import Path

import pytest

from app.config.load import load
from app.errors import ConfigError

ES = Path(__file__).parents[2] / "configs" / "es.yaml"


def test_the_shipped_config_loads() -> None:
    settings = load(ES).evolution
    assert settings is not None
    assert (settings.model, settings.env, settings.goal) == ("main", "CartPole-v1", 475)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("evolution.model=mian", r"evolution\.model: no model named 'mian'; there are: main"),
        ("models.main.enable=deploy", r"evolution\.model: got models\.main\.enable deploy, allowed: train or both"),
        ("evolution.sigma=0", r"evolution\.sigma: wrong value, got 0, allowed: greater than 0"),
        ("evolution.pairs=0", r"evolution\.pairs: wrong value, got 0, allowed: greater than or equal to 1"),
        ("evolution.weight_decay=-1", r"evolution\.weight_decay: wrong value, got -1, allowed: greater than or equal"),
        ("evolution.sigam=1", r"evolution\.sigam: unknown key, did you mean 'sigma'\?"),
        ("evolution.optimizer.accumulate_minibatches=2", "allowed is 1, with more pairs instead"),
        ("evolution.optimizer.ema_decay=0.9", "allowed is null: no average is evolved"),
    ],
)
def test_what_cannot_be_is_refused(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(ES, [override])
