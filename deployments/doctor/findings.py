"""What is well on a machine and what is not: judgements of measured values."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

Level = Literal["ok", "warn", "fail"]

FILES_GOOD: Final = 8_192
FILES_LEAST: Final = 1_024
"""Open files: each connection of a game core is one, and Ray's own processes take some hundreds."""
SHM_GOOD_MB: Final = 2_048
SHM_LEAST_MB: Final = 512
"""Shared memory: what ``sparring launch`` gives to Ray's object store, and what more than one trial should have."""
DISK_GOOD_MB: Final = 10_240
DISK_LEAST_MB: Final = 1_024
"""Disk below the state root: checkpoints, models and metrics of some runs, and of one."""

_EXACT: Final = re.compile(r"^(?P<name>[\w.-]+)(\[[^]]*\])?==(?P<version>[^;\s]+)")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report."""

    check: str
    level: Level
    found: str
    advice: str = ""
    """What to do; empty where nothing is to be done."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the finding as a JSON object."""
        return asdict(self)


def exact(requirements: Iterable[str]) -> dict[str, str]:
    """Returns the packages that requirements pin to one version, by name in lower case."""
    matches = (_EXACT.match(requirement.strip()) for requirement in requirements)
    return {match["name"].lower(): match["version"] for match in matches if match is not None}


def version(name: str, installed: str | None, required: str | None, tested: str | None) -> Finding:
    """Judges a package.

    Args:
      name: Of the package.
      installed: Its version; None where it is missing.
      required: The one version that works; None where several do.
      tested: The version that is tested; None where that is not known.
    """
    if installed is None:
        return Finding(name, "fail", "not installed", "pip install 'sparring[server]'")
    plain = installed.partition("+")[0]
    if required is not None and plain != required:
        return Finding(name, "fail", f"{installed}, needed is {required}", f"pip install {name}=={required}")
    if tested is not None and plain != tested:
        return Finding(
            name, "warn", f"{installed}, tested is {tested}", "pip install -c constraints.txt 'sparring[server]'"
        )
    return Finding(name, "ok", installed)


def python(major: int, minor: int) -> Finding:
    """Judges Python's version."""
    if (major, minor) == (3, 11):
        return Finding("python", "ok", f"{major}.{minor}")
    return Finding("python", "fail", f"{major}.{minor}, needed is 3.11", "make setup PYTHON=/path/to/python3.11")


def open_files(soft: int, hard: int) -> Finding:
    """Judges the limit of open files."""
    found = f"{soft} (at most {hard})"
    if soft >= FILES_GOOD:
        return Finding("open files", "ok", found)
    level: Level = "warn" if soft >= FILES_LEAST else "fail"
    raised = min(hard, 65_536)
    if raised <= soft:
        return Finding("open files", level, found, "raise the hard limit of the machine or the container")
    return Finding("open files", level, found, f"ulimit -n {raised} before Ray starts")


def shared_memory(free_mb: float | None) -> Finding:
    """Judges /dev/shm; None where there is none."""
    if free_mb is None:
        return Finding("shared memory", "warn", "no /dev/shm: Ray puts its objects on disk", "mount a tmpfs there")
    found = f"{free_mb:.0f} MiB free in /dev/shm"
    if free_mb >= SHM_GOOD_MB:
        return Finding("shared memory", "ok", found)
    advice = "in a container: --shm-size=4g (Kubernetes: an emptyDir with medium Memory)"
    return Finding("shared memory", "warn" if free_mb >= SHM_LEAST_MB else "fail", found, advice)


def disk(folder: str, free_mb: float, *, writable: bool) -> Finding:
    """Judges the place of the state root."""
    if not writable:
        return Finding("state root", "fail", f"{folder} cannot be written", "set SPARRING_HOME to a folder of your own")
    found = f"{folder}: {free_mb / 1024:.1f} GiB free"
    if free_mb >= DISK_GOOD_MB:
        return Finding("state root", "ok", found)
    return Finding(
        "state root", "warn" if free_mb >= DISK_LEAST_MB else "fail", found, "free some, or move it with SPARRING_HOME"
    )


def token(mode: str | None, *, there: bool) -> Finding:
    """Judges Ray's authentication token.

    Args:
      mode: Value of ``RAY_AUTH_MODE``; None where it is not set.
      there: Whether a token is in the environment or in its file.
    """
    if mode == "disabled":
        return Finding("Ray token", "warn", "authentication is off", "unset RAY_AUTH_MODE: who reaches Ray runs code")
    if there and mode == "token":
        return Finding("Ray token", "ok", "there")
    if there:
        advice = "export RAY_AUTH_MODE=token, so that the ray command sends it"
        return Finding("Ray token", "warn", "there, but RAY_AUTH_MODE is not set", advice)
    if mode == "token":
        return Finding("Ray token", "fail", "wanted by RAY_AUTH_MODE, but missing", "ray get-auth-token --generate")
    return Finding("Ray token", "ok", "none yet; 'serve run' writes one")


def gpu(devices: int, torch_version: str | None, *, cuda: bool) -> Finding:
    """Judges the GPUs.

    Args:
      devices: GPUs of the machine.
      torch_version: torch's version; None where it is missing.
      cuda: Whether torch can use them.
    """
    if devices == 0:
        return Finding("GPU", "ok", "none: models and learners run on the CPU")
    found = f"{devices} of NVIDIA"
    if cuda:
        return Finding("GPU", "ok", found)
    return Finding("GPU", "warn", f"{found}, but torch {torch_version} cannot use them", "install torch with CUDA")


def port(name: str, number: int, held_by: str | None) -> Finding:
    """Judges a port.

    Args:
      name: What it is for.
      number: The port.
      held_by: Who has it; None where it is free.
    """
    if held_by is None:
        return Finding(name, "ok", f"port {number} is free")
    return Finding(name, "warn", f"port {number} is held by {held_by}", "stop that, or choose another port")


def worst(findings: Iterable[Finding]) -> Level:
    """Returns the worst level of some findings."""
    order: Mapping[Level, int] = {"ok": 0, "warn": 1, "fail": 2}
    return max((finding.level for finding in findings), key=order.__getitem__, default="ok")
