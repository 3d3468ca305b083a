"""Places in what is read: out of batches, into checkpoints, and back."""

import torch

from train.bookmarks import bookmark_in, bookmark_of

SAVED = [(2, 0, 5, 1), (1, 3, 0, 0)]


def test_a_batch_of_a_source_says_where_the_next_one_begins() -> None:
    assert bookmark_in({"position": torch.tensor([[1, 2, 3, 4]] * 3), "batch": torch.zeros(3)}) == (1, 2, 3, 4)
    assert bookmark_in({"batch": torch.zeros(3)}) is None


def test_each_worker_goes_on_where_it_was() -> None:
    assert [bookmark_of(SAVED, rank, 2) for rank in (0, 1)] == SAVED


def test_another_number_of_workers_begins_the_oldest_epoch_anew() -> None:
    assert [bookmark_of(SAVED, rank, 3) for rank in range(3)] == [(1, 0, 0, 0)] * 3
    assert bookmark_of(SAVED, 0, 1) == (1, 0, 0, 0)


def test_without_a_place_the_start_is_it() -> None:
    assert bookmark_of(None, 0, 1) is None
    assert bookmark_of([], 0, 1) is None
    assert bookmark_of([None, None], 1, 2) is None
