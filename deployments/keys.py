"""The doors of a replica, and the file that their keys come from."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from app.config.access import AccessConfig, KeyConfig
from app.config.keys import read_keys
from app.errors import ConfigError
from app.logs.secrets import SECRETS
from app.sessions.doors import Doors
from app.sessions.keys import Key, Quota
from app.sessions.refusals import Refusal
from app.types import Purpose, SessionId
from app.wire.steps import Credentials, StepRequest

POLL_S: Final = 1.0
"""Seconds between two looks at the keys file: soon enough to lock somebody out, and a look costs one stat."""

_log = logging.getLogger(__name__)

_Stamp = tuple[int, int, int]
"""What changes with a file: its inode, time and size."""


class DoorKeeper:
    """Keeps the doors of one replica with the keys that the file holds now; a broken file leaves them as they are."""

    def __init__(self, access: AccessConfig, default_purpose: Purpose, clock: Callable[[], float] = time.time) -> None:
        """Reads the keys.

        Args:
          access: Where they are.
          default_purpose: Purpose of a start that names none.
          clock: Returns Unix seconds.

        Raises:
          ConfigError: They cannot be read.
        """
        self._access = access
        self._clock = clock
        self._file = None if access.keys_file is None else Path(access.keys_file).expanduser()
        self._stamp = self._stamped()
        self._error: str | None = None
        keys = read_keys(access)
        self.doors = Doors([_key(key) for key in keys] if access.guarded else None, default_purpose, _tell)
        self._loaded(keys)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        """Returns what must run for as long as the replica lives: nothing where there is no file to watch."""
        return [] if self._file is None else [self._watch()]

    def status(self) -> dict[str, object]:
        """Returns how many keys there are, since when, and what keeps newer ones out; empty where none is needed."""
        if not self.doors.guarded:
            return {}
        return {"loaded_at": self._loaded_at, "keys": self._count, "error": self._error}

    def usage(self) -> dict[str, dict[str, int]]:
        """Returns what each key has done here, by its name."""
        return self.doors.usage()

    def may_see(self, credentials: Credentials | None) -> bool:
        """Returns whether credentials open what only administrators see."""
        return self.doors.may_see(credentials, self._clock())

    def admit(self, request: StepRequest) -> None:
        """Does nothing where a step that came from outside may be taken.

        Raises:
          StepError: It may not.
        """
        self.doors.admit(request, self._clock())

    def check(self, request: StepRequest) -> None:
        """Does nothing where the session of an admitted step is its key's.

        Raises:
          StepError: It is another's.
        """
        self.doors.check(request, self._clock())

    def place(self, request: StepRequest) -> str | None:
        """Returns the name of the key that one more session would belong to.

        Raises:
          StepError: That key may open no more.
        """
        return self.doors.place(request, self._clock())

    def bind(self, session: SessionId, key: str | None) -> None:
        """Keeps an open session for a key."""
        self.doors.bind(session, key)

    def ended(self, session: SessionId) -> None:
        """Gives the place of a session back."""
        self.doors.ended(session)

    def was_of(self, session: SessionId, key: str | None) -> None:
        """Keeps the last reply of a session that is over for a key."""
        self.doors.was_of(session, key)

    async def look(self) -> None:
        """Takes the keys of the file if it has changed."""
        stamp, keys, error = await asyncio.to_thread(self._changed)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        if keys is not None:
            self.doors.swap([_key(key) for key in keys])
            self._loaded(keys)
            return
        self._error = error
        _log.error("the keys stay those of %s: %s", self._loaded_at, error)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            await self.look()

    def _changed(self) -> tuple[_Stamp | None, tuple[KeyConfig, ...] | None, str]:
        """Returns the file's stamp and, if it is another one, its keys or what is wrong with them."""
        stamp = self._stamped()
        if stamp == self._stamp:
            return stamp, None, ""
        try:
            return stamp, read_keys(self._access), ""
        except ConfigError as error:
            return stamp, None, str(error)

    def _stamped(self) -> _Stamp | None:
        """Returns the file's stamp, taken before it is read, so that a later change is seen; None without a file."""
        if self._file is None:
            return None
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _loaded(self, keys: tuple[KeyConfig, ...]) -> None:
        """Notes that these keys are in use."""
        self._loaded_at = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")
        self._count = len(keys)
        SECRETS.hide(*(key.key.get_secret_value() for key in keys))
        SECRETS.hide(*(key.secret.get_secret_value() for key in keys if key.secret is not None))
        self._error = None
        if self.doors.guarded:
            _log.info("%d keys loaded from %s", len(keys), self._file or f"${self._access.keys_env}")


def _key(config: KeyConfig) -> Key:
    quota = config.quota
    burst_steps = quota.burst_steps or max(1, round(quota.steps_per_s or 1))
    return Key(
        name=config.name,
        key=config.key.get_secret_value(),
        secret=None if config.secret is None else config.secret.get_secret_value(),
        purposes=frozenset(config.purposes),
        require_token=config.needs_token,
        static_token=config.static_token,
        quota=Quota(quota.max_sessions, quota.steps_per_s, burst_steps),
        admin=config.admin,
    )


def _tell(refusal: Refusal) -> None:
    _log.warning("refused: key=%s reason=%s count=%d: %s", refusal.key, refusal.reason, refusal.count, refusal.message)
