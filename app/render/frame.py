"""What a render function gets and gives."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from app.recordings.reading import Episode, RecordedStep

Image = NDArray[np.uint8]
"""A picture, [height, width, 3]."""

Picture = Image | str
"""An image, or a piece of HTML, which has neither scripts nor addresses in it: they would not be followed."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One step of a recorded game."""

    episode: Episode
    step: RecordedStep
    at: int
    """Its place among the frames of the episode."""

    @property
    def observation(self) -> NDArray[np.generic] | None:
        """Returns the observation where it is one array; None where it is nested or unknown."""
        return self.step.observation.get("") if self.step.has_observation else None

    @property
    def parts(self) -> Mapping[str, NDArray[np.generic]]:
        """Returns the arrays of the observation by path, "" where it is one; none where it is unknown."""
        return self.step.observation if self.step.has_observation else {}

    @property
    def input(self) -> Any:
        """Returns what came, parsed; None where it is no JSON."""
        return self.step.input_json()

    @property
    def output(self) -> Any:
        """Returns what was answered, parsed; None where it is no JSON."""
        return self.step.output_json()


class Render(Protocol):
    """Shows a step of a game, as a user writes it: a function of a module."""

    def __call__(self, frame: Frame, /) -> Picture:
        """Returns an image, uint8 [height, width, 3], or a piece of HTML; all images of a game have one size."""


def frames(episode: Episode) -> list[Frame]:
    """Returns what there is to see of an episode: its ticks, and its end where a last state is known."""
    steps = [s for s in episode.steps if s.event == "tick" or (s.event in ("stop", "end") and s.has_observation)]
    return [Frame(episode, step, at) for at, step in enumerate(steps)]
