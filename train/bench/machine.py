"""What every result tells of the machine that it was measured on."""

import os
from collections.abc import Callable


def on_this_machine(bench: str, measure: Callable[[], dict[str, object]]) -> dict[str, object]:
    """Returns the result of a benchmark behind its name, the machine, and what load there was before and after."""
    before = os.getloadavg()
    result = measure()
    return {
        "bench": bench,
        "machine": f"{os.cpu_count()} cores",
        "load_average_before": [round(load, 2) for load in before],
        "load_average_after": [round(load, 2) for load in os.getloadavg()],
        **result,
    }
