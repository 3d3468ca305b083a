"""The keys of a service, and what has been done with each."""

import hmac
from collections.abc import Iterable

from app.sessions.keys import Grant, Key
from app.sessions.quota import TokenBucket
from app.sessions.refusals import NOBODY


class Holder:
    """A key and what has been done with it."""

    __slots__ = ("_key_bytes", "bucket", "grant", "key", "name", "steps")

    def __init__(self, key: Key) -> None:
        self.name = key.name
        self.grant = Grant(key.name)
        self.steps = 0
        """Steps admitted."""
        self.bucket: TokenBucket | None = None
        """What is left of its rate; None where that is not limited."""
        self.renew(key)

    def renew(self, key: Key) -> None:
        """Puts another key of the same name in place."""
        self.key = key
        self._key_bytes = key.key.encode()
        quota = key.quota
        if quota.steps_per_s is None:
            self.bucket = None
        elif self.bucket is None:
            self.bucket = TokenBucket(quota.steps_per_s, quota.burst_steps)
        else:
            self.bucket = self.bucket.resized(quota.steps_per_s, quota.burst_steps)

    def sent(self, key: str) -> bool:
        """Returns whether this is what was sent as a key, in a time that does not tell where they differ."""
        return hmac.compare_digest(self._key_bytes, key.encode("utf-8", "surrogatepass"))


class Holders:
    """The keys of one replica's doors; they are exchanged all at once."""

    def __init__(self, keys: Iterable[Key]) -> None:
        """Takes the first keys.

        Raises:
          ValueError: Two keys have one name, or are the same.
        """
        self.stranger = Holder(Key(NOBODY, "", "", require_token=True))
        """Takes the place of a key that nobody has, so that it is refused in the same way and time."""
        self.by_name: dict[str, Holder] = {}
        """With those that have lost their key: one that comes back finds what it has done."""
        self._by_key: dict[str, Holder] = {}
        self.swap(keys)

    def swap(self, keys: Iterable[Key]) -> None:
        """Puts other keys in place of all; a name that stays keeps what it has done and what is left of its rate.

        Raises:
          ValueError: Two keys have one name, or are the same; then nothing has changed.
        """
        new = list(keys)
        if len({key.name for key in new}) < len(new) or len({key.key for key in new}) < len(new):
            raise ValueError(f"names and keys must differ, got the names {[key.name for key in new]}")
        holders = [self._renewed(key) for key in new]
        self.by_name |= {holder.name: holder for holder in holders}
        self._by_key = {holder.key.key: holder for holder in holders}

    def find(self, key: str) -> tuple[Holder, bool]:
        """Returns the holder of a key and true, or the stranger and false."""
        holder = self._by_key.get(key, self.stranger)
        same = holder.sent(key)
        return holder, same and holder is not self.stranger

    def _renewed(self, key: Key) -> Holder:
        holder = self.by_name.get(key.name)
        if holder is None:
            return Holder(key)
        holder.renew(key)
        return holder
