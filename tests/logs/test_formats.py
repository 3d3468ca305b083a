import json
import logging

from app.logs.entry import Source
from app.logs.formats import FORMATS, EntryFormatter
from tests.logs.records import record

SOURCE = Source("pong.first", "learner main 0")


def test_a_line_of_json_has_time_trial_process_session_and_traceback() -> None:
    made = record('a\n"game" is lost', error=ValueError("why"), session="match-7-agent-red")
    made.created = 86_400.25
    line = EntryFormatter(FORMATS["json"], SOURCE).format(made)
    assert "\n" not in line
    fields = json.loads(line)
    assert fields.pop("traceback").endswith("ValueError: why\n")
    assert fields == {
        "time": "1970-01-02T00:00:00.250+00:00",
        "level": "error",
        "where": "app.somewhere",
        "trial": "pong.first",
        "process": "learner main 0",
        "session": "match-7-agent-red",
        "message": 'a\n"game" is lost',
    }


def test_fields_that_are_empty_are_left_out_of_json() -> None:
    line = EntryFormatter(FORMATS["json"], Source()).format(record("x", level=logging.INFO))
    assert sorted(json.loads(line)) == ["level", "message", "time", "where"]


def test_a_line_of_text_names_process_and_session_and_the_traceback_stands_below() -> None:
    made = record("it is lost", error=ValueError("why"), session="match-7")
    line, *trace = EntryFormatter(FORMATS["text"], SOURCE).format(made).splitlines()
    assert line.endswith("ERROR app.somewhere [learner main 0 session match-7]: it is lost")
    assert (trace[0], trace[-1]) == ("Traceback (most recent call last):", "ValueError: why")
    assert EntryFormatter(FORMATS["text"], Source()).format(record("x")).endswith("ERROR app.somewhere: x")
