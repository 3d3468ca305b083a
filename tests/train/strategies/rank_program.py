"""One worker of a training run without Ray: ``RANK WORKERS PORT FOLDER WHAT CASES``.

For each case, which is a name with a trainer's settings, ``begin`` trains 3 updates, saves, trains 2 more and prints
the digest of all that a checkpoint holds; ``resume`` goes on from the checkpoint, trains 2 and prints the same.
"""

import json
import os
import sys
from pathlib import Path

import torch
from torch import distributed

from tests.train.runs import Run, digest, trainer
from train.checkpoint import Checkpoints


def main(rank: int, workers: int, port: str, folder: Path, what: str, cases: dict[str, dict[str, object]]) -> None:
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(rank), WORLD_SIZE=str(workers))
    if workers > 1:
        distributed.init_process_group("gloo", rank=rank, world_size=workers)
    for name, settings in cases.items():
        checkpoints = Checkpoints(folder / name)
        config = trainer(workers=workers, **settings)
        if what == "begin":
            run = Run(config, place=(rank, workers)).train(3)
            assert run.trained.may_save()
            run.save(checkpoints)
        else:
            newest = checkpoints.newest()
            assert newest is not None
            run = Run(config, seed=5, path=newest, place=(rank, workers))
        found = run.train(2).bits()
        weights = run.processes.gather(digest(dict(run.trained.weights())))
        assert weights is None or len(set(weights)) == 1, name  # On all workers alike.
        if rank == 0:
            sys.stdout.write(f"digest: {json.dumps([name, found])}\n")
    if distributed.is_initialized():
        distributed.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]), sys.argv[5], json.loads(sys.argv[6]))
