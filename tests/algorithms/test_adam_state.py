import torch
from torch import nn

from app.algorithms.adam_state import adam_state, load_adam


def made() -> tuple[nn.Linear, torch.optim.Adam]:
    torch.manual_seed(0)
    layer = nn.Linear(2, 1)
    return layer, torch.optim.Adam(layer.parameters(), 0.1)


def step(layer: nn.Linear, optimizer: torch.optim.Adam) -> None:
    optimizer.zero_grad()
    layer(torch.tensor([[1.0, -2.0]])).square().sum().backward()
    optimizer.step()


def test_before_the_first_step_it_has_its_later_shape_and_nothing_in_it() -> None:
    state = adam_state(made()[1])
    parts = ("step", "exp_avg", "exp_avg_sq")
    assert list(state) == [f"{at}.{part}" for at in range(2) for part in parts]
    assert [tuple(x.shape) for x in state.values()] == [(), (1, 2), (1, 2), (), (1,), (1,)]
    assert all(not x.any() for x in state.values())


def test_moments_after_a_step_by_hand() -> None:
    """β₁ = 0.9 and β₂ = 0.999: a tenth of the gradient, and a thousandth of its square."""
    layer, optimizer = made()
    slope = 2 * layer(torch.tensor([[1.0, -2.0]])).item()
    step(layer, optimizer)
    state = adam_state(optimizer)
    assert state["1.step"].item() == 1
    torch.testing.assert_close(state["0.exp_avg"], 0.1 * slope * torch.tensor([[1.0, -2.0]]))
    torch.testing.assert_close(state["1.exp_avg_sq"], torch.tensor([0.001 * slope**2]))


def test_it_goes_on_bit_by_bit_also_from_before_the_first_step() -> None:
    for steps in (0, 3):
        layer, optimizer = made()
        for _ in range(steps):
            step(layer, optimizer)
        other, resumed = made()
        other.load_state_dict(layer.state_dict())
        load_adam(resumed, adam_state(optimizer))
        for _ in range(2):
            step(layer, optimizer)
            step(other, resumed)
        assert torch.equal(layer.weight, other.weight)


def test_what_is_returned_is_a_copy() -> None:
    layer, optimizer = made()
    step(layer, optimizer)
    state = adam_state(optimizer)
    load_adam(optimizer, state)
    step(layer, optimizer)
    assert state["0.step"].item() == 1
