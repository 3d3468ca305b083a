from pathlib import Path

import pytest

from app.errors import TrackingError
from train.mlflow_run import MlflowRun, TrackedTrial, Value, flatten, git_commit, metric_key


def test_a_config_becomes_dotted_params() -> None:
    config = {"run": {"seed": 3, "name": "x"}, "trainers": [{"lr": 0.1}, {"lr": None}], "sizes": [64, 64], "empty": {}}
    assert flatten(config) == {
        "run.seed": "3",
        "run.name": "x",
        "trainers.0.lr": "0.1",
        "trainers.1.lr": "null",
        "sizes": "[64, 64]",
        "empty": "{}",
    }


def test_params_are_cut_to_mlflows_limits() -> None:
    ((key, value),) = flatten({"k" * 300: "v" * 7000}).items()
    assert (len(key), len(value)) == (250, 6000)


@pytest.mark.parametrize("name", ["loss/policy", "a b.c-d_e", "ü", "é:1"])
def test_a_name_that_mlflow_accepts_stays(name: str) -> None:
    assert metric_key(name) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "/a", "a//b", "../a", "a/", "a\nb", "loss(policy)", "x" * 251, "a" * 249 + "/b"]
)
def test_any_other_name_becomes_one_that_mlflow_accepts(name: str) -> None:
    from mlflow.utils.validation import _validate_metric_name  # noqa: PLC0415

    _validate_metric_name(metric_key(name))
    assert len(metric_key(name)) <= 250


def test_the_commit_of_a_folder_outside_any_repository_is_unknown(tmp_path: Path) -> None:
    assert git_commit(tmp_path) is None


def test_writing_to_a_run_that_is_not_open_is_an_error(tmp_path: Path) -> None:
    run = MlflowRun("sqlite:///nowhere", tmp_path, TrackedTrial("p", "t", {}))
    with pytest.raises(TrackingError, match="'t' is not open"):
        run.write([Value("a", 1.0, 0, 0)], {})


def test_a_trial_covers_what_its_config_has_of_secrets() -> None:
    trial = TrackedTrial("p", "t", {"tracking": {"mlflow_uri": "https://me:pass@mlflow.example"}, "api_key": "k-123"})
    assert trial.config == {"tracking": {"mlflow_uri": "https://***@mlflow.example"}, "api_key": "***"}
