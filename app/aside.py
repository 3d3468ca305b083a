"""Folders of an earlier start that make way for a new one, and are not lost at once."""

import shutil
import time
from pathlib import Path
from typing import Final

from app.home import START_FORMAT

ASIDE: Final = ".before-"
"""Stands between a folder's name and the time at which it was laid aside."""
ASIDE_KEPT: Final = 3
"""Newest ones that stay."""


def lay_aside(folder: Path, now_s: float) -> Path:
    """Renames a folder, removes the oldest beyond those that stay aside, and returns the new name.

    Raises:
      OSError: It cannot be renamed.
    """
    target = folder.with_name(f"{folder.name}{ASIDE}{time.strftime(START_FORMAT, time.gmtime(now_s))}")
    while target.exists():  # Two starts within a second.
        target = target.with_name(f"{target.name}-2")
    folder.replace(target)
    for old in sorted(folder.parent.glob(f"{folder.name}{ASIDE}*"))[:-ASIDE_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return target
