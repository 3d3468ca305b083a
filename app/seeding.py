"""Seeds that derive from one, and random numbers that can be taken up where they were left."""

import hashlib
from collections.abc import Sequence
from typing import Final, TypeVar

_T = TypeVar("_T")
_WORD: Final = 2**64 - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15
"""Odd number next to 2^64 over the golden ratio: its multiples spread evenly."""
_FRACTION: Final = 2.0**-53


def derive(seed: int, *parts: int | str) -> int:
    """Returns a seed below 2^63 for one purpose; equal parts give equal seeds, on any machine."""
    text = "/".join(str(part) for part in (seed, *parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


class Draws:
    """Random numbers of one session: the n-th depends on the seed and n alone (SplitMix64, Steele et al. 2014).

    So a session that goes on in another process draws on from its count, and nothing else has to travel.
    """

    __slots__ = ("_seed", "count")

    def __init__(self, seed: int, count: int = 0) -> None:
        self._seed = seed
        self.count = count
        """Numbers drawn so far."""

    def random(self) -> float:
        """Returns a number in [0, 1)."""
        return (self._word() >> 11) * _FRACTION

    def own(self) -> float:
        """Returns a number in [0, 1) that is the session's own: always the same, and none of those drawn."""
        return (self._word_at(0) >> 11) * _FRACTION

    def randrange(self, stop: int) -> int:
        """Returns a whole number from 0 to ``stop`` - 1.

        Raises:
          ValueError: ``stop`` is not positive.
        """
        if stop < 1:
            raise ValueError(f"randrange needs a positive stop, got {stop}")
        return self._word() * stop >> 64

    def choice(self, items: Sequence[_T]) -> _T:
        """Returns one of the items."""
        return items[self.randrange(len(items))]

    def _word(self) -> int:
        self.count += 1
        return self._word_at(self.count)

    def _word_at(self, count: int) -> int:
        word = (self._seed + count * _GOLDEN) & _WORD
        word = ((word ^ word >> 30) * 0xBF58476D1CE4E5B9) & _WORD
        word = ((word ^ word >> 27) * 0x94D049BB133111EB) & _WORD
        return word ^ word >> 31
