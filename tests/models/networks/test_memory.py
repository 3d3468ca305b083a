import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from app.models.networks.memory import Gru, Lstm, Memory, State

INPUTS, UNITS = 3, 4


def made(kind: type[Lstm] | type[Gru]) -> Memory:
    torch.manual_seed(0)
    return kind(INPUTS, UNITS)


def state_of(memory: Memory, games: int, seed: int = 1) -> State:
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(games, UNITS, generator=generator) for name in memory.parts}


every_kind = pytest.mark.parametrize("kind", [Lstm, Gru])


@every_kind
def test_a_sequence_without_resets_is_that_of_torch(kind: type[Lstm] | type[Gru]) -> None:
    memory = made(kind)
    oracle = (torch.nn.LSTM if kind is Lstm else torch.nn.GRU)(INPUTS, UNITS)
    cell = memory.cell
    oracle.load_state_dict({f"{name}_l0": x for name, x in cell.state_dict().items()})
    features, state = torch.randn(6, 2, INPUTS), state_of(memory, 2)
    first = state["hidden"][None]
    expected, _ = oracle(features, (first, state["cell"][None]) if kind is Lstm else first)
    found, last = memory.unroll(features, state, torch.zeros(6, 2, dtype=torch.bool))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(last["hidden"], expected[-1])


@every_kind
@settings(deadline=None, max_examples=25)
@given(resets=st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=6))
def test_a_sequence_is_exactly_what_tick_by_tick_gives(kind: type[Lstm] | type[Gru], resets: list[list[bool]]) -> None:
    memory, reset = made(kind), torch.tensor(resets)
    features, state = torch.randn(len(resets), 3, INPUTS), state_of(memory, 3)
    found, last = memory.unroll(features, state, reset)
    for t in range(len(resets)):
        state = {name: torch.where(reset[t][:, None], 0.0, part) for name, part in state.items()}
        out, state = memory(features[t], state)
        assert torch.equal(found[t], out)
    assert all(torch.equal(last[name], state[name]) for name in memory.parts)


@every_kind
def test_nothing_crosses_the_boundary_of_an_episode_not_even_a_gradient(kind: type[Lstm] | type[Gru]) -> None:
    memory = made(kind)
    features = torch.randn(4, 1, INPUTS, requires_grad=True)
    state = {name: torch.full((1, UNITS), float("nan")) for name in memory.parts}
    reset = torch.tensor([[True], [False], [True], [False]])
    found, _ = memory.unroll(features, state, reset)
    assert torch.isfinite(found).all()
    fresh, _ = memory.unroll(features[2:], {n: torch.zeros(1, UNITS) for n in memory.parts}, reset[3:].expand(2, 1))
    assert torch.equal(found[2:], fresh)
    found[3].sum().backward()  # type: ignore[no-untyped-call]
    assert features.grad is not None
    assert not features.grad[:2].any()
    assert features.grad[2:].any(dim=-1).all()


@pytest.mark.parametrize(
    "reset", [torch.zeros(5, 2, dtype=torch.bool), torch.zeros(6, 2), torch.zeros(6, dtype=torch.bool)]
)
def test_shapes_that_do_not_fit_are_refused(reset: torch.Tensor) -> None:
    memory = made(Gru)
    with pytest.raises(ValueError, match=r"unroll needs features \[T, B, inputs\] and reset bool \[T, B\]"):
        memory.unroll(torch.zeros(6, 2, INPUTS), state_of(memory, 2), reset)
