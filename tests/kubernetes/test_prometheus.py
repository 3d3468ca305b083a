"""Debian's Prometheus takes the config and the arguments of the manifest."""

import re
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest
import yaml

from deployments.port import free_port
from tests.dashboards.prometheus import needs_promtool, promtool
from tests.e2e.commands import wait_until

from .manifests import ROOT, Tree, named

pytestmark = [pytest.mark.slow, needs_promtool]

KEY = "prometheus-0123456789"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folders that the container mounts."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "key").mkdir()
    (tmp_path / "key" / "key").write_text(KEY)
    (tmp_path / "rules" / "alerts.yml").write_text((ROOT / "configs" / "dashboards" / "alerts.yml").read_text())
    text = named("ConfigMap", "sparring-prometheus")["data"]["prometheus.yml"]
    (tmp_path / "prometheus.yml").write_text(text.replace("/etc/prometheus", str(tmp_path)))
    return tmp_path


def container() -> Tree:
    (found,) = named("Deployment", "sparring-prometheus")["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_the_config_passes_with_the_alert_rules(folder: Path) -> None:
    assert "rules found" in promtool("check", "config", str(folder / "prometheus.yml"))


def test_the_names_and_ports_that_are_scraped_are_services() -> None:
    config = yaml.safe_load(named("ConfigMap", "sparring-prometheus")["data"]["prometheus.yml"])
    for job in config["scrape_configs"]:
        (found,) = job["dns_sd_configs"]
        service = named("Service", found["names"][0])["spec"]
        assert service["clusterIP"] == "None"
        assert found["port"] in {port["port"] for port in service["ports"]}


def test_it_starts_with_the_arguments_and_answers_the_probes(folder: Path) -> None:
    port = free_port()
    words = [re.sub(r"\b9090\b", str(port), word) for word in container()["args"]]
    words = [
        word.replace("=/etc/prometheus", f"={folder}").replace("=/prometheus", f"={folder}/data") for word in words
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([str(shutil.which("prometheus")), *words], stdout=log, stderr=log)
    try:
        for probe in ("readinessProbe", "livenessProbe"):
            url = f"http://127.0.0.1:{port}{container()[probe]['httpGet']['path']}"
            wait_until(lambda url=url: httpx.get(url).status_code == 200, (folder / "log").read_text, 60)
    finally:
        process.terminate()
        process.wait(30)
