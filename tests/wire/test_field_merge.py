from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct, Value
from hypothesis import given
from hypothesis import strategies as st

from app.wire.field_merge import field_difference, merge_fields
from app.wire.messages_pb2 import Answer, Batch, Credentials, Error, Reply, Request, Step


def struct(**members: Any) -> Struct:
    made = Struct()
    made.update(members)
    return made


@pytest.mark.parametrize(
    ("base", "patch", "merged"),
    [
        (Step(session="s", seq=1), Step(seq=2), Step(session="s", seq=2)),
        (Step(seq=1), Step(seq=0), Step(seq=0)),  # A scalar with presence may become 0.
        (Step(session="s"), Step(), Step(session="s")),
        (
            Answer(session="s", error=Error(code="c", message="m")),
            Answer(error=Error(code="d")),
            Answer(session="s", error=Error(code="d", message="m")),
        ),
        (Batch(steps=[Step(session="a")]), Batch(), Batch(steps=[Step(session="a")])),
        (struct(a=1, b=2), struct(c=3), struct(c=3)),  # A map is replaced as a whole.
    ],
)
def test_what_is_present_replaces(base: Any, patch: Any, merged: Any) -> None:
    assert merge_fields(base, patch) == merged


def test_a_repeated_field_is_replaced_and_not_appended_to_however_deep() -> None:
    base = Request(batch=Batch(steps=[Step(session="a"), Step(session="b")]), request_id=1)
    patch = Request(batch=Batch(steps=[Step(session="c")]))
    assert merge_fields(base, patch) == Request(batch=Batch(steps=[Step(session="c")]), request_id=1)


def test_one_member_of_a_oneof_takes_the_place_of_the_other() -> None:
    base = Reply(answer=Answer(session="s"), request_id=4)
    merged = merge_fields(base, Reply(error=Error(code="c")))
    assert merged == Reply(error=Error(code="c"), request_id=4)


def test_a_patch_may_make_an_empty_message_present() -> None:
    patch = field_difference(Request(), Request(credentials=Credentials()))
    assert merge_fields(Request(), patch).HasField("credentials")


def test_a_difference_holds_only_what_differs() -> None:
    old = Request(step=Step(session="s", seq=1, body=b"x" * 100), credentials=Credentials(key="k"))
    new = Request(step=Step(session="s", seq=2, body=b"x" * 100), credentials=Credentials(key="k"))
    assert field_difference(old, new) == Request(step=Step(seq=2))
    assert field_difference(old, old) == Request()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Step(session="s"), Step()),
        (Step(seq=1), Step()),
        (Step(deadline_ms=1), Step(deadline_ms=0)),
        (Batch(steps=[Step()]), Batch()),
        (Request(step=Step(session="s", deadline_ms=1)), Request(step=Step(session="s"))),
        (Answer(error=Error(code="c")), Answer()),
    ],
)
def test_what_a_patch_cannot_say_is_refused(old: Any, new: Any) -> None:
    with pytest.raises(ValueError, match="was cleared or set to its default, which a patch cannot say; send it whole"):
        field_difference(old, new)


texts = st.text("ab", max_size=2)
steps = st.builds(
    Step, session=texts, seq=st.none() | st.integers(0, 2), body=st.binary(max_size=1), deadline_ms=st.integers(0, 2)
)
requests = st.one_of(
    st.builds(Request, step=steps, request_id=st.integers(0, 2)),
    st.builds(Request, batch=st.builds(Batch, steps=st.lists(steps, max_size=2)), protocol=st.integers(0, 2)),
    st.builds(Request, credentials=st.builds(Credentials, key=texts)),
)


@given(requests, requests)
def test_a_difference_leads_from_any_message_to_any_or_is_refused(old: Request, new: Request) -> None:
    try:
        patch = field_difference(old, new)
    except ValueError:
        return
    assert merge_fields(old, patch) == new
    assert patch.ByteSize() <= new.ByteSize()


@given(requests, requests)
def test_merging_changes_neither_argument_and_once_is_as_good_as_twice(base: Request, patch: Request) -> None:
    before = base.SerializeToString(deterministic=True), patch.SerializeToString(deterministic=True)
    merged = merge_fields(base, patch)
    assert (base.SerializeToString(deterministic=True), patch.SerializeToString(deterministic=True)) == before
    assert merge_fields(merged, patch) == merged


@given(st.lists(st.floats(-1, 1), max_size=3), st.lists(st.floats(-1, 1), min_size=1, max_size=3))
def test_lists_of_any_message_are_replaced(old: list[float], new: list[float]) -> None:
    base, patch = Value(list_value=struct(x=old)["x"]), Value(list_value=struct(x=new)["x"])
    assert merge_fields(base, patch) == patch
