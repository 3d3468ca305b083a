"""Who is admitted, with what, and what everybody else is told."""

from collections.abc import Callable

import pytest

from app.errors import OverloadedError, StepError, UnauthorizedError
from app.sessions import holders, tokens
from app.sessions.bindings import OVER_KEPT, Bindings
from app.sessions.doors import Doors
from app.sessions.keys import Key, Quota
from app.sessions.refusals import NOBODY, NOTICE_EVERY_S, Reason, Refusal
from app.sessions.tokens import CLOCK_SKEW_S, SESSION_AGE_S
from app.types import Purpose, StepKind
from app.wire.step_fields import minted_once
from app.wire.steps import Credentials, StepRequest
from app.wire.token import sign

NOW = 1_700_000_000.0
SECRET = "a secret of thirty-two characters"  # noqa: S105  # Of these tests alone.
PLAIN = Key("plain", "the key of plain")
SIGNED = Key("signed", "signed", SECRET, require_token=True)
STATIC = Key("static", "static", SECRET, require_token=True, static_token=True)


def doors(*keys: Key, purpose: Purpose = Purpose.PLAY, notice: Callable[[Refusal], None] = lambda _: None) -> Doors:
    return Doors(keys, purpose, notice)


def step(
    kind: StepKind = StepKind.TICK, session: str = "g", who: Credentials | None = None, purpose: Purpose | None = None
) -> StepRequest:
    return StepRequest(session, kind, b"", purpose=purpose, credentials=who)


def signed(session: str = "g", time: float | str = NOW, key: str = "signed", secret: str = SECRET) -> Credentials:
    text = time if isinstance(time, str) else str(int(time))
    return Credentials(key, text, sign(secret, key, text, session))


def refusal(got: Doors, request: StepRequest, now_s: float = NOW) -> StepError:
    with pytest.raises(StepError) as caught:
        got.admit(request, now_s)
    return caught.value


def open_session(got: Doors, session: str, key: str, now_s: float = NOW) -> None:
    """Does what a table does at a start."""
    request = step(StepKind.START, session, Credentials(key))
    got.admit(request, now_s)
    got.check(request, now_s)
    got.bind(session, got.place(request, now_s))


def foreign(got: Doors, kind: StepKind, session: str, key: str) -> bool:
    """Returns whether a session is another key's."""
    try:
        got.check(step(kind, session, Credentials(key)), NOW)
    except UnauthorizedError as error:
        return "another key" in str(error)
    return False


# Keys


def test_without_keys_everybody_is_admitted_and_nothing_is_counted() -> None:
    got = Doors(None, Purpose.PLAY)
    assert not got.guarded
    assert got.admit(step(), NOW).key is None
    assert got.usage() == {}


def test_an_empty_set_of_keys_refuses_everybody() -> None:
    got = doors()
    assert got.guarded
    assert refusal(got, step(who=Credentials(""))).code == "unauthorized"
    assert refusal(got, step(who=Credentials(NOBODY))).code == "unauthorized"


def test_a_key_without_a_token_is_enough_where_none_is_required() -> None:
    assert doors(PLAIN).admit(step(who=Credentials("the key of plain")), NOW).key == "plain"


def test_a_step_without_a_key_is_told_where_to_put_one() -> None:
    error = refusal(doors(PLAIN), step())
    assert (error.code, error.status) == ("unauthorized", 401)
    assert "field key" in str(error)


def test_a_name_is_not_a_key() -> None:
    assert isinstance(refusal(doors(PLAIN), step(who=Credentials("plain"))), UnauthorizedError)


def test_two_keys_of_one_name_or_value_are_refused_and_change_nothing() -> None:
    got = doors(PLAIN)
    for wrong in ([SIGNED, Key("signed", "other")], [SIGNED, Key("other", "signed")]):
        with pytest.raises(ValueError, match="must differ"):
            got.swap(wrong)
    assert got.admit(step(who=Credentials(PLAIN.key)), NOW)


# Tokens


