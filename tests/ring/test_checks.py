"""What checks find in the rows of real games: it is told of, dropped, and ends training."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.errors import TrainingError

from .service import Cluster, Service, observation, playing, wait_until
from .training import trainer, updates, wait_for_end

pytestmark = pytest.mark.ray

CHECKS = (
    "checks.weights_age_s=2.0",
    "checks.fields.large={kind: range, field: reward, max: 100, action: drop}",
    "checks.fields.absurd={kind: range, field: reward, max: 1000, action: stop}",
)


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    with Service(cluster, "checks", *CHECKS) as running:
        yield running


def alarms(service: Service) -> dict[str, Any]:
    """Returns the alarms by check."""
    return {alarm["check"]: alarm for alarm in service.http.get("/alarms").json()["alarms"]}


def play(service: Service, session: str, reward: float) -> None:
    """Plays a game whose third action is worth something else than the others."""
    rewards = [0.0, 1.0, 1.0, reward, 1.0]
    steps = [{"session": session, "kind": "tick", "body": observation() | {"reward": r}} for r in rewards]
    start, stop = {"session": session, "kind": "start"}, {"session": session, "kind": "stop"}
    last = observation() | {"reward": 1.0, "terminated": True}
    assert service.http.post("/steps", json=[start, *steps, stop | {"body": last}]).status_code == 200


def test_a_wrong_row_is_dropped_and_told_of_and_one_that_is_absurd_ends_training(
    service: Service, tmp_path: Path
) -> None:
    run = trainer(service, tmp_path)
    run.start()
    with playing(service.url):
        updates(service, lambda found: len(found) > 1, "updates")
        play(service, "generous", 200.0)
        wait_until(lambda: "large" in alarms(service), "the check tells what it has found")
        found = alarms(service)["large"]
        assert (found["session"], found["tick"], found["value"], found["times"]) == ("generous", 2, 200.0, 1)
        assert (found["field"], found["action"], found["allowed"]) == ("reward", "drop", "at most 100")
        wait_until(lambda: service.status()["counts"].get("rows_dropped_check_large") == 1, "the row is counted")
        play(service, "absurd", 5000.0)
        with pytest.raises(TrainingError) as caught:
            wait_for_end(run)
    assert str(caught.value) == (
        "training was stopped by a check: check absurd: reward is 5000 at tick 2 of session absurd, allowed: at most "
        "1000"
    )
    wait_until(lambda: "weights_age_s" in alarms(service), "weights that nobody renews raise an alarm")
    assert alarms(service)["weights_age_s"]["model"] == "main"
