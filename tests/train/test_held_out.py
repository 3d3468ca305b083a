"""Losses on rows that were set aside."""

from pathlib import Path

import numpy as np
import pytest
import torch

from app.config.active import active
from app.config.load import load
from app.config.root import ExperimentConfig
from app.models.module import build_module, spec_of
from tests.ring.demos import write_demos
from train.held_out import HeldOut
from train.learning import make_held_out
from train.strategies.build import wrap
from train.strategies.strategy import Place, Trained

RL = Path(__file__).parents[2] / "configs" / "rl.yaml"


def config(folder: Path, *overrides: str) -> ExperimentConfig:
    demos = (
        "trainers.main.inputs=[{source: demos, batch_rows: 64, algorithm: {kind: bc, minibatch_rows: 32}}]",
        f"sources.demos={{kind: npz, path: {folder}, held_out_share: 0.5}}",
        "trainers.main.evaluation={every_updates: 2, held_out_batches: 3}",
    )
    return active(load(RL, [*demos, *overrides]))


def held_out(made: ExperimentConfig) -> tuple[list[HeldOut], Trained, torch.nn.Module]:
    model = made.models["main"]
    module = build_module(model.factory, model.kwargs, 0)
    trained = wrap(made.trainers["main"], module, Place())
    return make_held_out(made, made.trainers["main"], trained, module), trained, module


def test_the_loss_is_that_of_the_present_network_which_stays_as_it_is(tmp_path: Path) -> None:
    write_demos(tmp_path, shards=4)
    (measuring,), _, module = held_out(config(tmp_path))
    before = [x.clone() for x in module.state_dict().values()]
    first = measuring.measure(torch.device("cpu"))
    assert first["held_out/demos/loss_policy"] > 0
    assert "held_out/demos/grad_norm" not in first
    assert all(torch.equal(a, b) for a, b in zip(before, module.state_dict().values(), strict=True))
    assert measuring.measure(torch.device("cpu")) == first
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(3.0)
    assert measuring.measure(torch.device("cpu"))["held_out/demos/loss_policy"] != first["held_out/demos/loss_policy"]


@pytest.mark.parametrize("override", ["sources.demos.held_out_share=0", "trainers.main.evaluation=null"])
def test_where_nothing_is_set_aside_or_asked_nothing_is_measured(tmp_path: Path, override: str) -> None:
    write_demos(tmp_path, shards=2)
    assert spec_of(held_out(config(tmp_path))[2]) is not None
    assert held_out(config(tmp_path, override))[0] == []


def test_another_source_is_preprocessed_by_its_own_function(tmp_path: Path) -> None:
    write_demos(tmp_path / "plain", shards=1)
    (tmp_path / "raw").mkdir()
    columns = dict(np.load(tmp_path / "plain/0.npz"))
    wide = np.concatenate([2.0 * columns["observation"], np.zeros((len(columns["action"]), 2))], axis=1)
    np.savez(tmp_path / "raw/0.npz", **columns | {"observation": wide})  # type: ignore[arg-type]
    raw = f"sources.raw={{kind: npz, path: {tmp_path}/raw, preprocess: 'tests.ring.demos:halved'}}"
    plain = f"sources.plain={{kind: npz, path: {tmp_path}/plain}}"
    found = []
    for trained, aside in (("plain", "raw"), ("raw", "plain"), ("plain", "plain")):
        inputs = f"trainers.main.inputs.0.source={trained}", f"sources.{trained}.held_out_source={aside}"
        (measuring,), _, _ = held_out(config(tmp_path / "plain", raw, plain, *inputs))
        found.append(measuring.measure(torch.device("cpu")))
    losses = [next(value for name, value in one.items() if name.endswith("/loss_policy")) for one in found]
    assert losses == [losses[0]] * 3
