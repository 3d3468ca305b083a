"""The garbage collector of a process that answers."""

import subprocess
import sys

FROZEN = """
import gc, time
import deployments.actor
from deployments.heap import freeze_heap
freeze_heap()
began_s = time.process_time()
gc.collect()
took_s = time.process_time() - began_s
print(gc.get_freeze_count(), took_s)
"""


def test_what_was_there_at_the_start_is_not_walked_again() -> None:
    done = subprocess.run([sys.executable, "-c", FROZEN], capture_output=True, text=True, timeout=60, check=True)
    frozen, took_s = done.stdout.split()
    assert int(frozen) > 100_000
    assert float(took_s) < 0.02
