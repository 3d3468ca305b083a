"""Looks for secrets in whatever was written."""

import mmap
from collections.abc import Iterable
from pathlib import Path


def holding(folder: Path, texts: Iterable[str], but: Iterable[Path] = ()) -> list[str]:
    """Returns ``path: text`` for each file below a folder that holds one of some texts; files of ``but`` may."""
    wanted = [text.encode() for text in texts]
    allowed = {path.resolve() for path in but}
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.resolve() in allowed or not path.stat().st_size:
            continue
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found += [f"{path.relative_to(folder)}: {text.decode()}" for text in wanted if content.find(text) >= 0]
    return found
