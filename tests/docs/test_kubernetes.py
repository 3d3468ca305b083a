"""docs/kubernetes.md and docs/hardening.md name what there is."""

import os
import re
from pathlib import Path

import pytest

from app.config.access import AccessConfig
from app.config.keys import read_keys
from app.types import Purpose
from deployments.keys import DoorKeeper

ROOT = Path(__file__).parents[2]
KUBERNETES, HARDENING = (
    (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("kubernetes.md", "hardening.md")
)


@pytest.mark.parametrize("page", [KUBERNETES, HARDENING], ids=["kubernetes", "hardening"])
def test_links_and_files_lead_somewhere(page: str) -> None:
    links = [target for target in re.findall(r"\]\(([^)#]+)", page) if "://" not in target]
    assert links
    assert [target for target in links if not (ROOT / "docs" / target).exists()] == []
    assert [path for path in re.findall(r"configs/[\w./-]+\w", page) if not (ROOT / path).exists()] == []


def test_the_shown_keys_load_and_prometheus_needs_no_token(tmp_path: Path) -> None:
    (tmp_path / "keys.yaml").write_text(re.findall(r"```yaml\n(.*?)```", KUBERNETES, re.DOTALL)[0])
    keys = {key.name: key for key in read_keys(AccessConfig(keys_file=str(tmp_path / "keys.yaml")))}
    assert keys["prometheus"].admin
    assert not keys["prometheus"].needs_token


async def test_keys_are_read_again_when_the_kubelet_exchanges_a_secret(tmp_path: Path) -> None:
    def mounted(version: str, name: str) -> None:
        """Puts a version in place as the kubelet does: a folder of its own, and a link renamed over the old one."""
        (tmp_path / version).mkdir()
        (tmp_path / version / "keys.yaml").write_text(f"[{{name: {name}, key: 0123456789-{name}}}]")
        (tmp_path / "..new").symlink_to(version)
        os.replace(tmp_path / "..new", tmp_path / "..data")

    mounted("..one", "first")
    (tmp_path / "keys.yaml").symlink_to("..data/keys.yaml")
    keeper = DoorKeeper(AccessConfig(keys_file=str(tmp_path / "keys.yaml")), Purpose.TRAIN)
    assert "first" in keeper.usage()
    mounted("..two", "second")
    await keeper.look()
    assert keeper.status()["error"] is None
    assert "second" in keeper.usage()


def test_each_shown_target_of_make_is_one() -> None:
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"^make (\w+)$", HARDENING, re.MULTILINE)) <= set(targets)
