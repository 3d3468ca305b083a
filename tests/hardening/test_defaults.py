"""What is shipped listens on loopback, or asks for keys."""

import inspect
from pathlib import Path

import pytest
import ray
import yaml

from app.config.access import is_loopback
from app.config.load import load
from tests.kubernetes.manifests import ROOT

CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
SERVE = [ROOT / "serve_config.yaml", ROOT / "configs" / "cluster" / "two_trials.yaml"]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_game_port_is_on_loopback_or_asks_for_keys(path: Path) -> None:
    for actor in load(path).actors.values():
        assert is_loopback(actor.host) or actor.access.guarded
        assert not actor.access.allow_open


@pytest.mark.parametrize("path", SERVE, ids=lambda path: path.stem)
def test_serves_port_is_on_loopback(path: Path) -> None:
    assert is_loopback(yaml.safe_load(path.read_text())["http_options"]["host"])


def test_rays_dashboard_stays_where_ray_puts_it() -> None:
    assert is_loopback(inspect.signature(ray.init).parameters["dashboard_host"].default)
    code = [path for name in ("app", "deployments", "train") for path in (ROOT / name).rglob("*.py")]
    assert [path for path in code if "dashboard_host" in path.read_text(encoding="utf-8")] == []
