"""Places in what is read: out of batches, into checkpoints, and back."""

import torch

from app.sources.position import Place, Position
from train.bookmarks import bookmark_in, needed, place_of

SAVED = [(2, 0, 5, 1), (1, 3, 0, 0)]
STOPPED = tuple(Position(*bookmark) for bookmark in SAVED)


def test_a_batch_of_a_source_says_where_the_next_one_begins() -> None:
    assert bookmark_in({"position": torch.tensor([[1, 2, 3, 4]] * 3), "batch": torch.zeros(3)}) == (1, 2, 3, 4)
    assert bookmark_in({"batch": torch.zeros(3)}) is None


def test_each_worker_goes_on_where_it_was() -> None:
    assert [place_of(SAVED, [], rank, 2) for rank in (0, 1)] == [Place(position) for position in STOPPED]


def test_another_number_of_workers_shares_out_what_is_left_from_the_oldest_epoch_on() -> None:
    begin = Position(1, 0, 0, 0)
    assert [place_of(SAVED, [], rank, 3) for rank in range(3)] == [Place(begin, (STOPPED,))] * 3
    assert place_of([(1, 0, 7, 0)], [SAVED], 0, 1) == Place(Position(1, 0, 7, 0), (STOPPED,))
    assert place_of([(1, 0, 7, 0)], [SAVED], 1, 2) == Place(begin, (STOPPED, (Position(1, 0, 7, 0),)))
    assert place_of([None, (1, 3, 0, 0)], [], 0, 1) == Place(
        Position(0, 0, 0, 0), ((Position(0, 0, 0, 0), STOPPED[1]),)
    )


def test_without_a_place_the_start_is_it() -> None:
    assert place_of(None, [], 0, 1) is None
    assert place_of([], [], 0, 1) is None
    assert place_of([None, None], [], 1, 2) is None


def test_groups_are_remembered_until_all_workers_are_behind_their_newest_epoch() -> None:
    assert needed((STOPPED,), [Position(3, 0, 0, 0), Position(2, 0, 0, 0)]) == [SAVED]
    assert needed((STOPPED,), [Position(3, 0, 0, 0), None]) == [SAVED]
    assert needed((STOPPED,), [Position(3, 0, 0, 0), Position(4, 0, 0, 0)]) == []
