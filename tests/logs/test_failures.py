import logging
from collections import Counter

import pytest

from app.logs.failures import KINDS_MAX, Failures


def caught(error: Exception) -> Exception:
    """Returns the error as it was raised here."""
    try:
        raise error  # noqa: TRY301
    except Exception as raised:  # noqa: BLE001
        return raised


def test_the_first_of_a_kind_is_logged_and_the_rest_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    counts: Counter[str] = Counter()
    failures = Failures(counts)
    with caplog.at_level(logging.ERROR):
        for _ in range(50):
            failures.tell(caught(ZeroDivisionError("a bug")), "a step failed")
            failures.tell(caught(KeyError("another")), "a step failed")
        try:
            _ = 1 / 0
        except ZeroDivisionError as elsewhere:
            failures.tell(elsewhere, "a step failed")
    assert counts == {"requests_failed": 101}
    assert len(caplog.records) == 3
    assert all(record.exc_info for record in caplog.records)


def test_endless_kinds_do_not_grow(caplog: pytest.LogCaptureFixture) -> None:
    counts: Counter[str] = Counter()
    failures = Failures(counts)
    with caplog.at_level(logging.ERROR):
        for number in range(2 * KINDS_MAX):
            failures.tell(type(f"Strange{number}Error", (Exception,), {})("strange"), "a step failed")
    assert (len(caplog.records), counts["requests_failed"]) == (KINDS_MAX, 2 * KINDS_MAX)
