import json
import socket
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.command_line import GROUP, build
from deployments.doctor import findings
from deployments.doctor.findings import Finding, worst
from deployments.doctor.machine import held_by, packages, state_root
from deployments.port import PortGuard, free_port

RL = str(Path(__file__).parents[2] / "configs" / "rl.yaml")
HOST = "127.0.0.1"


def run(*words: str, **env: str) -> Result:
    entries = {"doctor": EntryPoint("doctor", "deployments.doctor.commands:doctor", GROUP)}
    return CliRunner().invoke(build(entries, ["doctor"]), ["doctor", *words], env={"COLUMNS": "200", **env})


def test_pinned_requirements_are_read_and_others_passed_over() -> None:
    lines = [
        "numpy<2.5",
        'ray[serve,train]==2.60.0; extra == "server"',
        "torch==2.13.0",
        "# a comment",
        "",
        "PyYAML==6.0.4",
    ]
    assert findings.exact(lines) == {"ray": "2.60.0", "torch": "2.13.0", "pyyaml": "6.0.4"}


@pytest.mark.parametrize(
    ("installed", "required", "tested", "level"),
    [
        ("2.60.0", "2.60.0", "2.60.0", "ok"),
        ("2.13.0+cpu", "2.13.0", None, "ok"),
        ("2.61.0", "2.60.0", "2.60.0", "fail"),
        ("2.5.0", None, "2.4.6", "warn"),
        ("2.5.0", None, None, "ok"),
        (None, None, None, "fail"),
    ],
)
def test_a_version_is_held_against_what_works_and_what_is_tested(
    installed: str | None, required: str | None, tested: str | None, level: str
) -> None:
    assert findings.version("x", installed, required, tested).level == level


@pytest.mark.parametrize(
    ("finding", "level"),
    [
        (findings.python(3, 11), "ok"),
        (findings.python(3, 12), "fail"),
        (findings.open_files(65_536, 65_536), "ok"),
        (findings.open_files(1_024, 65_536), "warn"),
        (findings.open_files(256, 256), "fail"),
        (findings.shared_memory(4_096.0), "ok"),
        (findings.shared_memory(1_024.0), "warn"),
        (findings.shared_memory(64.0), "fail"),
        (findings.shared_memory(None), "warn"),
        (findings.disk("/x", 1e6, writable=True), "ok"),
        (findings.disk("/x", 5e3, writable=True), "warn"),
        (findings.disk("/x", 1e2, writable=True), "fail"),
        (findings.disk("/x", 1e6, writable=False), "fail"),
        (findings.token(None, there=False), "ok"),
        (findings.token(None, there=True), "warn"),
        (findings.token("token", there=True), "ok"),
        (findings.token("token", there=False), "fail"),
        (findings.token("disabled", there=True), "warn"),
        (findings.gpu(0, "2.13.0+cpu", cuda=False), "ok"),
        (findings.gpu(2, "2.13.0", cuda=True), "ok"),
        (findings.gpu(2, "2.13.0+cpu", cuda=False), "warn"),
        (findings.port("game port", 36390, None), "ok"),
        (findings.port("game port", 36390, "nginx (process 7)"), "warn"),
    ],
)
def test_what_was_measured_is_judged_and_what_is_wrong_has_advice(finding: Finding, level: str) -> None:
    assert finding.level == level
    assert (finding.advice == "") == (level == "ok")


def test_the_advice_on_open_files_fits_what_may_be_raised() -> None:
    assert findings.open_files(1_024, 4_096).advice == "ulimit -n 4096 before Ray starts"
    assert "hard limit" in findings.open_files(1_024, 1_024).advice


def test_the_worst_finding_counts() -> None:
    ok, warn, fail = (Finding("x", level, "") for level in ("ok", "warn", "fail"))
    assert [worst(found) for found in ([], [ok], [ok, warn, ok], [warn, fail, ok])] == ["ok", "ok", "warn", "fail"]


def test_the_installed_packages_are_those_that_are_tested() -> None:
    assert {finding.check: finding.level for finding in packages()} == dict.fromkeys(
        ("ray", "torch", "numpy", "protobuf", "onnxruntime", "mlflow"), "ok"
    )


def test_who_holds_a_port_is_named() -> None:
    with socket.create_server((HOST, 0)) as taken:
        named = held_by(HOST, taken.getsockname()[1])
        assert named is not None
        assert "process" in named or "cannot be used" in named
    port = free_port(HOST)
    assert held_by(HOST, port) is None
    guard = PortGuard(HOST, port, "sparring.cartpole.first")
    try:
        assert held_by(HOST, port) == "sparring.cartpole.first"
    finally:
        guard.close()


def test_the_state_root_is_looked_for_where_the_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARRING_HOME", str(tmp_path / "not" / "there" / "yet"))
    found = state_root()
    assert str(tmp_path / "not" / "there" / "yet") in found.found


def test_the_command_prints_a_table_and_ends_well_where_nothing_fails(tmp_path: Path) -> None:
    port = str(free_port(HOST))
    result = run("--serve-port", port, SPARRING_HOME=str(tmp_path), RAY_AUTH_MODE="")
    assert result.exit_code == 0, result.output
    for check in (
        "python",
        "ray",
        "game port",
        "Serve's port",
        "open files",
        "shared memory",
        "state root",
        "Ray token",
        "GPU",
    ):
        assert check in result.output


def test_a_failure_is_the_exit_code_and_stands_in_the_json(tmp_path: Path) -> None:
    nobody = str(tmp_path / "no-token")
    result = run("--json", "--config", RL, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN="", RAY_AUTH_TOKEN_PATH=nobody)
    assert result.exit_code == 1
    document = json.loads(result.output)
    assert document["level"] == "fail"
    levels = {finding["check"]: finding["level"] for finding in document["findings"]}
    assert levels["Ray token"] == "fail"
    assert "game port of main" in levels


def test_a_config_that_cannot_be_read_is_a_message(tmp_path: Path) -> None:
    result = run("--config", str(tmp_path / "none.yaml"))
    assert result.exit_code == 1
    assert "cannot be read" in str(result.exception)
