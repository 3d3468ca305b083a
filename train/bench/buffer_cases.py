"""The rows that ``buffer`` measures with."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from app.agents.unroll import Row
from app.config.buffers import BufferConfig
from app.models.distributions.categorical import Categorical
from app.models.spec import ArraySpec, ModelSpec
from app.replay.rows import empty_batch
from app.replay.supply import WhenFull
from app.stores.buffer_settings import BufferSettings, batch_layout
from app.types import RowKind, Rows


@dataclass(frozen=True, slots=True)
class Case:
    """Rows of one kind."""

    name: str
    observation: tuple[int, ...]
    dtype: str
    fragment_rows: int
    """Rows of one trajectory, its bootstrap row included."""
    push_rows: int
    batch_rows: int
    capacity_rows: int
    target_rows_per_s: float

    @property
    def spec(self) -> ModelSpec:
        """Returns the shapes of the model whose rows these are."""
        return ModelSpec(ArraySpec(self.observation, self.dtype), Categorical(2))

    @property
    def row_bytes(self) -> int:
        """Returns the size of a row."""
        return batch_layout(self.spec, self.settings(WhenFull.REFUSE)).bytes // self.batch_rows

    def settings(self, when_full: WhenFull, credits_batches: int = 2) -> BufferSettings:
        """Returns how the buffer deals out batches."""
        ticket_bytes = int(BufferConfig().ticket_mb * 2**20)
        return BufferSettings(
            self.batch_rows, 1, self.capacity_rows, credits_batches, 5.0, when_full=when_full, ticket_bytes=ticket_bytes
        )


CARTPOLE: Final = Case("cartpole", (4,), "float32", 64, 4096, 4096, 8 * 4096, 400_000)
ATARI: Final = Case("atari", (4, 84, 84), "uint8", 128, 128, 512, 4 * 512, 13_400)


def trajectories(case: Case) -> Rows:
    """Returns the rows of one push."""
    rows = empty_batch(case.spec, case.push_rows)
    at = np.arange(case.push_rows)
    last = (at + 1) % case.fragment_rows == 0
    rows["kind"][:] = np.where(last, RowKind.TERMINATED, RowKind.STEP)
    rows["weight"][:] = ~last
    rows["tick"][:] = at % case.fragment_rows
    rows["episode"][:] = at // case.fragment_rows
    rows["generation"][:] = 1
    return rows


def trajectory_rows(case: Case) -> list[Row]:
    """Returns one trajectory as an agent's unroll hands it over."""
    observation, mask = np.zeros(case.observation, case.dtype), np.ones(2, np.uint8)
    last = case.fragment_rows - 1
    return [
        Row(observation, 1, mask, None, 1.0, -0.7, 0.5, int(RowKind.TERMINATED if tick == last else RowKind.STEP),
            float(tick != last), 1, 1, 0, tick)
        for tick in range(case.fragment_rows)
    ]  # fmt: skip
