"""What ``python -m train`` does: trains the model that a running service plays, as a job of its cluster."""

import argparse
import logging
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import ray
from ray.exceptions import RayError
from rich.console import Console
from rich.markup import escape

from app.config.active import active
from app.config.load import load
from app.config.logs import LogsConfig
from app.config.root import ExperimentConfig
from app.errors import ServiceNotFoundError, SparringError, first_line
from app.logs.entry import Source
from app.logs.setting_up import set_up_logs
from app.models.checkpoints import LATEST
from app.startup import INTERRUPTED
from app.stores.error_forwarder import tell
from app.stores.names import namespace_of
from app.stores.refusal import refusal
from app.stores.trial import Trial
from train.session import TrainingSession

LOOK_S: Final = 0.5
"""Seconds between two looks whether training has ended."""

_log = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains until the trainer ends or is told to, and returns the exit code."""
    given = parser().parse_args(arguments)
    set_up_logs(LogsConfig(), Source(process="driver"))
    errors = Console(stderr=True, soft_wrap=True)
    try:
        config = active(load(given.config, given.set))
        train(config, restore=LATEST if given.resume else given.restore)
    except SparringError as error:
        errors.print(f"[bold red]error[/]: {escape(str(error))}", highlight=False)
        return 1
    except KeyboardInterrupt:  # Before training begins, which ends in order.
        return INTERRUPTED
    return 0


def parser() -> argparse.ArgumentParser:
    """Returns the command's parser."""
    command = argparse.ArgumentParser(
        prog="python -m train", description="Trains the model that a running service plays."
    )
    command.add_argument("--config", type=Path, required=True, help="config file")
    command.add_argument("--set", action="append", default=[], metavar="a.b=c", help="override; may be repeated")
    what = command.add_mutually_exclusive_group()
    what.add_argument("--resume", action="store_true", help="as --restore latest")
    what.add_argument(
        "--restore",
        metavar="WHAT",
        help="start from a checkpoint, latest or its number of updates, or from a model: clones/ID, a folder, "
        "models:/NAME@ALIAS; a checkpoint brings its optimizer along",
    )
    return command


def train(config: ExperimentConfig, *, restore: str | None) -> None:
    """Trains in the cluster that runs the service; SIGINT and SIGTERM end it with a checkpoint and a champion.

    Raises:
      SparringError: There is no service, or training failed.
    """
    connect()
    trial = Trial(namespace_of(config.run))
    session = TrainingSession(config, trial, Path(trial.directory.info().home), restore=restore)
    stop = threading.Event()
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda *_: stop.set())
    session.start()
    succeeded = False
    try:
        while not session.join(LOOK_S):
            if stop.is_set():
                session.stop()
        for model, number in session.promote(session.pin()).items():
            _log.info("registered version %d of %s as the %s", number, model, config.tracking.alias)
        succeeded = True
    except SparringError as error:
        tell(_log.name, f"training failed: {error}", error)  # Whoever waits for this command reads it from its end.
        raise
    finally:
        session.close(succeeded=succeeded)


def connect() -> None:
    """Joins the running cluster.

    Raises:
      ServiceNotFoundError: There is none, or it cannot be joined.
    """
    try:
        ray.init(address="auto", log_to_driver=True)
    except (ConnectionError, RuntimeError, RayError) as error:
        refused = refusal(error)
        if refused is not None:
            raise ServiceNotFoundError(refused) from error
        if not isinstance(error, ConnectionError):
            reason = first_line(error)
            raise ServiceNotFoundError(f"the Ray cluster cannot be joined: {reason}") from error
        raise ServiceNotFoundError(
            "no Ray cluster runs here; start one with 'ray start --head' and the service with 'serve run "
            "serve_config.yaml', then train with 'ray job submit --working-dir . -- python -m train --config FILE'"
        ) from error
