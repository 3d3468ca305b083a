"""One of two workers that save again and again, without Ray: ``RANK WORKERS PORT FOLDER STRATEGY``.

It prints the updates of each checkpoint that is on disk. When a line is written to its standard input, the next save
stops before this worker has given its part, prints ``inside``, and waits for ever.
"""

import os
import select
import sys
from pathlib import Path

import torch
from torch import distributed

from tests.train.runs import Run, trainer
from train import resume
from train.checkpoint import Checkpoints


def asked_to_stop() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def stop_inside() -> dict[str, object]:
    sys.stdout.write("inside\n")
    sys.stdout.flush()
    sys.stdin.readline()
    sys.stdin.readline()  # For ever: nobody writes a second line.
    return {}


def main(rank: int, workers: int, port: str, folder: Path, strategy: str) -> None:
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(rank), WORLD_SIZE=str(workers))
    distributed.init_process_group("gloo", rank=rank, world_size=workers)
    checkpoints = Checkpoints(folder)
    run = Run(trainer(workers=workers, strategy={"kind": strategy}), place=(rank, workers))
    while True:
        run.train(1)
        if asked_to_stop():
            resume.random_state = stop_inside
        if run.save(checkpoints) is not None:
            sys.stdout.write(f"saved {run.updates}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]), sys.argv[5])
