import json
from dataclasses import replace

import pytest

from app.metrics.reports import ReplicaReport
from app.stores.metrics_values import Heard
from deployments.operate.trials import (
    Application,
    TrialStatus,
    belonging,
    chosen,
    lines,
    namespaces_of,
    problem_of,
    state_of,
)

NAMESPACE = "sparring.cartpole.first"
REPORT = ReplicaReport(
    replica="r1", actor="main", application="anything", host="h", port=36390, pid=1, healthy=True, ready=True,
    sessions={"train": 2}, counts={"ticks_train": 5, "ticks_play": 6, "starts": 2}, versions={"main": "1.2"},
)  # fmt: skip
TRIAL = TrialStatus(
    NAMESPACE, "train", {"main": 36390}, [Heard(REPORT, 0.2)], {"starts": 9}, {"main": "1.2", "other": None},
    {"main": 3.21, "other": None}, [Application("anything", "RUNNING", "/")],
)  # fmt: skip


def test_only_our_namespaces_are_trials() -> None:
    assert namespaces_of(["serve", "sparring.b.x", "sparring.a.y", "sparring.b.x", "sparring"]) == [
        "sparring.a.y",
        "sparring.b.x",
    ]


def test_an_application_belongs_to_the_trial_that_its_replicas_or_its_config_name() -> None:
    applications = [
        Application("anything", "RUNNING", "/"),
        Application("starting", "DEPLOYING", "/two", NAMESPACE),
        Application("foreign", "RUNNING", "/three"),
        Application("other", "RUNNING", "/four", "sparring.cartpole.second"),
    ]
    assert [a.name for a in belonging(NAMESPACE, applications, [Heard(REPORT, 1.0)])] == ["anything", "starting"]


def test_stores_that_do_not_answer_yet_are_no_fault_of_a_trial_that_starts() -> None:
    running, starting = Application("a", "RUNNING", "/"), Application("b", "DEPLOYING", "/b")
    assert problem_of([running], "timed out") == "its stores cannot be asked: timed out"
    assert problem_of([running, starting], "no stores") == (
        "application b is being deployed; its stores do not answer yet"
    )


def test_a_trial_is_shown_with_its_ports_sessions_and_weights() -> None:
    assert lines([TRIAL]) == [
        "cartpole.first  mode train  application anything (running, /)  2 sessions  "
        "weights main 1.2 (3 s old), other untrained",
        "    main:36390  replica r1 on h  ready  2 sessions  11 ticks  weights main 1.2",
    ]


def test_an_actor_that_nothing_was_heard_of_is_shown_as_well() -> None:
    assert "    boss:36391  no replica was heard of" in lines([replace(TRIAL, ports={"main": 36390, "boss": 36391})])


def test_a_trial_as_json_holds_what_the_table_holds_and_more() -> None:
    document = json.loads(json.dumps(TRIAL.as_dict()))
    assert (document["project"], document["trial"], document["sessions"]) == ("cartpole", "first", 2)
    assert document["actors"]["main"]["port"] == 36390
    assert document["actors"]["main"]["replicas"][0]["replica"] == "r1"
    assert document["weights"] == {"main": "1.2", "other": None}
    assert document["weights_age_s"] == {"main": 3.2, "other": None}
    assert document["counts"] == {"starts": 9}


def test_a_trial_whose_stores_do_not_answer_is_shown_with_the_reason() -> None:
    assert lines([TrialStatus(NAMESPACE, problem="its stores cannot be asked: timed out")]) == [
        "cartpole.first  mode unknown  application none  0 sessions  weights none",
        "    its stores cannot be asked: timed out",
    ]


@pytest.mark.parametrize(
    ("report", "silent_s", "state"),
    [
        (REPORT, 0.5, "ready"),
        (replace(REPORT, ready=False), 0.5, "draining"),
        (replace(REPORT, degraded="the event loop stands still"), 0.5, "the event loop stands still"),
        (replace(REPORT, healthy=False), 0.5, "failed"),
        (REPORT, 9.0, "silent for 9 s"),
    ],
)
def test_the_state_of_a_replica_is_said_in_a_word(report: ReplicaReport, silent_s: float, state: str) -> None:
    assert state_of(Heard(report, silent_s)) == state


def test_the_only_trial_need_not_be_named() -> None:
    assert chosen(None, [NAMESPACE], everything=False) == [NAMESPACE]
    assert chosen(None, [], everything=False) == []


def test_of_several_trials_only_the_named_one_goes() -> None:
    running = [NAMESPACE, "sparring.cartpole.second"]
    assert chosen("cartpole.second", running, everything=False) == running[1:]
    assert chosen("sparring.cartpole.second", running, everything=False) == running[1:]
    assert chosen("cartpole.third", running, everything=False) == []
    assert chosen(None, running, everything=True) == running
    with pytest.raises(ValueError, match=r"2 trials run: cartpole.first, cartpole.second; name one, or give --all"):
        chosen(None, running, everything=False)
    with pytest.raises(ValueError, match="not both"):
        chosen("cartpole.first", running, everything=True)
