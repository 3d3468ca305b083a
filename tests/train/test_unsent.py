import math
from pathlib import Path

from train.mlflow_run import TrackedTrial
from train.unsent import Unsent, UnsentRun, left_over
from train.update_buffer import LoggedUpdate

URI = "http://me:secret@mlflow:5000"
TRIAL = TrackedTrial("p", "t", {"run": {"seed": 3}}, git_commit="abc")
RUN = UnsentRun("http://***@mlflow:5000", "start-1", TRIAL)


def updates(*steps: int) -> list[LoggedUpdate]:
    return [LoggedUpdate(step, {"x": float(step)}, 1000.0 + step) for step in steps]


def test_updates_come_out_in_order_while_more_are_added(tmp_path: Path) -> None:
    unsent = Unsent(tmp_path, RUN)
    assert unsent.pop() is None
    assert unsent.append(updates(1, 2)) == 0
    assert unsent.pop() == updates(1)[0]
    unsent.append(updates(3))
    assert [unsent.pop(), unsent.pop(), unsent.pop()] == [*updates(2, 3), None]
    assert list(tmp_path.iterdir()) == []  # All was taken, so that nothing is left to send.


def test_what_is_left_is_found_by_a_later_process_with_its_run(tmp_path: Path) -> None:
    unsent = Unsent(tmp_path / "new", RUN)
    nan = LoggedUpdate(9, {"x": math.nan, "y": math.inf}, 2.0)
    assert unsent.leave([*updates(4), nan], "FINISHED", {"x": 3}) == 0
    [left] = left_over(tmp_path / "new", URI)
    assert (left.run.trial, left.run.start, left.run.status) == (TRIAL, "start-1", "FINISHED")
    assert left.run.non_finite == {"x": 3}
    first, second = left.updates()
    assert first == updates(4)[0]
    assert math.isnan(second.metrics["x"])
    assert second.metrics["y"] == math.inf
    left.remove()
    assert left_over(tmp_path / "new", URI) == []


def test_the_file_of_a_running_process_and_that_of_another_store_stay_alone(tmp_path: Path) -> None:
    unsent = Unsent(tmp_path, RUN)
    unsent.append(updates(1))
    assert left_over(tmp_path, URI) == []
    unsent.leave(updates(1), "FAILED", {})
    assert left_over(tmp_path, "http://elsewhere:5000") == []
    assert len(left_over(tmp_path, URI)) == 1


def test_the_torn_end_of_a_killed_process_is_passed_over(tmp_path: Path) -> None:
    Unsent(tmp_path, RUN).leave(updates(1, 2), "KILLED", {})
    path = tmp_path / "start-1.unsent"
    path.write_bytes(path.read_bytes()[:-5])
    (tmp_path / "empty.unsent").write_bytes(b"")
    [left] = left_over(tmp_path, URI)
    assert list(left.updates()) == updates(1)


def test_a_disk_that_takes_nothing_loses_updates_and_counts_them(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("where the folder should be")
    assert Unsent(tmp_path / "file", RUN).append(updates(1, 2, 3)) == 3
