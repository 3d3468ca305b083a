"""What a league names from elsewhere becomes frozen clones of the trial, with somebody who plays them."""

from pathlib import Path

import pytest

from app.config.active import active
from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import CheckpointError, ModelMismatchError
from app.models.module import build_module, hash_of, to_arrays
from app.models.pool import CLONES, ModelPool
from app.models.saved import SavedModel, write_model
from app.stores.model_sources import ModelSources
from deployments.league_weights import set_apart

LEAGUE = Path(__file__).parents[2] / "configs" / "league.yaml"


def config(*changes: str) -> ExperimentConfig:
    return active(load(LEAGUE, list(changes)))


def saved(folder: Path, whole: ExperimentConfig, hidden: int = 64) -> str:
    model = whole.models["main"]
    kwargs = {**model.kwargs, "encoder": {"kind": "mlp", "hidden": [hidden, 64]}}
    module = build_module(model.factory, kwargs, seed=3)
    folder.mkdir()
    write_model(folder, SavedModel(model.factory, kwargs, hash_of(module), "1.2", to_arrays(module)))
    return str(folder)


def hashes(whole: ExperimentConfig) -> dict[str, str]:
    return {name: hash_of(build_module(one.factory, one.kwargs, 0)) for name, one in whole.models.items()}


def test_an_opponent_is_a_frozen_clone_that_an_agent_of_its_model_plays(tmp_path: Path) -> None:
    reference = saved(tmp_path / "old", config())
    whole = config(
        f"league.opponents.old.weights={reference}",
        "league.opponents.other={weights: " + reference + ", agent: exploiter}",
    )
    assert whole.league is not None
    league, weights = set_apart(whole, whole.league, hashes(whole), ModelSources(whole, tmp_path))
    found = {name: opponent.agent for name, opponent in league.opponents.items()}
    assert found == {"script": "script", "old": "player", "other": "exploiter"}
    clone = ModelPool(tmp_path / "league" / CLONES).find(weights[reference].reference.removeprefix("clones/"))
    assert clone.frozen
    assert clone.hash == weights[reference].content_hash
    assert set_apart(whole, whole.league, hashes(whole), ModelSources(whole, tmp_path))[1] == weights


def test_a_model_to_begin_with_is_set_apart_for_the_trainers_that_do(tmp_path: Path) -> None:
    reference = saved(tmp_path / "first", config())
    whole = config(f"league.initial_models.first={reference}", "league.players.exploiter.initial=first")
    assert whole.league is not None
    _, weights = set_apart(whole, whole.league, hashes(whole), ModelSources(whole, tmp_path))
    assert weights[reference].content_hash


@pytest.mark.parametrize(
    "changes",
    [["league.opponents.old.weights={}"], ["league.initial_models.old={}", "league.players.exploiter.initial=old"]],
)
def test_weights_of_another_network_are_refused_by_their_place(tmp_path: Path, changes: list[str]) -> None:
    reference = saved(tmp_path / "old", config(), hidden=32)
    whole = config(*(change.format(reference) for change in changes))
    assert whole.league is not None
    with pytest.raises(ModelMismatchError, match=r"league\.(opponents|initial_models)\.old.* has the shapes"):
        set_apart(whole, whole.league, hashes(whole), ModelSources(whole, tmp_path))


def test_weights_that_are_not_there_are_named(tmp_path: Path) -> None:
    whole = config("league.opponents.old.weights=clones/nobody")
    assert whole.league is not None
    with pytest.raises(CheckpointError, match="nobody"):
        set_apart(whole, whole.league, hashes(whole), ModelSources(whole, tmp_path))
