"""``sparring gpu-check``."""

import time
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table

from train.bench.gpu_check import checks, gpu_problem, run_checks


def gpu_check(
    seconds: Annotated[float, typer.Option(help="Length of each measurement, in seconds.", min=0.1)] = 5.0,
) -> None:
    """Checks what a GPU is asked for: training, precisions, DeepSpeed, inference, and both on one card.

    Without a GPU it says why and ends well; with one it ends with 1 if a part fails.
    """
    console = Console()
    if problem := gpu_problem():
        console.print(f"nothing to check: {problem}", highlight=False)
        return
    device = torch.device("cuda", 0)
    table = Table("part", "outcome", "figure", title=torch.cuda.get_device_name(device))
    rows = run_checks(checks(device, seconds), time.monotonic)
    for row in rows:
        table.add_row(row.name, row.outcome, row.told)
    console.print(table)
    if any(row.outcome == "failed" for row in rows):
        raise typer.Exit(1)