def test_an_unknown_key_and_a_wrong_token_are_told_the_same() -> None:
    wrong = "0" * 64
    told = {
        str(refusal(doors(PLAIN, SIGNED), step(who=Credentials(key, str(int(NOW)), wrong))))
        for key in ("signed", "sIgned")
    }
    assert len(told) == 1
    missing = {str(refusal(doors(PLAIN, SIGNED), step(who=Credentials(key)))) for key in ("signed", "sIgned")}
    assert len(missing) == 1


def test_an_unknown_key_is_compared_in_constant_time_as_often_as_a_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    hmacs: list[str] = []
    real, real_sign = holders.hmac.compare_digest, sign

    def counted(left: bytes, right: bytes) -> bool:
        compared.append((left, right))
        return real(left, right)

    def counted_sign(secret: str, key: str, time: str, session: str) -> str:
        hmacs.append(key)
        return real_sign(secret, key, time, session)

    monkeypatch.setattr(holders.hmac, "compare_digest", counted)
    monkeypatch.setattr("app.sessions.keys.sign", counted_sign)
    counts = []
    for key in ("signed", "nobody"):
        compared.clear()
        hmacs.clear()
        refusal(doors(SIGNED), step(who=Credentials(key, str(int(NOW)), "0" * 64)))
        counts.append((len(compared), len(hmacs)))
    assert counts[0] == counts[1]
    assert min(counts[0]) > 0


def test_the_token_of_the_key_that_stands_for_strangers_opens_nothing() -> None:
    time = str(int(NOW))
    assert refusal(doors(SIGNED), step(who=Credentials("", time, sign("", "", time, "g")))).code == "unauthorized"
    assert refusal(doors(SIGNED), step(who=Credentials("nobody", time, sign("", "", time, "g")))).code == "unauthorized"


def test_a_token_may_be_written_in_capitals() -> None:
    who = signed()
    assert doors(SIGNED).admit(step(who=Credentials(who.key, who.time, who.token.upper())), NOW)


def test_a_token_is_good_for_its_session_alone() -> None:
    got = doors(SIGNED)
    assert got.admit(step(StepKind.START, "g", signed("g")), NOW)
    assert "token is wrong" in str(refusal(got, step(StepKind.START, "h", signed("g"))))
    assert "token is wrong" in str(refusal(got, step(StepKind.TICK, "", signed("g"))))


@pytest.mark.parametrize("kind", [StepKind.START, StepKind.AUTO])
def test_a_start_needs_a_time_near_the_clock(kind: StepKind) -> None:
    got = doors(SIGNED)
    for off_s in (-CLOCK_SKEW_S, 0, CLOCK_SKEW_S):
        assert got.admit(step(kind, "g", signed(time=NOW + off_s)), NOW)
    for off_s in (-CLOCK_SKEW_S - 1, CLOCK_SKEW_S + 1):
        assert f"clock {NOW:.0f}" in str(refusal(got, step(kind, "g", signed(time=NOW + off_s))))


def test_a_session_goes_on_for_a_day_with_the_token_of_its_start_even_if_it_is_no_longer_kept() -> None:
    got, who = doors(SIGNED), signed()
    got.admit(step(StepKind.START, who=who), NOW)
    for kept in (True, False):
        if not kept:
            got.swap([SIGNED])
        assert got.admit(step(who=who), NOW + SESSION_AGE_S)
        assert "time is" in str(refusal(got, step(who=who), NOW + SESSION_AGE_S + 1))
    assert "time is" in str(refusal(got, step(StepKind.START, who=who), NOW + SESSION_AGE_S))


def test_a_token_of_no_session_serves_all_of_the_key_but_not_for_long() -> None:
    got, who = doors(SIGNED), signed("")
    for session in ("", "g", "h", minted_once(StepKind.START, "once")):
        assert got.admit(step(StepKind.START, session, who), NOW).key == "signed"
        assert got.admit(step(StepKind.TICK, session, who), NOW + CLOCK_SKEW_S).key == "signed"
        assert "time is" in str(refusal(got, step(StepKind.TICK, session, who), NOW + CLOCK_SKEW_S + 1))
        assert "time is" in str(refusal(got, step(StepKind.TICK, session, who), NOW - CLOCK_SKEW_S - 1))


