"""docs/algorithms.md: its REINFORCE learns, in every mode, from Python code that a reader would copy."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter

from app.config.active import active
from app.config.algorithms import Algorithm, CustomAlgorithm, TrajectoryAlgorithm
from app.config.load import load
from app.config.off_policy import TransitionAlgorithm
from app.model_check import model_problems, untrainable
from app.models.distributions.categorical import choose, log_softmax
from app.models.module import spec_of, to_arrays
from app.types import RowKind, Rows
from tests.algorithms.test_learner import Tick, batch_of
from tests.algorithms.test_modes import MEMORIES, from_file, from_queue, from_table, games, network
from tests.plain_stepper import plain_stepper
from tests.proofs.learning import Learning
from tests.small_policy import Scorer, small_policy
from train.learning import learner_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8")
OWN = (
    "trainers.main.inputs=[{buffer: rollouts, batch_rows: 512, "
    "algorithm: {kind: custom, factory: 'reinforce:Reinforce', kwargs: {gamma: 0.98}}}]"
)


@pytest.fixture(autouse=True)
def _reinforce(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (shown,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "reinforce.py").write_text(shown, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("reinforce", None)


def reinforce(**kwargs: object) -> Algorithm:
    algorithm = {"kind": "custom", "factory": "reinforce:Reinforce", "minibatch_rows": 8, "kwargs": kwargs}
    return TypeAdapter[Algorithm](Algorithm).validate_python(algorithm)


def test_the_page_names_every_algorithm() -> None:
    members = (*get_args(TrajectoryAlgorithm), *get_args(TransitionAlgorithm))
    named = set(re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE))
    assert {each.model_fields["kind"].default for each in members} <= named


def test_the_shown_config_trains_cartpole(tmp_path: Path) -> None:
    (shown,) = [block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "custom" in block]
    path = tmp_path / "own.yaml"
    path.write_text(f"extends: [{ROOT / 'configs' / 'rl.yaml'}]\n{shown}", encoding="utf-8")
    config = active(load(path, []))
    (one,) = config.trainers["main"].inputs
    assert isinstance(one.algorithm, CustomAlgorithm)
    assert model_problems(config) == {}


@pytest.mark.parametrize("about", ["kind: trpo", "heads: {"])
def test_the_shown_configs_fit_their_models(about: str, tmp_path: Path) -> None:
    (shown,) = [block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if about in block]
    path = tmp_path / "shown.yaml"
    path.write_text(f"extends: [{ROOT / 'configs' / 'rl.yaml'}]\n{shown}", encoding="utf-8")
    assert model_problems(active(load(path, []))) == {}


def test_a_model_that_it_cannot_train_is_refused_in_its_own_words() -> None:
    assert untrainable(reinforce(), Scorer()) == "REINFORCE trains a policy"
    problem = untrainable(reinforce(gama=0.9), small_policy())
    assert problem is not None
    assert "cannot be called with a Training and {'gama': 0.9}" in problem


def test_it_finds_the_better_arm() -> None:
    module = small_policy()
    stepper = plain_stepper(module, torch.optim.Adam(module.parameters(), 0.1), 1e9)
    learner = learner_of(reinforce(), 128, module, spec_of(module), stepper, 1, lambda x: x)
    rng = np.random.default_rng(0)
    for update in range(15):
        with torch.no_grad():
            log_probs = log_softmax(module(torch.ones(64, 2)).dist_inputs.numpy())
        arms = choose(log_probs, rng.random(64)).tolist()
        ticks = [
            tick for arm in arms for tick in (Tick([1, 1], arm, float(arm)), Tick([1, 1], kind=RowKind.TERMINATED))
        ]
        learned = learner.update(batch_of(ticks, module), torch.Generator().manual_seed(update))
    output = module(torch.ones(1, 2))
    assert output.dist_inputs.softmax(-1)[0, 1].item() > 0.9
    assert output.value.item() == pytest.approx(1.0, abs=0.3)
    assert learned.metrics["optimizer_steps"] == 1


@pytest.mark.parametrize("memory", MEMORIES)
def test_equal_rows_teach_it_the_same_whatever_brought_them(memory: str) -> None:
    found = []
    for bring in BRINGERS:
        module = network(MEMORIES[memory])
        stepper = plain_stepper(module, torch.optim.SGD(module.parameters(), 0.1), 1e9)
        learner = learner_of(reinforce(), 24, module, spec_of(module), stepper, 1, lambda x: x)
        rows = bring(games(spec_of(module), 4), spec_of(module))
        batch = {name: torch.from_numpy(np.ascontiguousarray(column)) for name, column in rows.items()}
        learner.update(batch, torch.Generator().manual_seed(0))
        found.append(to_arrays(module))
    before = to_arrays(network(MEMORIES[memory]))
    assert any((before[name] != array).any() for name, array in found[0].items())
    for other in found[1:]:
        for name, array in found[0].items():
            np.testing.assert_allclose(other[name], array, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_it_learns_cartpole() -> None:
    proof = Learning("rl.yaml", 0, changes=[OWN, "trainers.main.optimizer.learning_rate=3e-3"]).run(
        20_000, promising=475
    )
    assert proof.mean_return >= 100, proof.curve  # An untrained policy reaches about 20.


BRINGERS: tuple[Callable[[Rows, Any], Rows], ...] = (from_queue, from_table, from_file)
