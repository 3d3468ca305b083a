"""The images as docs/kubernetes.md has them built, and what their user runs in them, on a base of Debian's packages."""

import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import pytest
import yaml

from tests.docs.blocks import block_of

from .commands import ROOT, Place, wait_until
from .image import Images, missing

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(3600)]

START_S, END_S = 400.0, 90.0
ENDS = {signal.SIGTERM, 128 + signal.SIGABRT}
"""What ``serve run`` ends with at SIGTERM: Ray's driver exits with the signal's number, or aborts while it does so."""


@dataclass(frozen=True)
class Target:
    """One of the page's images."""

    tag: str
    has_cuda: bool
    needs_gib: int
    """Free on the disk: what is built is copied from stage to stage."""


TARGETS = (Target("sparring:0.1.0", has_cuda=False, needs_gib=10), Target("sparring:0.1.0-gpu", True, 40))


def images_for(target: Target, place: Place) -> Images:
    lacks = missing()
    if lacks is None and shutil.disk_usage(place.folder).free < target.needs_gib * 2**30:
        lacks = f"{target.needs_gib} GiB of disk"
    if lacks is not None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"a build of {target.tag} needs {lacks}")
    # A torch without CUDA that lies on this machine would be taken for the newer one.
    return Images(place.folder, pip_without=("find-links",) if target.has_cuda else ())


def documented() -> list[str]:
    return block_of("docs/kubernetes.md", "docker build").text.splitlines()


def other_ports(place: Place) -> Path:
    """Returns the image's own Serve config with ports that are free on this machine."""
    tree = yaml.safe_load((ROOT / "serve_config.yaml").read_text())
    tree["http_options"]["port"] = place.serve_port
    tree["applications"][0]["args"]["set"] = [f"actors.main.port={place.game_port}"]
    path = place.folder / "serve_config.yaml"
    path.write_text(yaml.safe_dump(tree))
    path.chmod(0o644)
    return path


def test_these_are_the_images_of_the_page() -> None:
    assert [line.split(" -t ")[1] for line in documented()] == [f"{target.tag} ." for target in TARGETS]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.tag)
def test_a_documented_image_is_built_and_serves(target: Target, place: Place) -> None:
    images = images_for(target, place)
    images.add_base()
    (line,) = [line for line in documented() if f"-t {target.tag} " in line]
    images.build(line)
    config = images.config(target.tag)
    assert config["User"] == "1000:1000"
    its_user_runs_the_commands(target, place, images)
    it_serves_until_it_is_told_to_end(place, images, [*config["Entrypoint"], *config["Cmd"]])


def its_user_runs_the_commands(target: Target, place: Place, images: Images) -> None:
    has_cuda = "import app, deployments, train, torch; print(torch.version.cuda is not None)"
    for words, says in (
        (("id", "-u"), "1000\n"),
        (("python", "-c", has_cuda), f"{target.has_cuda}\n"),
        (("sparring", "--version"), "sparring 0.1.0\n"),
        (("sparring", "check", "serve_config.yaml"), "\nOK\n"),
    ):
        done = place.run(*images.inside(*words), timeout_s=START_S)
        assert done.returncode == 0, done.stdout + done.stderr
        assert says in done.stdout


def it_serves_until_it_is_told_to_end(place: Place, images: Images, words: list[str]) -> None:
    volume = f"{other_ports(place)}:/srv/sparring/serve_config.yaml:ro"
    service = place.start(*images.inside(*words, volumes=(volume,)))
    try:
        serve = f"http://127.0.0.1:{place.serve_port}"
        for url in (f"{place.url}/readyz", f"{serve}/-/healthz"):
            wait_until(lambda url=url: httpx.get(url).status_code == 200, lambda: service.output, START_S)
    finally:
        processes = psutil.Process(service.process.pid).children(recursive=True)
        for tini in (process for process in processes if process.name() == "tini"):
            tini.send_signal(signal.SIGTERM)
        _, left = psutil.wait_procs(processes, END_S)
        for process in left:
            process.kill()
    assert left == [], service.output
    assert service.process.wait(END_S) in ENDS, service.output