@pytest.mark.parametrize("time", ["", "soon", "1e9", "-5", "+5", " 5", "1" * 19, "١٧", "1700000000.0"])
def test_a_signed_time_that_is_no_time_is_refused(time: str) -> None:
    assert "allowed are Unix seconds" in str(refusal(doors(SIGNED), step(who=signed(time=time))))


def test_a_repeated_token_costs_no_hmac(monkeypatch: pytest.MonkeyPatch) -> None:
    got, who = doors(SIGNED), signed()
    got.admit(step(who=who), NOW)

    def never(*_: str) -> str:
        raise AssertionError("it was computed again")

    monkeypatch.setattr("app.sessions.keys.sign", never)
    again = Credentials(who.key, who.time, who.token)
    assert got.admit(step(who=again), NOW + 1)


def test_only_good_tokens_are_kept_and_no_more_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tokens.Tokens(kept=3)
    for session in "abcd":
        assert kept.scope(SIGNED, signed(session), session, known=True) is tokens.Scope.SESSION
        assert kept.scope(SIGNED, Credentials("signed", "5", "0" * 64), session, known=True) is None
        assert kept.scope(SIGNED, signed(session, "7"), session, known=False) is None
    computed: list[str] = []
    monkeypatch.setattr("app.sessions.keys.sign", lambda *words: computed.append(words[3]) or sign(*words))
    for session in "bcd":
        kept.scope(SIGNED, signed(session), session, known=True)
    assert computed == []
    kept.scope(SIGNED, signed("a"), "a", known=True)
    assert computed == ["a"]


# Static tokens


@pytest.mark.parametrize("time", ["0", "8", ""])
def test_a_static_token_is_good_in_any_session_and_at_any_time_where_the_key_allows_it(time: str) -> None:
    got = doors(STATIC, SIGNED)
    token = sign(SECRET, "static", "", "")
    for kind in (StepKind.START, StepKind.TICK, StepKind.STOP):
        assert got.admit(step(kind, "any", Credentials("static", time, token)), 5.0 * NOW).key == "static"


@pytest.mark.parametrize("time", ["0", "8", "", str(int(NOW))])
def test_a_static_token_is_nothing_where_the_key_does_not_allow_it(time: str) -> None:
    for session in ("", "g"):
        who = Credentials("signed", time, sign(SECRET, "signed", "", ""))
        assert isinstance(refusal(doors(SIGNED, STATIC), step(session=session, who=who)), UnauthorizedError)


def test_a_key_with_a_static_token_takes_ordinary_tokens_too() -> None:
    assert doors(STATIC).admit(step(who=signed(key="static")), NOW).key == "static"
    assert "time is" in str(refusal(doors(STATIC), step(who=signed(key="static", time="1"))))


# Purposes


def test_a_start_for_what_the_key_may_not_be_used_for_is_told_the_allowed_purposes() -> None:
    key = Key("eval", "the key", purposes=frozenset({Purpose.EVALUATE, Purpose.PLAY}))
    error = refusal(doors(key), step(StepKind.START, "", Credentials("the key"), Purpose.TRAIN))
    assert error.code == "unauthorized"
    assert str(error) == "key 'eval' may not be used for the purpose train; allowed: evaluate, play"


def test_a_start_without_a_purpose_gets_the_default_only_where_the_key_may() -> None:
    key, start = Key("eval", "the key", purposes=frozenset({Purpose.EVALUATE})), step(StepKind.START, "", None)
    start = step(StepKind.START, "", Credentials("the key"))
    assert "train, the service's own where none is given" in str(refusal(doors(key, purpose=Purpose.TRAIN), start))
    assert doors(key, purpose=Purpose.EVALUATE).admit(start, NOW)


def test_a_stateless_answer_is_play() -> None:
    key = Key("learner", "the key", purposes=frozenset({Purpose.TRAIN}))
    assert "purpose play; allowed: train" in str(refusal(doors(key), step(StepKind.AUTO, "", Credentials("the key"))))


