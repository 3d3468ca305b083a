import os
from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("keras") is None:
    pytest.skip("keras is an extra that is not installed here", allow_module_level=True)
os.environ.setdefault("KERAS_BACKEND", "torch")

import torch
from torch import nn

from app.errors import PluginError
from app.models.distributions.categorical import Categorical
from app.models.export.samples import random_samples
from app.models.module import build_module, from_arrays, spec_of, to_arrays
from app.models.onnx_engine import OnnxEngine
from app.models.spec import ArraySpec
from app.models.torch_engine import TorchEngine

pytestmark = pytest.mark.export

FACTORY = "app.models.keras_model:load"


def build(seed: int = 0) -> nn.Module:
    return build_module(FACTORY, {"model": "tests.models.keras_networks:two_heads"}, seed)


def test_a_keras_model_serves_in_evaluation_mode_and_its_weights_travel() -> None:
    module, other = build(), build()
    assert (spec_of(module).observation, spec_of(module).action) == (ArraySpec((3,)), Categorical(2))
    from_arrays(other, to_arrays(module))
    asked = random_samples(spec_of(module), 5, 1)
    mine, again, theirs = (TorchEngine(x).forward(asked.inputs).outputs for x in (module, module, other))
    for first, second, third in zip(mine, again, theirs, strict=True):
        assert (first == second).all()  # Dropout is off.
        assert (first == third).all()
    assert (mine[0].shape, mine[1].shape) == ((5, 2), (5,))


def test_parameters_follow_from_the_seed_alone() -> None:
    first, again, other = (to_arrays(build(seed)) for seed in (1, 1, 2))
    assert all((first[name] == again[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)


def test_a_keras_model_learns() -> None:
    module = build().train()
    optimizer = torch.optim.Adam(module.parameters(), 0.05)
    generator = torch.Generator().manual_seed(0)
    seen = torch.randn(256, 3, generator=generator)
    wanted = (seen[:, 0] > 0).long()

    def loss() -> torch.Tensor:
        return nn.functional.cross_entropy(module(seen).dist_inputs, wanted)

    before = loss().item()
    for _ in range(40):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    module.eval()
    assert loss().item() < 0.5 * before


def test_a_keras_model_is_exported(tmp_path: Path) -> None:
    engine, asked = OnnxEngine(build(), tmp_path), random_samples(spec_of(build()), 7, 2)
    weights = to_arrays(build())
    engine.load(engine.version, weights)
    module = build()
    from_arrays(module, weights)
    for mine, theirs in zip(
        engine.forward(asked.inputs).outputs, TorchEngine(module).forward(asked.inputs).outputs, strict=True
    ):
        assert abs(mine - theirs).max() < 1e-5


def test_a_model_without_a_value_is_refused() -> None:
    with pytest.raises(PluginError, match="a policy gives two outputs, logits and value"):
        build_module(FACTORY, {"model": "tests.models.keras_networks:one_head"}, 0)
    with pytest.raises(PluginError, match=r"must return a keras\.Model, got dict"):
        build_module(FACTORY, {"model": "builtins:dict"}, 0)
