"""The ``sparring`` command: what it imports, prints and returns."""

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import main
from app.command_line import GROUP, build
from app.errors import SparringError
from app.origin import check_origin

RL = str(Path(__file__).parents[1] / "configs" / "rl.yaml")
PLAIN = ["--set", "agents.player.factory=app.plugins:load_plugin"]


@pytest.fixture(autouse=True)
def _same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(words)
    return int(caught.value.code or 0)


def entries(**values: str) -> dict[str, EntryPoint]:
    return {name: EntryPoint(name, value, GROUP) for name, value in values.items()}


def test_check_shows_the_slots_and_their_sum(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", RL, *PLAIN, "--cpus", "2") == 0
    shown = capsys.readouterr().out
    assert "actors.main" in shown
    assert "1.01" in shown
    assert shown.rstrip().endswith("OK")


def test_check_refuses_what_the_cluster_cannot_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", RL, *PLAIN, "--cpus", "1") == 1
    caught = capsys.readouterr()
    assert "needs 1.01, available 1" in caught.err
    assert "OK" not in caught.out


def test_check_reports_all_code_that_cannot_be_imported(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = ["--set", "models.main.factory=no.such:model", "--set", "agents.player.factory=app.plugins:nothing"]
    assert run("check", RL, *wrong) == 1
    message = capsys.readouterr().err
    assert message.startswith(f"{RL}: 2 problems\n")
    assert "models.main.factory: cannot import 'no.such'" in message
    assert "agents.player.factory: 'app.plugins' has no 'nothing'" in message


POLICY = ["--set", "models.main.factory=app.models.networks.policy:build", "--set"]
DESCRIBED = "models.main.kwargs={observation: {shape: [4]}, action: {choices: 2}"


def test_check_refuses_to_train_what_is_no_policy(capsys: pytest.CaptureFixture[str]) -> None:
    scorer = [*PLAIN, "--set", "models.main.factory=tests.small_policy:Scorer", "--set", "agents.player.model=null"]
    assert run("check", RL, *scorer, "--cpus", "2") == 1
    message = " ".join(capsys.readouterr().err.split())
    assert "trainers.main.model: ppo cannot train models.main: it is no policy" in message
    assert run("check", RL, *scorer, "--cpus", "2", "--set", "run.mode=deploy") == 0


def test_check_lets_a_recurrent_model_be_trained() -> None:
    assert run("check", RL, *PLAIN, *POLICY, f"{DESCRIBED}, memory: {{kind: gru, units: 8}}}}", "--cpus", "2") == 0


def test_check_names_what_a_model_is_described_wrongly_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", RL, *PLAIN, *POLICY, f"{DESCRIBED}}}", "--cpus", "2") == 0
    assert run("check", RL, *PLAIN, *POLICY, f"{DESCRIBED}, memory: {{kind: rnn}}}}", "--cpus", "2") == 1
    message = " ".join(capsys.readouterr().err.split())
    assert "models.main: ConfigError:" in message
    assert "memory.kind: wrong value, got 'rnn'" in message


def test_check_also_loads_the_config_that_serves_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", RL, *PLAIN, "--set", "launch.deploy_config=nowhere.yaml") == 1
    assert "nowhere.yaml: cannot be read" in capsys.readouterr().err


def test_check_imports_what_sources_name(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = ["--set", "sources.a={kind: factory, factory: 'nowhere:x'}"]
    wrong += ["--set", "sources.b={kind: npz, path: x, preprocess: 'math:absent'}"]
    assert run("check", RL, *PLAIN, *wrong, "--cpus", "2") == 1
    message = " ".join(capsys.readouterr().err.split())
    assert "sources.a.factory: cannot import 'nowhere'" in message
    assert "sources.b.preprocess: 'math' has no 'absent'" in message


def test_check_of_a_serve_config_checks_its_applications(capsys: pytest.CaptureFixture[str]) -> None:
    two = str(Path(RL).parent / "cluster" / "two_trials.yaml")
    assert run("check", two, "--cpus", "2") == 0
    assert capsys.readouterr().out.count("reserved in mode train") == 2
    assert run("check", two, "--set", "run.seed=1") == 1
    assert "its applications have args.set in place of --set" in capsys.readouterr().err


def test_a_wrong_config_is_a_message_on_stderr_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", RL, "--set", "run.seed=-1") == 1
    caught = capsys.readouterr()
    assert caught.err.splitlines()[1].strip().startswith("run.seed: wrong value, got -1")
    assert "Traceback" not in caught.err
    assert caught.out == ""


def test_schema_writes_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("schema", "--write", str(tmp_path / "schema.json")) == 0
    assert run("schema") == 0
    assert (tmp_path / "schema.json").read_text(encoding="utf-8") == capsys.readouterr().out


def test_schema_tells_where_it_cannot_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("schema", "--write", str(tmp_path / "no" / "schema.json")) == 1
    assert "cannot be written: No such file or directory" in capsys.readouterr().err


def test_an_unknown_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("chekc") == 2
    assert "No such command 'chekc'" in capsys.readouterr().err


def test_only_the_called_command_is_imported() -> None:
    both = entries(schema="app.config.commands:schema", heavy="this_module_must_not_be_imported:x")
    names = [command.name for command in build(both, ["schema"]).registered_commands]
    assert names == ["schema"]


def test_help_lists_every_command_and_what_those_need_that_cannot_be_imported() -> None:
    cli = build(entries(schema="app.config.commands:schema", bench="no_such_library.bench:bench"), ["--help"])
    shown = CliRunner().invoke(cli, ["--help"], env={"COLUMNS": "200"}).output
    assert "Writes the JSON Schema of config files." in shown
    assert (
        "`sparring bench` needs more packages: pip install 'sparring[server]' (No module named 'no_such_library')"
        in shown
    )


def test_a_command_whose_libraries_are_missing_says_so_whatever_its_options() -> None:
    cli = build(entries(bench="no_such_library.bench:bench"), ["bench", "--json"])
    result = CliRunner().invoke(cli, ["bench", "ticks", "--json"])
    assert isinstance(result.exception, SparringError)
    assert "pip install 'sparring[server]'" in str(result.exception)


def test_a_module_of_ours_that_is_missing_is_not_blamed_on_an_extra() -> None:
    cli = build(entries(bench="train.nowhere:bench"), ["bench"])
    assert "is not in this installation" in str(CliRunner().invoke(cli, ["bench"]).exception)


def test_help_of_a_command_leaves_out_the_sections_for_programmers() -> None:
    cli = build(entries(check="app.config.commands:check"), ["check"])
    shown = CliRunner().invoke(cli, ["check", "--help"]).output
    assert "Checks a config" in shown
    assert "Raises" not in shown


def test_our_own_packages_pass() -> None:
    check_origin()


def test_a_foreign_package_under_one_of_our_names_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "__init__.py").touch()
    monkeypatch.delitem(sys.modules, "train", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SparringError, match=f"another package named 'train' hides Sparring's: found {tmp_path}"):
        check_origin()


def test_a_folder_of_data_that_is_called_train_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    script = "import sys; from app.cli import main; main(['schema'])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], cwd=tmp_path, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_command_line_starts_without_the_server_libraries() -> None:
    script = (
        "import sys, app.cli, app.config.commands; print([m for m in ('torch', 'ray', 'mlflow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"
