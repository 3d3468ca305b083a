import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as drawn

from app.models.networks.normaliser import Normaliser
from app.models.spec import ArraySpec
from app.nested import Structure

SPEC = Structure({"me": ArraySpec((2,)), "picture": ArraySpec((3,), "uint8")})
ROWS = drawn.arrays(np.float32, st.tuples(st.integers(2, 20), st.just(2)), elements=st.floats(-1e3, 1e3, width=16))


def leaves(me: np.ndarray) -> list[torch.Tensor]:
    return [torch.from_numpy(me), torch.full((len(me), 3), 7, dtype=torch.uint8)]


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_moments_over_batches_are_those_of_all_rows_at_once(batches: list[np.ndarray]) -> None:
    normaliser = Normaliser(SPEC)
    for rows in batches:
        normaliser.observe(normaliser.moments(leaves(rows), torch.ones(len(rows))))
    whole = np.concatenate(batches).astype(np.float64)
    np.testing.assert_allclose(normaliser.get_buffer("mean_0"), whole.mean(0), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(normaliser.get_buffer("variance_0"), whole.var(0), rtol=1e-3, atol=1e-2)
    assert int(normaliser.count) == len(whole)


def test_rows_that_do_not_count_are_not_seen_and_workers_add_up() -> None:
    first, second, both = (Normaliser(SPEC) for _ in range(3))
    rows = np.array([[1, 2], [3, 4], [np.nan, np.inf]], np.float32)
    weight = torch.tensor([1.0, 1.0, 0.0])
    one, other = first.moments(leaves(rows), weight), first.moments(leaves(rows + 5), weight)
    for normaliser in (first, second):
        normaliser.observe(one + other)
    both.observe(both.moments(leaves(np.concatenate([rows[:2], rows[:2] + 5])), torch.ones(4)))
    for name, value in both.state_dict().items():
        torch.testing.assert_close(first.state_dict()[name], value)


def test_a_batch_without_a_row_that_counts_changes_nothing() -> None:
    normaliser = Normaliser(SPEC)
    rows = np.ones((3, 2), np.float32)
    normaliser.observe(normaliser.moments(leaves(rows), torch.zeros(3)))
    seen, picture = normaliser(leaves(rows))
    torch.testing.assert_close(seen, torch.ones(3, 2))
    assert picture.dtype == torch.uint8


def test_what_never_changed_is_brought_to_zero_and_what_is_far_off_is_bounded() -> None:
    normaliser = Normaliser(SPEC)
    rows = np.full((10, 2), 5, np.float32)
    normaliser.observe(normaliser.moments(leaves(rows), torch.ones(10)))
    assert normaliser(leaves(rows))[0].abs().max() == 0
    assert normaliser(leaves(rows + 100))[0].tolist() == [[10.0, 10.0]] * 10
