"""Whatever a client sends as credentials, it gets in only with what the key's holder can know."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.errors import UnauthorizedError
from app.sessions.doors import Doors
from app.sessions.keys import Key
from app.types import Purpose, StepKind
from app.wire.steps import Credentials, StepRequest
from app.wire.token import sign

NOW = 1_700_000_000
SECRET = "a secret of thirty-two characters"  # noqa: S105  # Of these tests alone.
ANY = st.text(st.characters(), max_size=80)  # With surrogates, controls and all scripts.
TIMES = ANY | st.integers(NOW - 400, NOW + 400).map(str) | st.just("")
SESSIONS = st.sampled_from(["", "g", "g-agent-a"]) | ANY
KINDS = st.sampled_from(list(StepKind))


def guarded() -> Doors:
    keys = [Key("signed", "signed", SECRET, require_token=True), Key("static", "s", SECRET, static_token=True)]
    return Doors([*keys, Key("plain", "the key of plain")], Purpose.PLAY)


@given(
    ANY | st.just("signed"), TIMES, ANY | st.text("0123456789abcdefABCDEF", min_size=64, max_size=64), SESSIONS, KINDS
)
def test_made_up_credentials_are_unauthorized_and_nothing_else(
    key: str, time: str, token: str, session: str, kind: StepKind
) -> None:
    assume(key not in ("the key of plain", "s"))
    with pytest.raises(UnauthorizedError) as caught:
        guarded().admit(StepRequest(session, kind, b"", credentials=Credentials(key, time, token)), NOW)
    assert SECRET not in str(caught.value)
    str(caught.value).encode(errors="replace")


@given(st.integers(NOW - 300, NOW + 300).map(str), st.text(max_size=40), KINDS)
def test_a_token_that_is_signed_well_is_admitted_whatever_the_session(time: str, session: str, kind: StepKind) -> None:
    doors = guarded()
    for signed in (session, ""):
        who = Credentials("signed", time, sign(SECRET, "signed", time, signed))
        assert doors.admit(StepRequest(session, kind, b"", credentials=who), NOW).key == "signed"


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_token_is_of_no_use_in_another_session(signed: str, session: str) -> None:
    assume(signed and signed != session)
    who = Credentials("signed", str(NOW), sign(SECRET, "signed", str(NOW), signed))
    doors = guarded()
    doors.admit(StepRequest(signed, StepKind.START, b"", credentials=who), NOW)
    with pytest.raises(UnauthorizedError):
        doors.admit(StepRequest(session, StepKind.TICK, b"", credentials=who), NOW)