def test_the_purpose_of_a_tick_is_not_looked_at() -> None:
    key = Key("eval", "the key", purposes=frozenset({Purpose.EVALUATE}))
    assert doors(key).admit(step(who=Credentials("the key"), purpose=Purpose.TRAIN), NOW)


# Sessions


def test_a_session_answers_to_the_key_that_started_it_alone() -> None:
    got = doors(PLAIN, Key("other", "the other key"))
    open_session(got, "g", PLAIN.key)
    for kind in (StepKind.START, StepKind.TICK, StepKind.STOP):
        assert foreign(got, kind, "g", "the other key")
        assert not foreign(got, kind, "g", PLAIN.key)
        assert not foreign(got, kind, "h", "the other key")
    assert got.usage()["other"] == {"steps": 0, "sessions": 0, "refused_session": 3}


def test_the_owner_of_a_session_does_not_check_a_forwarded_step_again() -> None:
    got = doors(SIGNED)
    forwarded = step(StepKind.START, "g", Credentials("signed"))
    got.check(forwarded, NOW)
    assert got.place(forwarded, NOW) == "signed"
    assert got.usage()["signed"]["steps"] == 0, "the replica that admitted the step has counted it"


def test_a_forwarded_step_under_a_key_that_is_not_read_yet_is_to_be_sent_again() -> None:
    got = doors(PLAIN)
    forwarded = step(StepKind.START, "g", Credentials("the newest key"))
    for ask in (got.check, got.place):
        with pytest.raises(OverloadedError, match="send the step again"):
            ask(forwarded, NOW)
        with pytest.raises(UnauthorizedError, match="a replica that asks for no key"):
            ask(step(), NOW)


def test_a_session_of_before_there_were_keys_goes_on_with_any() -> None:
    got = doors(PLAIN)
    got.bind("g", None)
    got.check(step(who=Credentials(PLAIN.key)), NOW)
    assert got.usage()["plain"]["sessions"] == 0


def test_without_keys_sessions_are_everybodys() -> None:
    got = Doors(None, Purpose.PLAY)
    got.check(step(), NOW)
    assert got.place(step(StepKind.START), NOW) is None
    got.bind("g", "a key of before")
    got.check(step(who=Credentials("another")), NOW)
    got.ended("g")


def test_the_last_reply_of_a_session_that_is_over_is_for_its_key_and_its_id_for_all() -> None:
    got = doors(PLAIN, Key("other", "the other key"))
    open_session(got, "g", PLAIN.key)
    got.ended("g")
    assert foreign(got, StepKind.STOP, "g", "the other key")
    open_session(got, "g", "the other key")
    assert foreign(got, StepKind.STOP, "g", PLAIN.key)


def test_sessions_that_are_over_are_remembered_up_to_a_number() -> None:
    bindings = Bindings()
    for number in range(OVER_KEPT + 1):
        bindings.bind(str(number), "a")
        bindings.end(str(number))
    assert (bindings.last_holder("0"), bindings.last_holder("1")) == (None, "a")
    assert bindings.open_sessions("a") == 0


# Quotas


def test_a_key_opens_no_more_sessions_than_it_may_and_one_that_ends_makes_room() -> None:
    got = doors(Key("small", "the key", quota=Quota(max_sessions=2)), PLAIN)
    open_session(got, "a", "the key")
    open_session(got, "b", "the key")
    with pytest.raises(OverloadedError, match="'small' has 2 sessions open; allowed are 2"):
        open_session(got, "c", "the key")
    open_session(got, "c", PLAIN.key)
    got.ended("a")
    got.ended("a")
    open_session(got, "d", "the key")
    with pytest.raises(OverloadedError):
        open_session(got, "e", "the key")


def test_a_start_that_is_repeated_takes_no_second_place() -> None:
    got = doors(Key("small", "the key", quota=Quota(max_sessions=1)))
    open_session(got, "a", "the key")
    got.ended("a")  # The table closes the old episode before the new one.
    open_session(got, "a", "the key")
    got.bind("a", "small")
    assert got.usage()["small"]["sessions"] == 1


