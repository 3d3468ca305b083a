import numpy as np
import pytest

from app.agents.unroll import Row
from app.models.spec import ModelSpec
from app.replay.rows import count, empty_batch, row_dtypes
from app.types import RowKind
from tests.small_policy import discrete

SPEC = discrete((4, 2), 3, "uint8")


def test_the_columns_are_those_of_a_row_in_its_order_without_what_the_model_has_not() -> None:
    assert tuple(row_dtypes(SPEC)) == tuple(name for name in Row._fields if name not in ("state", "policy_target"))


def test_a_policy_that_announces_a_target_has_a_column_for_it() -> None:
    spec = ModelSpec(SPEC.observation, SPEC.action, policy_target=True)
    assert {k: v for k, v in row_dtypes(spec).items() if k not in row_dtypes(SPEC)} == {
        "policy_target": (np.dtype(np.float32), (3,))
    }
    assert not empty_batch(spec, 2)["policy_target"].any()


def test_an_empty_batch_has_every_column_and_nothing_to_learn_from() -> None:
    batch = empty_batch(SPEC, 5)
    assert {name: (column.dtype, column.shape[1:]) for name, column in batch.items()} == row_dtypes(SPEC)
    assert count(batch) == 5
    assert not batch["weight"].any()
    assert set(batch["kind"].tolist()) == {RowKind.LOST}
    assert batch["action_mask"].all()  # A row without a legal action would have no probabilities.
    assert batch["observation"].dtype == np.uint8


def test_the_rows_of_unlike_columns_cannot_be_counted() -> None:
    with pytest.raises(ValueError, match=r"one length, got \{'a': 2, 'b': 3\}"):
        count({"a": np.zeros(2), "b": np.zeros(3)})


def test_no_column_has_no_count() -> None:
    with pytest.raises(ValueError, match="columns of one length"):
        count({})
