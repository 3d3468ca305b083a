import json
from pathlib import Path

import pytest

from tests.soak.ledger import Ledger
from tests.soak.report import JUDGED_S, Recovery, Report
from tests.soak.state import State, read_state

GOOD = Recovery(15.0, "replica", 1.5, 9.0)


def report(ledger: Ledger | None = None, **changes: object) -> Report:
    told = {"faults": [GOOD], "training": {"updates": 9.0}, "looks": 3} | changes
    return Report(seed=1, seconds=60, starts=1, ledger=ledger or Ledger(ticks=10), **told)  # type: ignore[arg-type]


def test_a_soak_in_which_all_went_well_has_passed(tmp_path: Path) -> None:
    good = report()
    assert good.problems == []
    good.write(tmp_path)
    told = json.loads((tmp_path / "report.json").read_text())
    assert (told["passed"], told["games_lost"], told["faults"][0]["well_s"]) == (True, 0, 9.0)
    text = (tmp_path / "report.md").read_text()
    assert text.startswith("# Soak: passed\n")
    assert "| 15 s | replica | 1.5 s | 9.0 s |" in text


def lost() -> Ledger:
    ledger = Ledger(ticks=10)
    ledger.fail("lost", "game a")
    return ledger


@pytest.mark.parametrize(
    ("failed", "why"),
    [
        (report(lost()), "1 times lost"),
        (report(Ledger()), "no tick was played"),
        (report(faults=[Recovery(1.0, "rank", None, 3.0)]), "the rank at 1 s: games had no answer again"),
        (report(faults=[Recovery(1.0, "rank", 3.0, None)]), "the rank at 1 s: it did not become well"),
        (report(training={}), "nothing was learned"),
        (report(looks=0), "the buffer was never looked at"),
        (
            report(memory={"Host": {"mib": 900.0, "mib_per_hour": 300.0, "seconds": JUDGED_S}}),
            "Host grows by 300.0 MiB an hour",
        ),
    ],
)
def test_each_thing_that_went_wrong_fails_it(failed: Report, why: str) -> None:
    assert failed.problems == [why]
    assert failed.text().startswith(f"# Soak: failed\n\n- {why}\n")


def test_memory_of_a_few_minutes_is_told_and_not_judged() -> None:
    young = report(memory={"Host": {"mib": 900.0, "mib_per_hour": 300.0, "seconds": 100}})
    assert young.problems == []
    assert "| Host | 900.0 | 300.0 | 100 s |" in young.text()


def test_a_soak_goes_on_with_what_was_written(tmp_path: Path) -> None:
    state = State(seed=1, seconds=60, done_s=20, starts=1, faults=[GOOD], ledger=lost())
    state.rows["inserted"] = 5
    state.write(tmp_path)
    assert read_state(tmp_path, 1, 60) == state


def test_another_soak_is_not_gone_on_with(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no soak to go on with"):
        read_state(tmp_path, 1, 60)
    State(seed=1, seconds=60).write(tmp_path)
    with pytest.raises(ValueError, match=r"'seed': 1.*and this one .*'seed': 2"):
        read_state(tmp_path, 2, 60)
