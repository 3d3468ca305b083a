"""Memory of a process and all that it has started."""

import contextlib

import psutil


def pss_mib() -> float:
    """Returns the proportional set size of this process and its descendants, in MiB; shared pages count once."""
    total = 0
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total / 2**20
