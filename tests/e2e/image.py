"""Builds the image without Docker and without a registry: buildah builds, and the base is made of Debian's packages."""

import ast
import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any

from .commands import ROOT

PROGRAMS = ("buildah", "mmdebstrap")
BASE_PACKAGES = ("python-is-python3", "python3-venv", "ca-certificates")
"""What makes a Debian the documented base: a ``python`` with ``venv``, and trust."""
BUILD_S = 2400.0
CONTAINER = "sparring-image-test"


def missing() -> str | None:
    """Returns what the build needs and this machine lacks; None where it has all."""
    lacks = [program for program in PROGRAMS if shutil.which(program) is None]
    if lacks:
        return f"{' and '.join(lacks)} (apt-get install --no-install-recommends {' '.join(lacks)})"
    return None if os.geteuid() == 0 else "root, who may change the root folder of a process"


class Images:
    """Images and one container below a folder of their own; processes in them share network and processes with us."""

    def __init__(self, folder: Path, *, pip_without: Container[str] = ()) -> None:
        """Prepares the folder.

        Args:
          folder: Holds all images.
          pip_without: Settings of this machine's pip that builds are not told.
        """
        self.folder = folder
        (folder / "tmp").mkdir()
        self.pip_conf = folder / "pip.conf"
        self.volumes = [f"{self.pip_conf}:/etc/pip.conf:ro", *self._pip_files(pip_without)]

    def words(self, command: str, *words: str) -> list[str]:
        """Returns the words of a command of buildah on these images."""
        where = ["--root", f"{self.folder / 'root'}", "--runroot", f"{self.folder / 'run'}", "--storage-driver", "vfs"]
        return ["env", f"TMPDIR={self.folder / 'tmp'}", "BUILDAH_ISOLATION=chroot", "buildah", *where, command, *words]

    def buildah(self, command: str, *words: str, timeout_s: float = BUILD_S) -> str:
        """Returns what a command of buildah prints."""
        return _output(self.words(command, *words), timeout_s)

    def add_base(self) -> None:
        """Makes the image that the Dockerfile begins with, under its name."""
        (tag,) = re.findall(r"^ARG PYTHON=(\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
        context = self.folder / "base"
        context.mkdir()
        include = f"--include={','.join(BASE_PACKAGES)}"
        suite = tag.rpartition("-")[2]
        _output(["mmdebstrap", "--quiet", "--variant=minbase", include, suite, f"{context / 'base.tar'}"], BUILD_S)
        (context / "Dockerfile").write_text("FROM scratch\nADD base.tar /\n")
        self.buildah("bud", "-t", f"docker.io/library/python:{tag}", str(context))
        shutil.rmtree(context)

    def build(self, documented: str) -> str:
        """Does what a ``docker build`` does, in the project's folder, and returns what it prints."""
        docker, build, *words = shlex.split(documented)
        if (docker, build, words[-1]) != ("docker", "build", "."):
            raise ValueError(f"not built: {documented!r}, allowed: docker build … .")
        volumes = [word for volume in self.volumes for word in ("-v", volume)]
        return self.buildah("bud", "--pull-never", *volumes, *words[:-1], str(ROOT))

    def config(self, image: str) -> Mapping[str, Any]:
        """Makes the container of an image, and returns what the image says: its user, entrypoint, command."""
        self.buildah("from", "--pull-never", "--name", CONTAINER, image)
        inspected = json.loads(self.buildah("inspect", "--type", "image", image))
        return dict(inspected["OCIv1"]["config"])

    def inside(self, *words: str, volumes: tuple[str, ...] = (), **variables: str) -> list[str]:
        """Returns the words that run a command in the container, as the image's user."""
        options = [word for volume in volumes for word in ("-v", volume)]
        options += [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
        return self.words("run", *options, CONTAINER, "--", *words)

    def _pip_files(self, without: Container[str]) -> Iterator[str]:
        """Writes down how pip is configured here, and yields volumes of the files that it names."""
        told = _output([sys.executable, "-m", "pip", "config", "list"], 60)
        settings = [line.partition("=") for line in told.splitlines()]
        named = ((key.rpartition(".")[2], value) for key, _, value in settings)
        found = {name: str(ast.literal_eval(value)) for name, value in named if name not in without}
        parser = configparser.RawConfigParser()
        parser["global"] = {key: value.replace("\n", "\n  ") for key, value in found.items()}
        with self.pip_conf.open("w") as file:
            parser.write(file)
        for word in " ".join(found.values()).split():
            path = Path(word)
            if word.startswith("file://"):
                path = Path(word.removeprefix("file://")).parent  # An index's files lie beside its pages.
            if path.is_absolute() and path.exists():
                yield f"{path}:{path}:ro"


def _output(words: list[str], timeout_s: float) -> str:
    """Returns what a command prints; its last words where it fails."""
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(words)} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout
