"""What a trial shows over HTTP, beside the replicas that play it: a path each."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from app.metrics.prometheus import Sample
from app.wire.http import HttpReply, HttpRequest
from deployments.alarm_pages import ALARMS, AlarmPages
from deployments.console.files import CONSOLE, FILES
from deployments.console.pages import RING, ConsolePages
from deployments.error_pages import ERRORS, ErrorPages
from deployments.league_pages import LEAGUE, OPPONENT, LeaguePages
from deployments.metric_pages import NAMES, QUERY, MetricPages
from deployments.record_pages import RECORDINGS
from deployments.recording_pages import RECORDING, RecordingPages
from deployments.weights_pages import WEIGHTS, WeightsPages

Page = Callable[[HttpRequest], Awaitable[HttpReply]]


@dataclass(frozen=True, slots=True)
class TrialPages:
    """Answers who asks about the trial; any replica does, since all ask the same stores."""

    weights: WeightsPages
    league: LeaguePages
    errors: ErrorPages
    alarms: AlarmPages
    metrics: MetricPages
    recordings: RecordingPages
    console: ConsolePages

    def by_path(self) -> Mapping[str, Page]:
        """Returns what answers each path; one that ends with ``/`` answers what begins with it."""
        return {
            "/weights": self.weights.show,
            WEIGHTS: self.weights.send,
            LEAGUE: self.league.show,
            OPPONENT: self.league.opponent,
            ERRORS: self.errors.show,
            RING: self.console.ring,
            RECORDINGS: self.recordings.show,
            RECORDING: self.recordings.play,
            ALARMS: self.alarms.show,
            QUERY: self.metrics.query,
            NAMES: self.metrics.names,
        }

    def open_by_path(self) -> Mapping[str, Callable[[HttpRequest], HttpReply]]:
        """Returns what answers paths that tell nothing of the trial, and ask for no key."""
        return {CONSOLE: self.console.files.page, FILES: self.console.files.file}

    async def samples(self) -> list[Sample]:
        """Returns what of the trial is a metric."""
        return await self.metrics.samples()
