"""Builds the C++ client with its tests, once a session."""

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
CLIENT = HERE.parents[2] / "app" / "client" / "cpp"
BUILD_TIMEOUT_S = 300
SANITIZE = os.environ.get("SPARRING_SANITIZE", "address,undefined")
"""Sanitizers of the build; ``thread`` finds races."""


def build(folder: Path, documented: Path) -> None:
    """Builds everything into a folder, the program of the documentation included."""
    settings = (f"-DSPARRING_CLIENT_SANITIZE={SANITIZE}", f"-DDOCUMENTED={documented}")
    run("cmake", "-S", str(HERE), "-B", str(folder), *settings)
    run("cmake", "--build", str(folder), "--parallel", "2")


def build_example(folder: Path) -> Path:
    """Builds the example game core alone and returns its program."""
    setting = f"-DSPARRING_CLIENT_SANITIZE={SANITIZE}"
    run("cmake", "-S", str(CLIENT), "-B", str(folder), setting)
    run("cmake", "--build", str(folder), "--parallel", "2", "--target", "echo_game")
    return folder / "echo_game"


def run(*command: str) -> str:
    """Returns what a command prints; its failure is the test's."""
    done = subprocess.run(
        ["/usr/bin/env", *command], capture_output=True, text=True, check=False, timeout=BUILD_TIMEOUT_S
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout
