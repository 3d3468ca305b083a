"""What the Dockerfile copies, installs and runs is what there is."""

import fnmatch
import re
import shlex
import subprocess
from pathlib import PurePosixPath

import pytest
import yaml

from tests.kubernetes.manifests import ROOT, pods

from .lock import LOCK

TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
LINES = [line for line in TEXT.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
IGNORED = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()


def instructions(word: str) -> list[str]:
    return [line.partition(" ")[2] for line in LINES if line.partition(" ")[0] == word]


def stages() -> dict[str, list[str]]:
    """Returns the lines of each stage, by its name, with those of the stages that it begins with."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in LINES:
        if line.startswith("FROM "):
            _, base, _, name = line.split()
            lines = found[name] = list(found.get(base, []))
        lines.append(line)
    return found


def words(command: str) -> list[str]:
    return [str(word) for word in yaml.safe_load(command)]


def test_both_images_end_as_a_user_without_rights() -> None:
    for name in ("cpu", "gpu"):
        users = [line.split()[1] for line in stages()[name] if line.startswith("USER ")]
        assert users[-1:] == ["1000:1000"]


@pytest.mark.parametrize("copied", [line for line in instructions("COPY") if not line.startswith("--from")])
def test_what_is_copied_is_there_and_not_ignored(copied: str) -> None:
    *sources, _ = copied.split()
    for source in sources:
        path = PurePosixPath(source.removeprefix("./"))
        assert (ROOT / path).exists()
        assert f"!{path}" in IGNORED


def test_nothing_else_reaches_the_build() -> None:
    assert IGNORED[0] == "*"
    allowed = [line.removeprefix("!") for line in IGNORED if line.startswith("!")]
    assert not any(
        fnmatch.fnmatch(name, pattern) for name in (".git", "keys.yaml", ".env", "tests") for pattern in allowed
    )


@pytest.mark.parametrize("name", ["built", "built-cpu"])
def test_what_is_installed_of_the_lock_is_known_by_its_hash(name: str) -> None:
    install = next(line for line in reversed(stages()[name]) if ".lock" in line and line.startswith("RUN "))
    pip = shlex.split(install.rpartition("&&")[2])
    assert pip[:4] == ["pip", "install", "--require-hashes", "--no-deps"]
    assert pip[-2] == "-r"
    assert f"> {pip[-1]} " in install


def test_both_parts_of_the_lock_are_all_of_it() -> None:
    lines = LOCK.read_text().splitlines()
    parts = [shlex.split(line.partition(">")[0]) for line in instructions("RUN") if LOCK.name in line]
    assert [part[0] for part in parts] == ["grep", "grep"]
    found = [subprocess.run(part, cwd=ROOT, capture_output=True, text=True, check=True).stdout for part in parts]
    others, torch = (text.splitlines() for text in found)
    assert sorted(others + torch) == sorted(lines)
    assert [line.partition("==")[0] for line in torch] == ["torch"]


def test_torch_without_cuda_comes_from_an_index_of_its_own() -> None:
    """PyPI's is the build with CUDA, whose libraries the lock does not hold: it would be installed and not import."""
    (options,) = (line for line in stages()["built-cpu"] if line.startswith("ARG TORCH_OPTIONS"))
    assert shlex.split(options)[1].startswith("TORCH_OPTIONS=--index-url https://")
    for name in ("built-cpu", "built-gpu"):
        *_, installs, imports = stages()[name]
        assert "${TORCH_OPTIONS}" in installs
        assert re.match(r'RUN python -c "import .*\btorch\b', imports)


def test_the_images_differ_in_torch_and_what_a_gpu_needs() -> None:
    cpu, gpu = (stages()[name][1:] for name in ("cpu", "gpu"))
    own = [line for line in cpu if line not in gpu], [line for line in gpu if line not in cpu]
    torch, cuda = (
        "COPY --from=built-cpu /opt/sparring /opt/sparring",
        "COPY --from=built-gpu /opt/sparring /opt/sparring",
    )
    assert [[line for line in lines if not line.startswith("FROM ")] for lines in own] == [
        [torch],
        ["ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility", cuda],
    ]


def test_the_torch_of_the_gpu_image_is_the_one_that_is_pinned() -> None:
    (pinned,) = re.findall(r"^torch==(\S+)", LOCK.read_text(), re.MULTILINE)
    assert re.findall(r'"torch==([^"]+)"', TEXT) == [pinned]


def test_the_command_is_the_one_of_the_readme() -> None:
    (command,) = instructions("CMD")
    assert f"\n{shlex.join(words(command))}\n" in (ROOT / "README.md").read_text()  # Which a test runs.
    assert words(*instructions("ENTRYPOINT")) == ["tini", "--"]


def test_what_probes_and_entrypoint_call_is_installed() -> None:
    install = next(line for line in stages()["base"] if "apt-get install" in line)
    assert {"curl", "tini"} <= set(install.split())


def test_the_image_of_the_manifests_has_the_version_of_the_project() -> None:
    (version,) = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    images = {container["image"] for pod in pods() for container in pod.containers if "sparring" in container["image"]}
    assert images == {f"sparring:{version}", f"sparring:{version}-gpu"}
