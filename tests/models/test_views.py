import warnings

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from app.errors import ModelMismatchError
from app.models.module import to_arrays
from app.models.views import NetworkTemplate
from app.types import Arrays


class Network(nn.Module):
    """A weight that two layers share, running statistics, and a buffer that is no weight."""

    scale: Tensor

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.norm = nn.BatchNorm1d(3)
        self.norm.running_mean += seed
        self.register_buffer("scale", torch.tensor(2.0), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.norm(self.second(self.first(x))) * self.scale
        return y


X = torch.tensor([[1.0, -2.0, 0.5]])


def arrays_of(seed: int, *, writeable: bool = False) -> Arrays:
    arrays = to_arrays(Network(seed).eval())
    for array in arrays.values():
        array.flags.writeable = writeable
    return arrays


def test_a_built_network_answers_as_the_one_that_the_weights_come_from() -> None:
    template = NetworkTemplate(Network(0).eval())
    with torch.inference_mode():
        torch.testing.assert_close(template.build(arrays_of(5))(X), Network(5).eval()(X))


def test_parameters_are_the_given_memory_without_a_warning_and_buffers_are_copies() -> None:
    arrays = arrays_of(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        built = NetworkTemplate(Network(0).eval()).build(arrays)
    tensors = built.state_dict()
    same = {name for name, array in arrays.items() if tensors[name].data_ptr() == array.ctypes.data}
    assert same == {"first.bias", "second.weight", "second.bias", "norm.weight", "norm.bias"}  # first.weight is shared.
    assert not built.training


def test_the_memory_lives_as_long_as_the_network() -> None:
    template = NetworkTemplate(Network(0).eval())
    built = [template.build(arrays_of(seed)) for seed in range(20)]
    for seed, network in enumerate(built):
        torch.testing.assert_close(network.first.bias, Network(seed).first.bias)


def test_a_template_holds_no_weights_and_leaves_its_model_alone() -> None:
    network = Network(3)
    before = to_arrays(network)
    template = NetworkTemplate(network.eval())
    assert all(parameter.is_meta for parameter in template._module.parameters())
    assert all(np.array_equal(before[name], array) for name, array in to_arrays(network).items())
    assert template.size_bytes == sum(array.nbytes for array in before.values())


def test_weights_of_another_dtype_become_the_models() -> None:
    doubles = {
        name: array.astype(np.float64) if array.dtype.kind == "f" else array for name, array in arrays_of(5).items()
    }
    built = NetworkTemplate(Network(0).eval()).build(doubles)
    assert built.first.weight.dtype == torch.float32
    torch.testing.assert_close(built.first.bias, Network(5).first.bias)


@pytest.mark.parametrize(
    ("change", "name"),
    [({"first.bias": np.zeros(4, np.float32)}, "first.bias"), ({"extra": np.zeros(1, np.float32)}, "extra")],
)
def test_weights_that_do_not_fit_are_named(change: Arrays, name: str) -> None:
    with pytest.raises(ModelMismatchError, match=f"do not fit the model Network: {name}$"):
        NetworkTemplate(Network(0).eval()).build(arrays_of(1) | change)


class Renamed(nn.Module):
    """Its state has names of its own."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.layer = nn.Linear(3, 1)
        self.register_state_dict_post_hook(_rename)
        self.register_load_state_dict_pre_hook(_rename_back)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(x)
        return y


def _rename(_module: nn.Module, state: dict[str, Tensor], prefix: str, _local: object) -> None:
    state["w"] = state.pop("layer.weight")


def _rename_back(_module: nn.Module, state: dict[str, Tensor], *_: object) -> None:
    state["layer.weight"] = state.pop("w")


def test_a_network_whose_state_has_names_of_its_own_is_copied() -> None:
    template = NetworkTemplate(Renamed(0).eval())
    first, second = (template.build(to_arrays(Renamed(seed))) for seed in (1, 2))
    torch.testing.assert_close(first(X), Renamed(1)(X))
    torch.testing.assert_close(second(X), Renamed(2)(X))
