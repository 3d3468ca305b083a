import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from app.algorithms.normalising import ScalesValue, value_scale
from app.errors import ConfigError
from app.models.module import to_arrays
from app.models.networks.policy import build
from app.models.networks.scaled_value import ScaledValue
from app.models.torch_engine import TorchEngine
from app.types import Version


def scaled(step_size: float = 0.5) -> ScaledValue:
    torch.manual_seed(0)
    return ScaledValue(nn.Linear(3, 1), step_size)


def features() -> torch.Tensor:
    return torch.randn(7, 3, generator=torch.Generator().manual_seed(1))


def test_at_first_it_answers_as_its_head() -> None:
    value = scaled()
    assert torch.equal(value(features()), value.head(features()))
    assert value.deviation.item() == 1.0


def test_it_moves_by_the_step_size_towards_the_batch() -> None:
    value = scaled()
    value.observe(value.moments(torch.tensor([1.0, 3.0, 99.0]), torch.tensor([1.0, 1.0, 0.0])))
    assert (value.mean.item(), value.square.item()) == (1.0, 3.0)  # Halfway from (0, 1) to (2, 5).
    assert value.deviation.item() == pytest.approx(2**0.5)


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=5), st.floats(1e-3, 0.9))
def test_whatever_it_has_seen_it_answers_as_before(targets: list[float], step_size: float) -> None:
    value = scaled(step_size)
    before = value(features()).detach()
    value.observe(value.moments(torch.tensor(targets), torch.ones(len(targets))))
    torch.testing.assert_close(value(features()).detach(), before, rtol=1e-3, atol=1e-3)


def test_sums_of_workers_add_up() -> None:
    alone, one, other = scaled(), scaled(), scaled()
    first, second = torch.tensor([1.0, 5.0]), torch.tensor([-2.0, 7.0, 3.0])
    alone.observe(alone.moments(torch.cat([first, second]), torch.ones(5)))
    total = one.moments(first, torch.ones(2)) + other.moments(second, torch.ones(3))
    for worker in (one, other):
        worker.observe(total)
        assert worker.mean.item() == pytest.approx(alone.mean.item())
        assert worker.deviation.item() == pytest.approx(alone.deviation.item())


def test_while_it_is_evaluated_nothing_changes() -> None:
    value = scaled().eval()
    before = {name: x.clone() for name, x in value.state_dict().items()}
    value.observe(value.moments(torch.tensor([5.0]), torch.ones(1)))
    assert all(torch.equal(x, before[name]) for name, x in value.state_dict().items())


def network() -> nn.Module:
    torch.manual_seed(0)
    encoder = {"kind": "mlp", "hidden": [4]}
    return build({"shape": [3]}, {"choices": 2}, encoder=encoder, popart=0.5)


def test_the_scale_travels_with_the_weights() -> None:
    module = network()
    scale = value_scale(module)
    assert isinstance(scale, ScalesValue)
    scale.observe(scale.moments(torch.tensor([100.0, 300.0]), torch.ones(2)))
    served = TorchEngine(network())
    served.swap(Version(1, 0), served.build(to_arrays(module)))
    with torch.no_grad():
        module.value.head.bias.add_(1)  # type: ignore[union-attr, operator]
        expected = module(features()).value
    served.swap(Version(1, 1), served.build(to_arrays(module)))
    torch.testing.assert_close(torch.from_numpy(served.forward([features().numpy()]).outputs[1]), expected)


@pytest.mark.parametrize("part", [{"critics": {}}, {"q": {}}])
def test_values_of_actions_have_no_such_scale(part: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="popart"):
        build({"shape": [3]}, {"choices": 2}, popart=0.5, **part)
