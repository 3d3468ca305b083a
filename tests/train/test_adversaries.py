"""Experts are read by every worker, and what tells them apart follows from the run's seed."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from app.config.active import active
from app.config.load import load
from app.config.root import ExperimentConfig
from app.config.usable import refuse_unusable
from app.errors import ConfigError, SourceError
from app.model_check import trained_spec
from app.models.module import build_module, to_arrays
from app.replay.rows import empty_batch
from app.types import RowKind
from train.adversaries import check_adversaries, load_adversaries
from train.learners import Given
from train.learning import make_learner, make_learners
from train.strategies.build import wrap
from train.strategies.processes import Processes
from train.strategies.strategy import Place
from train.trainee import Trainee

GAIL = Path(__file__).parents[2] / "configs" / "gail.yaml"
HEAD = "0.discriminator.head.weight"
ALGORITHM = "trainers.main.inputs.0.algorithm"


def demos(count: int = 3, steps: int = 5) -> list[dict[str, object]]:
    """Returns games for a source; each state names its game and tick."""
    return [
        {
            "observation": np.array([[game, tick, 0, 0] for tick in range(steps + 1)], np.float32),
            "action": np.arange(steps) % 2,
            "reward": np.zeros(steps),
            "truncated": True,
        }
        for game in range(count)
    ]


def doubled(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {**columns, "observation": columns["observation"] * 2}


def config(*changes: str) -> ExperimentConfig:
    played = "sources.played={kind: factory, factory: 'tests.train.test_adversaries:demos'}"
    return active(load(GAIL, [played, f"{ALGORITHM}.expert=played", *changes]))


def test_an_expert_is_its_steps_in_order() -> None:
    whole = config()
    (adversary,) = load_adversaries(whole, whole.trainers["main"], trained_spec(whole, "main")).values()
    states = adversary.expert.observation[0]
    assert states[:, :2].tolist() == [[game, tick] for game in range(3) for tick in range(5)]
    assert adversary.expert.action[0].tolist() == [0, 1, 0, 1, 0] * 3
    normaliser = adversary.network.get_submodule("normaliser")
    torch.testing.assert_close(normaliser.get_buffer("mean_0"), torch.tensor([1.0, 2.0, 0.0, 0.0]))


def test_no_more_steps_are_held_than_are_allowed_however_often_the_source_is_read() -> None:
    for epochs in ("null", "7"):
        whole = config(f"{ALGORITHM}.expert_rows=7", f"sources.played.epochs={epochs}")
        (adversary,) = load_adversaries(whole, whole.trainers["main"], trained_spec(whole, "main")).values()
        assert adversary.expert.observation[0][:, 1].tolist() == [0, 1, 2, 3, 4, 0, 1]


def test_an_expert_is_preprocessed_as_its_source_says() -> None:
    whole = config("sources.played.preprocess=tests.train.test_adversaries:doubled")
    (adversary,) = load_adversaries(whole, whole.trainers["main"], trained_spec(whole, "main")).values()
    assert adversary.expert.observation[0][:5, 1].tolist() == [0, 2, 4, 6, 8]


def test_all_workers_get_the_same_and_another_seed_another_discriminator() -> None:
    spec = trained_spec(config(), "main")
    first, again, other = (
        load_adversaries(config(f"run.seed={seed}"), config().trainers["main"], spec)[0].network.state_dict()
        for seed in (0, 0, 1)
    )
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["head.weight"], other["head.weight"])


def test_a_trainer_without_gail_has_none() -> None:
    whole = active(load(GAIL.with_name("rl.yaml"), []))
    assert load_adversaries(whole, whole.trainers["main"], trained_spec(whole, "main")) == {}


def test_its_learner_saves_the_discriminator_and_needs_an_expert() -> None:
    whole = config()
    trainer, model = whole.trainers["main"], whole.models["main"]
    module = build_module(model.factory, model.kwargs, 0)
    spec = trained_spec(whole, "main")
    trained = wrap(trainer, module, Place())
    adversaries = load_adversaries(whole, whole.trainers["main"], spec)
    saved = make_learners(trainer, trained, spec, adversaries=adversaries).state_dict()
    assert {"0.discriminator.head.weight", "0.discriminator_adam.0.step"} <= set(saved)
    with pytest.raises(ValueError, match="gail learns from the games of 'played', got none of their rows"):
        trained.learner(partial(make_learner, trainer.inputs[0], spec))


def test_what_is_changed_of_rewards_is_what_the_discriminator_pays() -> None:
    whole = config("trainers.main.inputs.0.rewards={largest: 0.1}")
    trainer, model = whole.trainers["main"], whole.models["main"]
    module = build_module(model.factory, model.kwargs, 0)
    spec = trained_spec(whole, "main")
    adversary = load_adversaries(whole, whole.trainers["main"], spec)[0]
    learner = wrap(trainer, module, Place()).learner(
        partial(make_learner, trainer.inputs[0], spec, adversary=adversary)
    )
    rows = empty_batch(spec, 8)
    rows["kind"][:7], rows["kind"][7], rows["weight"][:7] = RowKind.STEP, RowKind.TERMINATED, 1
    rows["tick"][:] = np.arange(8)
    rows["reward"][:7] = 100
    batch = {name: torch.from_numpy(column) for name, column in rows.items()}
    metrics = learner.update(batch, torch.Generator().manual_seed(0)).metrics
    assert metrics["return"] == 700
    assert metrics["reward_learned"] == pytest.approx(0.1)
    assert 0.1 < metrics["reward_imitation"] < 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([f"{ALGORITHM}.expert=nobody"], "no source named 'nobody'; there are: demos, played"),
        (
            ["trainers.main.inputs.0.source=demos", "trainers.main.inputs.0.buffer=null"],
            "gail learns from games of its own, got source 'demos', allowed: buffer",
        ),
        (
            [
                "models.main.factory=app.models.networks.policy:build",
                "models.main.kwargs={observation: {shape: [4]}, action: {choices: 2}, rewards: [kills, score]}",
                f"{ALGORITHM}.heads={{kills: {{}}, score: {{}}}}",
            ],
            "gail pays one reward of its own, and the model names kills, score; allowed are none",
        ),
        ([f"{ALGORITHM}.reward=game"], "allowed: 'paper' or 'log_odds'"),
        ([f"{ALGORITHM}.discriminator={{kwargs: {{layers: 3}}}}"], "its expert's moves cannot be told apart: .*layers"),
        ([f"{ALGORITHM}.discriminator={{factory: 'app.nowhere:build'}}"], "discriminator.factory: .*app.nowhere"),
    ],
)
def test_a_wrong_config_is_refused_with_its_place(changes: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        refuse_unusable(config(*changes), GAIL)


def test_an_expert_that_is_not_there_is_refused_before_anything_starts(tmp_path: Path) -> None:
    whole = config(f"{ALGORITHM}.expert=demos", f"sources.demos.path={tmp_path / 'none'}")
    with pytest.raises(SourceError, match=r"sources\.demos\.path: there is no file"):
        check_adversaries(whole, whole.trainers["main"], trained_spec(whole, "main"))


def test_an_expert_of_another_game_is_refused() -> None:
    whole = config("models.main={factory: 'app.models.networks.policy:build', kwargs: {}}")
    tree = yaml.safe_load("{observation: {shape: [3]}, action: {choices: 2}}")
    model = whole.models["main"].model_copy(update={"kwargs": tree})
    whole = whole.model_copy(update={"models": {"main": model}})
    with pytest.raises(SourceError, match="observation"):
        check_adversaries(whole, whole.trainers["main"], trained_spec(whole, "main"))


def test_a_network_that_is_trained_otherwise_from_now_on_keeps_its_discriminator_or_begins_anew() -> None:
    whole = config()
    trainer, model = whole.trainers["main"], whole.models["main"]
    module = build_module(model.factory, model.kwargs, 0)
    trainee = Trainee(whole, trainer, module, Place(), Processes(0, 1), {})
    untrained = trainee.learners.state_dict()[HEAD]
    rows = empty_batch(trainee.spec, 8)
    rows["kind"][:7], rows["kind"][7], rows["weight"][:7] = RowKind.STEP, RowKind.TERMINATED, 1
    batch = {name: torch.from_numpy(column) for name, column in rows.items()}
    trainee.learners.update([Given(0, batch, torch.Generator().manual_seed(0))])
    trained = trainee.learners.state_dict()[HEAD]
    assert not torch.equal(trained, untrained)
    trainee.change(trainer, None)
    assert torch.equal(trainee.learners.state_dict()[HEAD], trained)
    trainee.change(trainer, to_arrays(module))
    assert torch.equal(trainee.learners.state_dict()[HEAD], untrained)
