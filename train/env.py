"""What the processes of the learner need in their environment."""

from typing import Final

WORKER_ENV: Final = {
    # A block that comes alone would wait for 100 ms in Ray Data's executor; it reads this at import.
    "RAY_DATA_METADATA_PREFETCH_ON_THREAD": "0",
    "OMP_NUM_THREADS": "1",
}
