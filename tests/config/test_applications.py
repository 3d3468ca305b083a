import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.config.applications import is_serve_config, load_applications
from app.errors import ConfigError

ROOT = Path(__file__).parents[2]
RL = str(ROOT / "configs" / "rl.yaml")


def application(name: str, trial: str, port: int, route: str = "/", **changes: Any) -> dict[str, Any]:
    args = {"config": RL, "set": [f"run.trial={trial}", f"actors.main.port={port}"]}
    return {"name": name, "route_prefix": route, "import_path": "deployments.build:build", "args": args} | changes


def written(folder: Path, *applications: dict[str, Any], **more: Any) -> Path:
    path = folder / "serve.yaml"
    http = {"http_options": {"host": "127.0.0.1", "port": 8000}}
    path.write_text(yaml.safe_dump({**http, "applications": list(applications)} | more))
    return path


def test_two_trials_with_names_routes_and_ports_of_their_own_pass(tmp_path: Path) -> None:
    two = (application("first", "first", 36390, "/first"), application("second", "second", 36391, "/second"))
    found = load_applications(written(tmp_path, *two))
    assert [(a.name, a.route, a.trial) for a in found] == [
        ("first", "/first", "cartpole.first"),
        ("second", "/second", "cartpole.second"),
    ]


EVERYWHERE = ("actors.main.host=0.0.0.0", "actors.main.access.allow_open=true")
CLASHES = [
    ("name", {"name": "first"}, "applications.1.name: name 'first' is that of applications.0 already"),
    (
        "route",
        {"route_prefix": "/first"},
        "applications.1.route_prefix: route '/first' is that of applications.0 already",
    ),
    (
        "trial",
        {"args": {"config": RL, "set": ["run.trial=first", "actors.main.port=36391"]}},
        "applications.1.args: trial 'cartpole.first' is that of applications.0 already",
    ),
    (
        "port",
        {"args": {"config": RL, "set": ["run.trial=second"]}},
        "applications.1.actors.main.port: port 36390 on 127.0.0.1 is that of applications.0.actors.main.port already",
    ),
    (
        "port on every address",
        {
            "args": {
                "config": RL,
                "set": ["run.trial=second", "actors.main.host=0.0.0.0", "actors.main.access.allow_open=true"],
            }
        },
        "applications.1.actors.main.port: port 36390 on 0.0.0.0 is that of applications.0.actors.main.port already",
    ),
    (
        "Serve's port",
        {"args": {"config": RL, "set": ["run.trial=second", "actors.main.port=8000"]}},
        "applications.1.actors.main.port: port 8000 on 127.0.0.1 is that of http_options.port already",
    ),
]


@pytest.mark.parametrize(("changes", "problem"), [c[1:] for c in CLASHES], ids=[c[0] for c in CLASHES])
def test_what_two_trials_share_is_named(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    second = application("second", "second", 36391, "/second") | changes
    with pytest.raises(ConfigError) as caught:
        load_applications(written(tmp_path, application("first", "first", 36390, "/first"), second))
    assert str(caught.value).splitlines()[1:] == [f"  {problem}"]


def test_two_trials_on_one_port_of_different_addresses_pass(tmp_path: Path) -> None:
    second = application("second", "second", 36390, "/second")
    second["args"]["set"].append("actors.main.host=127.0.0.2")
    assert len(load_applications(written(tmp_path, application("first", "first", 36390, "/first"), second))) == 2


def test_free_ports_do_not_clash(tmp_path: Path) -> None:
    two = [application(name, name, 0, f"/{name}") for name in ("first", "second")]
    assert len(load_applications(written(tmp_path, *two))) == 2


def test_an_application_of_somebody_else_is_looked_at_for_name_and_route(tmp_path: Path) -> None:
    foreign = {"name": "other", "route_prefix": "/", "import_path": "their.app:app"}
    with pytest.raises(ConfigError, match=r"route '/' is that of applications\.0 already"):
        load_applications(written(tmp_path, foreign, application("first", "first", 36390)))


def test_an_error_in_an_applications_config_is_that_configs_own(tmp_path: Path) -> None:
    wrong = application("first", "first", 36390)
    wrong["args"]["set"].append("run.seed=-1")
    with pytest.raises(ConfigError, match=r"run\.seed: wrong value, got -1"):
        load_applications(written(tmp_path, wrong))


@pytest.mark.parametrize("name", ["serve_config.yaml", "configs/cluster/two_trials.yaml"])
def test_the_shipped_serve_configs_pass(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)  # A relative config is found beside the packages.
    assert load_applications(ROOT / name)


def test_the_operations_page_shows_the_shipped_file() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    shown = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    shipped = (ROOT / "configs" / "cluster" / "two_trials.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(shipped) in shown


def test_our_own_configs_are_no_serve_configs() -> None:
    assert is_serve_config({"applications": []})
    assert not is_serve_config({"run": {}, "applications": []})