def test_more_steps_than_the_rate_are_told_it_and_cost_another_key_nothing() -> None:
    got = doors(Key("slow", "the key", quota=Quota(steps_per_s=10, burst_steps=5)), PLAIN)
    request = step(who=Credentials("the key"))
    for _ in range(5):
        got.admit(request, NOW)
    error = refusal(got, request)
    assert (error.code, error.retry_after_s) == ("overloaded", 1)
    assert "'slow' sends more steps than the 10 a second" in str(error)
    assert got.admit(step(who=Credentials(PLAIN.key)), NOW)
    assert got.admit(request, NOW + 0.25)


# Administrators


def test_only_a_key_that_says_so_opens_what_administrators_see() -> None:
    admin = Key("admin", "admin", SECRET, require_token=True, admin=True)
    got = doors(admin, SIGNED, PLAIN)
    assert got.may_see(signed("", key="admin"), NOW)
    for who in (None, signed(""), Credentials(PLAIN.key), Credentials("admin"), signed("g", key="admin")):
        assert not got.may_see(who, NOW)
    assert not got.may_see(signed("", key="admin"), NOW + CLOCK_SKEW_S + 1)
    assert Doors(None, Purpose.PLAY).may_see(None, NOW)


# Exchange of keys


def test_an_exchange_takes_effect_at_once_even_for_tokens_that_were_good() -> None:
    got, whole = doors(SIGNED), signed("")
    request, batch = step(who=signed()), step(who=whole)
    for good in (request, batch):
        got.admit(good, NOW)
    got.swap([Key("signed", "signed", "another secret of some length", require_token=True)])
    for stale in (request, batch):
        assert refusal(got, stale).code == "unauthorized"
    got.swap([])
    assert refusal(got, request).code == "unauthorized"


def test_an_exchange_keeps_sessions_counts_and_the_rate_of_a_name_that_stays() -> None:
    def slow(key: str) -> Key:
        return Key("slow", key, quota=Quota(max_sessions=1, steps_per_s=1, burst_steps=2))

    got = doors(slow("old key"))
    open_session(got, "g", "old key")
    got.admit(step(who=Credentials("old key")), NOW)
    got.swap([slow("new key")])
    assert isinstance(refusal(got, step(who=Credentials("old key"))), UnauthorizedError)
    assert isinstance(refusal(got, step(who=Credentials("new key"))), OverloadedError)
    assert got.admit(step(who=Credentials("new key")), NOW + 1)
    with pytest.raises(OverloadedError):
        open_session(got, "h", "new key", NOW + 5)
    assert got.usage()["slow"]["steps"] == 4
    got.swap([])
    got.ended("g")
    got.swap([slow("new key")])
    assert got.usage()["slow"] == {"steps": 4, "sessions": 0, "refused_rate": 1, "refused_sessions": 1}


# Counts


def test_refusals_are_counted_by_key_and_reason() -> None:
    got = doors(SIGNED, PLAIN)
    refusal(got, step())
    refusal(got, step(who=Credentials("nobody")))
    refusal(got, step(who=Credentials("signed")))
    refusal(got, step(who=signed(time="1")))
    assert got.usage() == {
        "signed": {"steps": 0, "sessions": 0, "refused_credentials": 1, "refused_time": 1},
        "plain": {"steps": 0, "sessions": 0},
        NOBODY: {"steps": 0, "sessions": 0, "refused_no_key": 1, "refused_credentials": 1},
    }


def test_the_first_refusal_of_each_key_and_reason_in_a_minute_is_told() -> None:
    told: list[Refusal] = []
    got = doors(SIGNED, notice=told.append)
    for at in (0.0, 1.0, 2.0, NOTICE_EVERY_S):
        refusal(got, step(), NOW + at)
        refusal(got, step(who=Credentials("nobody")), NOW + at)
    assert [(refused.reason, refused.count) for refused in told] == [
        (Reason.NO_KEY, 1),
        (Reason.CREDENTIALS, 1),
        (Reason.NO_KEY, 3),
        (Reason.CREDENTIALS, 3),
    ]
    assert {refused.key for refused in told} == {NOBODY}
