"""Bodies that have begun to come, counted over all connections of a replica."""


class PartialBodies:
    """A bound on the bytes of requests that are not whole yet, whichever port they come in by."""

    __slots__ = ("held_bytes", "most_bytes")

    def __init__(self, most_bytes: int) -> None:
        """Holds nothing yet.

        Args:
          most_bytes: Bytes that may be held at a time.
        """
        self.most_bytes = most_bytes
        self.held_bytes = 0

    def change(self, by_bytes: int) -> bool:
        """Counts bytes that have come, or that are let go; returns whether all that is held fits."""
        self.held_bytes += by_bytes
        return self.held_bytes <= self.most_bytes
