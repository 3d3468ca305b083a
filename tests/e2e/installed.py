"""An environment with the built wheel, which all tests of one session share."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from tests.release.built import build, copied
from tests.release.environment import Environment, sharing


@cache
def installed() -> Environment:
    """Returns an environment with this wheel and the packages of others that the tests run with."""
    folder = Path(tempfile.mkdtemp(prefix="sparring-wheel-", dir="/tmp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (wheel,) = build(copied(folder / "source"), folder / "dist", "--wheel")
    return sharing(folder / "venv", wheel)
