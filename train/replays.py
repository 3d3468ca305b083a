"""Recorded games on their way to MLflow: now and then the newest one becomes a page of the trial's run."""

import logging
import re
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from app.config.root import ExperimentConfig
from app.errors import RecordingError, SparringError
from app.recordings.index import RecordingSummary, recordings
from app.recordings.reading import read_episode
from app.render.choosing import defaults, loaded
from app.render.player import player_html

Attach = Callable[[str, str], object]
"""Keeps a page under a name, in the trial's run; blocks, and raises a ``TrackingError`` where it cannot."""

_log = logging.getLogger(__name__)


class Replays:
    """Looks for new recordings from a thread of its own; training neither waits for it nor fails with it."""

    def __init__(self, config: ExperimentConfig, trial_folder: Path, attach: Attach) -> None:
        """Keeps who is looked for; ``start`` looks.

        Args:
          config: With the agents that record, and how often one game is attached.
          trial_folder: Recordings lie below it, where replicas and trainer share a machine or a file system.
          attach: Keeps a page.
        """
        self._config, self._attach = config, attach
        self._folders = sorted(
            {trial_folder / agent.record.folder for agent in config.agents.values() if agent.record is not None}
        )
        self._period_s = config.tracking.replay_s
        self._after_s = 0.0
        """When the newest game began that was attached."""
        self._failed = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="replays", daemon=True)
        self.attached = 0

    def start(self) -> None:
        """Begins to look; nothing is done where no agent records, or none is to be attached."""
        if self._folders and self._period_s is not None:
            self._thread.start()

    def close(self, timeout_s: float) -> None:
        """Attaches the last game and ends; what takes longer is given up."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def _work(self) -> None:
        while not self._ended.wait(self._period_s):
            self._attach_newest()
        self._attach_newest()

    def _attach_newest(self) -> None:
        try:
            newest = self._newest()
            if newest is None:
                return
            self._attach(name_of(newest), self._page(newest))
        except SparringError as error:
            if not self._failed:  # Once, not every few minutes.
                self._failed = True
                _log.warning("a recorded game was not attached to its run: %s", error)
            return
        except Exception:  # noqa: BLE001  # A user's render may raise anything.
            if not self._failed:
                self._failed = True
                _log.exception("a recorded game was not attached to its run")
            return
        self._after_s = newest.began_s
        self.attached += 1

    def _newest(self) -> RecordingSummary | None:
        found = _newest_of(self._folders)
        return found if found is not None and found.began_s > self._after_s else None

    def _page(self, summary: RecordingSummary) -> str:
        episode = read_episode(summary.path, summary.number)
        agent = self._config.agents.get(episode.agent)
        if agent is None:
            raise RecordingError(f"{summary.path}: agent {episode.agent!r} is not in the config")
        return player_html(episode, loaded(agent.renders) | defaults(episode))


def name_of(summary: RecordingSummary) -> str:
    """Returns what a recorded game is called among the artifacts of its run: by time, so that they are in order."""
    began = datetime.fromtimestamp(summary.began_s, UTC).strftime("%Y%m%d-%H%M%S")
    return f"{began}-{re.sub(r'[^A-Za-z0-9_.-]+', '_', summary.session)[:100]}"


def _newest_of(folders: Sequence[Path]) -> RecordingSummary | None:
    found = [summary for folder in folders for summary in recordings(folder, newest=1) if summary.ticks]
    return max(found, key=lambda summary: summary.began_s, default=None)
