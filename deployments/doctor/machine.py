"""Looks at this machine: each look gives a finding."""

import os
import resource
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Final

import psutil

from app.errors import PortInUseError, SparringError
from app.home import HOME_VARIABLE
from app.origin import ROOT, check_origin
from deployments.doctor import findings
from deployments.doctor.findings import Finding
from deployments.port import holder, probe

PACKAGES: Final = ("ray", "torch", "numpy", "protobuf", "onnxruntime", "mlflow")
SHM: Final = Path("/dev/shm")  # noqa: S108  # That very place is looked at.
MB: Final = 2**20


def examine(ports: dict[str, tuple[str, int]]) -> Iterator[Finding]:
    """Yields the findings.

    Args:
      ports: Name, address and number of each port that should be free.
    """
    yield findings.python(*sys.version_info[:2])
    yield origin()
    yield from packages()
    for name, (host, number) in ports.items():
        yield findings.port(name, number, held_by(host, number))
    yield findings.open_files(*resource.getrlimit(resource.RLIMIT_NOFILE))
    yield findings.shared_memory(shutil.disk_usage(SHM).free / MB if SHM.is_dir() else None)
    yield state_root()
    yield findings.token(os.environ.get("RAY_AUTH_MODE"), there=_has_token())
    yield gpu()


def origin() -> Finding:
    """Returns whether another package hides one of ours."""
    try:
        check_origin()
    except SparringError as error:
        return Finding("packages", "fail", str(error), "start elsewhere, or rename it")
    return Finding("packages", "ok", f"ours, in {ROOT}")


def packages() -> Iterator[Finding]:
    """Yields a finding for each package whose version matters."""
    required = findings.exact(_requirements())
    constraints = ROOT / "constraints.txt"
    tested = findings.exact(constraints.read_text(encoding="utf-8").splitlines()) if constraints.is_file() else {}
    for name in PACKAGES:
        yield findings.version(name, _installed(name), required.get(name), tested.get(name))


def held_by(host: str, port: int) -> str | None:
    """Returns who listens on a port: a service of ours, a process, or just somebody; None where nobody does."""
    ours = holder(host, port)
    if ours is not None:
        return ours
    try:
        probe(host, port)
    except PortInUseError as error:
        return _process_on(port) or str(error)
    return None


def state_root() -> Finding:
    """Returns whether there is room where projects keep their files."""
    folder = Path(os.environ.get(HOME_VARIABLE) or "~/.sparring").expanduser().absolute()
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free_mb = shutil.disk_usage(there).free / MB
    return findings.disk(str(folder), free_mb, writable=there.is_dir() and os.access(there, os.W_OK))


def gpu() -> Finding:
    """Returns whether torch can use the machine's GPUs; it is imported only where there are some."""
    folder = Path("/proc/driver/nvidia/gpus")
    devices = len(list(folder.iterdir())) if folder.is_dir() else 0
    return findings.gpu(devices, _installed("torch"), cuda=bool(devices) and _cuda_works())


def _cuda_works() -> bool:
    try:
        import torch  # noqa: PLC0415  # Two seconds that most machines need not wait.
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def _installed(package: str) -> str | None:
    try:
        return installed_version(package)
    except PackageNotFoundError:
        return None


def _requirements() -> list[str]:
    try:
        return requires("sparring") or []
    except PackageNotFoundError:  # It runs from its folder, not installed.
        return []


def _has_token() -> bool:
    path = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or "~/.ray/auth_token").expanduser()
    return bool(os.environ.get("RAY_AUTH_TOKEN")) or (path.is_file() and path.stat().st_size > 0)


def _process_on(port: int) -> str | None:
    """Returns the process that listens on a port; None where this user may not see it."""
    try:
        found = psutil.net_connections("tcp")
        listening = [c for c in found if c.status == psutil.CONN_LISTEN and c.laddr and c.laddr.port == port]
        pids = [c.pid for c in listening if c.pid is not None]
        return f"{psutil.Process(pids[0]).name()} (process {pids[0]})" if pids else None
    except psutil.Error:
        return None
