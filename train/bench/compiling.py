"""Compiles the load generator on its first use."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from app.errors import SparringError
from app.home import ensure, state_root

SOURCES: Final = Path(__file__).parent / "loadgen"
FLAGS: Final = ("-std=c++17", "-O2", "-Wall", "-Wextra")
COMPILE_TIMEOUT_S: Final = 300.0
"""Longest compilation: seconds on an idle machine."""


class CompilerError(SparringError):
    """The load generator cannot be compiled."""


def load_generator() -> Path:
    """Returns the program, compiled where these sources have not been yet.

    Raises:
      CompilerError: There is no C++ compiler, or it refuses the sources.
      ConfigError: The state root cannot be written.
    """
    folder = ensure(state_root("bench") / "loadgen")
    program = folder / _digest()
    if program.exists():
        return program
    partial = folder / f"{program.name}.{os.getpid()}"
    sources = [str(path) for path in sorted(SOURCES.glob("*.cpp"))]
    done = subprocess.run(  # noqa: S603  # The user's own compiler.
        [_compiler(), *FLAGS, "-o", str(partial), *sources],
        capture_output=True,
        text=True,
        timeout=COMPILE_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise CompilerError(f"the load generator in {SOURCES} does not compile:\n{done.stderr}")
    partial.replace(program)  # Whole or not at all, also where two compile at once.
    return program


def _compiler() -> str:
    wanted = os.environ.get("CXX") or "g++"
    found = shutil.which(wanted)
    if found is None:
        raise CompilerError(
            f"there is no {wanted}: the load generator of this benchmark is C++17; install g++ "
            "(Debian and Ubuntu: apt install g++), or name another compiler in CXX"
        )
    return found


def _digest() -> str:
    """Returns a name that changes with the sources and how they are compiled."""
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for path in sorted(SOURCES.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
