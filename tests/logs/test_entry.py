import logging

from app.logs.entry import MESSAGE_CHARACTERS, Source, entry_of
from app.logs.secrets import Secrets
from app.logs.session import logged_as
from tests.logs.records import record

SOURCE = Source("pong.first", "replica main a")


def test_an_entry_says_when_where_and_what() -> None:
    made = record("%d games of %s", 3, "pong", level=logging.WARNING)
    entry = entry_of(made, SOURCE)
    assert (entry.time_s, entry.level, entry.where) == (made.created, "warning", "app.somewhere")
    assert (entry.trial, entry.process, entry.message) == ("pong.first", "replica main a", "3 games of pong")
    assert (entry.session, entry.traceback) == ("", None)


def test_a_session_comes_from_the_record_or_from_the_step_that_runs() -> None:
    with logged_as("running"):
        assert entry_of(record("x"), SOURCE).session == "running"
        assert entry_of(record("x", session="named"), SOURCE).session == "named"
    assert entry_of(record("x"), SOURCE).session == ""


def test_the_end_of_a_long_traceback_and_the_beginning_of_a_long_message_are_kept() -> None:
    entry = entry_of(record("x" * 10_000, error=ValueError("y" * 50_000 + " the end")), SOURCE)
    assert entry.message == "x" * MESSAGE_CHARACTERS
    assert entry.traceback is not None
    assert entry.traceback.endswith("the end\n")
    assert len(entry.traceback) == 16_000


def test_arguments_that_do_not_fit_are_told_instead_of_raised() -> None:
    assert "'many'" in entry_of(record("%d games", "many"), SOURCE).message


def test_neither_message_nor_traceback_holds_a_secret() -> None:
    secrets = Secrets()
    secrets.hide("correct horse")
    entry = entry_of(record("key correct horse", error=ValueError("correct horse")), SOURCE, secrets)
    assert "correct horse" not in str(entry)
    assert entry.message == "key ***"
