from dataclasses import replace

from app.logs.entry import Entry
from app.logs.errors import ErrorLog, Wanted

ENTRY = Entry(1.0, "error", "app.x", "p.t", "replica main a", "", "it failed")


def messages(log: ErrorLog, wanted: Wanted) -> list[str]:
    return [kept.entry.message for kept in log.newest(wanted)]


def test_the_same_error_again_is_counted_and_the_newest_again() -> None:
    log = ErrorLog(10)
    log.add(ENTRY)
    log.add(replace(ENTRY, message="another"))
    log.add(replace(ENTRY, time_s=5.0, session="s"))
    first, second = log.newest(Wanted())
    assert (first.entry.message, first.count, first.number) == ("another", 1, 2)
    assert (second.count, second.number, second.first_s, second.entry.time_s) == (2, 3, 1.0, 5.0)
    assert second.entry.session == "s"


def test_errors_with_tracebacks_are_the_same_where_their_last_lines_are() -> None:
    log = ErrorLog(10)
    for message, trace in [
        ("session a", "x\nValueError: why\n"),
        ("session b", "y\nValueError: why\n"),
        ("c", "KeyError\n"),
    ]:
        log.add(replace(ENTRY, message=message, traceback=trace))
    assert [(kept.count, kept.entry.message) for kept in log.newest(Wanted())] == [(2, "session b"), (1, "c")]


def test_a_flood_of_warnings_forgets_no_error_and_is_bounded() -> None:
    log = ErrorLog(3)
    log.add(ENTRY)
    for number in range(50):
        log.add(replace(ENTRY, level="warning", message=f"{number} w"))
    assert messages(log, Wanted("warning")) == ["it failed", "47 w", "48 w", "49 w"]
    assert messages(log, Wanted("error")) == ["it failed"]
    assert log.counts == {"error": 1, "warning": 50, "forgotten": 47}


def test_what_is_less_than_a_warning_is_passed_over() -> None:
    log = ErrorLog(3)
    log.add(replace(ENTRY, level="info"))
    log.add(replace(ENTRY, level="critical"))
    assert log.counts == {"error": 1, "warning": 0, "forgotten": 0}


def test_a_reader_asks_for_what_is_new_of_one_process_or_session() -> None:
    log = ErrorLog(10)
    log.add(ENTRY)
    log.add(replace(ENTRY, process="learner main 0", message="lost"))
    log.add(replace(ENTRY, session="s", message="in s"))
    assert messages(log, Wanted(after=1)) == ["lost", "in s"]
    assert messages(log, Wanted(process="learner")) == ["lost"]
    assert messages(log, Wanted(session="s")) == ["in s"]
    assert messages(log, Wanted(limit=1)) == ["in s"]


def test_tracebacks_are_left_out_of_json_where_nobody_wants_them() -> None:
    log = ErrorLog(1)
    log.add(replace(ENTRY, traceback="x"))
    [kept] = log.newest(Wanted())
    assert kept.as_dict()["traceback"] == "x"
    assert "traceback" not in kept.as_dict(traceback=False)
