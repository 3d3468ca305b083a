"""What Ray Train calls in each learner worker: it learns, and notes for the driver why it could not."""

import logging
import traceback

import ray
import ray.train
import torch
from ray.exceptions import RayActorError

from app.errors import SparringError
from app.stores.error_forwarder import end_watching, watch_errors
from app.stores.telling import Teller
from app.stores.trial import Trial
from train.loop_args import LoopArgs
from train.worker import Worker

_log = logging.getLogger(__name__)


def run_worker(loop_args: dict[str, LoopArgs]) -> None:
    """Trains until the stream ends; Ray Train calls it in each worker.

    A Python error would fail again, so it is not worth a restart: it is noted for the driver, which raises it, and
    workers that Ray Train starts in spite of it return at once. A worker whose process dies is restarted, and with it
    those that were waiting for it in a collective; so are those that ask a store while it is started again.
    """
    args = loop_args["args"]
    rank = ray.train.get_context().get_world_rank()
    watch_errors(args.namespace, f"learner {args.trainer} {rank}", args.config.logs)
    metrics = Trial(args.namespace).metrics
    if metrics.failure(args.run) is not None:
        return
    torch.set_num_threads(1)
    try:
        worker = Worker(args)
        teller = Teller(metrics, worker.tell)
        teller.start()
        try:
            worker.run()
        finally:
            teller.close()
    except Exception as error:
        if _passes_with_a_restart(error):
            raise
        reason = str(error) if isinstance(error, SparringError) else traceback.format_exc()
        _log.exception("trainer %s failed: %s", args.trainer, error)
        end_watching()  # It is sent now: the driver may end this process as soon as it knows why.
        metrics.fail(args.run, f"{type(error).__name__} in learner worker: {reason}")
        if ray.train.get_context().get_world_size() > 1:
            raise  # Returning would leave the other workers in a collective.


def _passes_with_a_restart(error: Exception) -> bool:
    """Returns whether another process is the reason: a worker, which notes its own error, or a store that restarts."""
    # Of gloo's errors torch makes bare RuntimeErrors; they begin with the place in its source.
    peer_is_gone = isinstance(error, torch.distributed.DistError) or "gloo/transport" in str(error)
    return peer_is_gone or isinstance(error, RayActorError)
