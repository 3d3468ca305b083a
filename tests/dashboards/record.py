"""Records what Prometheus scrapes, with the shipped config, while commands run one after another.

``python -m tests.dashboards.record 'make demo' 'sparring launch --config configs/league.yaml'``
"""

import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.dashboards.boards import FOLDER, panel_queries, rules, selected
from tests.dashboards.prometheus import prometheus
from tests.dashboards.recording import FILE, STEP_S, write_recording

SCRAPE_S = 2


def main(commands: list[str]) -> None:
    """Runs the commands and writes the recording."""
    with tempfile.TemporaryDirectory(prefix="sparring-recorded-") as folder:
        config = Path(folder) / "prometheus.yml"
        shipped = (FOLDER / "prometheus.yml").read_text()
        config.write_text(shipped.replace("scrape_interval: 10s", f"scrape_interval: {SCRAPE_S}s"))
        (Path(folder) / "alerts.yml").write_text((FOLDER / "alerts.yml").read_text())
        with prometheus(config, Path(folder) / "series") as running:
            start_s = time.time()
            for command in commands:
                ended = subprocess.run(shlex.split(command), check=False)
                sys.stderr.write(f"{command}: exit code {ended.returncode}\n")
            end_s = time.time()
            ours = "sparring_.+|up|scrape_duration_seconds"
            theirs = "|".join(sorted(_of_ray()))
            found = running.range(f'{{__name__=~"{ours}|{theirs}"}}', start_s, end_s, STEP_S)
    write_recording(found, start_s, end_s)
    sys.stderr.write(f"{FILE}: {len(found)} series over {end_s - start_s:.0f} s\n")


def _of_ray() -> set[str]:
    """Returns Ray's metrics that the dashboards show."""
    exprs = [query.expr for query in panel_queries()] + [rule["expr"] for rule in rules()]
    return {one.metric for expr in exprs for one in selected(expr) if one.metric.startswith("ray_")}


if __name__ == "__main__":
    main(sys.argv[1:])
