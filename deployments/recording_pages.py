"""Recorded games over HTTP, to look at: which there are on this node, and each as a page that plays it."""

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson

from app.errors import BadRequestError, NotFoundError, OverloadedError, RecordingError
from app.recordings.files import SUFFIX
from app.recordings.index import RecordingSummary, recordings
from app.recordings.reading import read_episode
from app.render.player import player_html
from app.wire.http import JSON, HttpReply, HttpRequest

RECORDING: Final = "/recordings/"
"""Path of one recording, without its folder, file and number."""
NEWEST_DEFAULT: Final = 50
NEWEST_MAX: Final = 500
"""Newest recordings that one request may ask for."""
PATIENCE_S: Final = 60.0
"""Longest wait for a page: that of a long episode takes seconds."""
WAITING_MAX: Final = 4
"""Requests that may wait for the disk; one is answered at a time, since games are played beside it."""
HEADERS: Final = (
    (b"Content-Security-Policy", b"sandbox allow-scripts; frame-ancestors 'self'"),
    (b"X-Content-Type-Options", b"nosniff"),
    (b"Referrer-Policy", b"no-referrer"),
    (b"Cache-Control", b"private, max-age=3600"),
)
"""What a player may do: nothing but play. The page itself says what it may load, which is nothing."""

_PAGE: Final = b"text/html; charset=utf-8"
_WORD: Final = re.compile(r"[\w-][\w.-]*")
_NUMBER_DIGITS: Final = 9

_T = TypeVar("_T")


class RecordingPages:
    """Answers who asks for recorded games; files are read in a thread."""

    def __init__(self, trial_folder: Path, folders: Sequence[str]) -> None:
        """Makes the pages of a trial.

        Args:
          trial_folder: Where the folders of recordings lie.
          folders: Those that its agents record to.
        """
        self._root = trial_folder
        self._folders = sorted(set(folders))
        self._reading = asyncio.Lock()
        self._waiting = 0

    async def show(self, request: HttpRequest) -> HttpReply:
        """Returns the newest recordings, as many as ``newest`` says, and the folders that are looked into.

        Raises:
          BadRequestError: That is no number.
          OverloadedError: Too many ask.
        """
        text = request.fields.get("newest", str(NEWEST_DEFAULT))
        if not text.isdecimal() or len(text) > len(str(NEWEST_MAX)) or not 1 <= int(text) <= NEWEST_MAX:
            raise BadRequestError(f"newest is {text[:40]!r}; allowed are 1 to {NEWEST_MAX}")
        found = await self._read(lambda: self._newest(int(text)))
        return HttpReply(200, orjson.dumps({"recordings": found, "folders": self._folders}), JSON)

    async def play(self, request: HttpRequest) -> HttpReply:
        """Returns the page that plays one recording.

        Raises:
          BadRequestError: The path names none.
          NotFoundError: It is not there, or cannot be shown.
          OverloadedError: Too many ask.
        """
        path, number = self._named(request.path)
        try:
            page = await self._read(lambda: player_html(read_episode(path, number)).encode())
        except RecordingError as error:
            raise NotFoundError(f"{request.path[:200]} cannot be shown: {error}") from error
        return HttpReply(200, page, _PAGE, HEADERS)

    def _newest(self, newest: int) -> list[dict[str, Any]]:
        found = [(folder, one) for folder in self._folders for one in recordings(self._root / folder, newest)]
        found.sort(key=lambda pair: pair[1].began_s, reverse=True)
        return [_document(folder, one) for folder, one in found[:newest]]

    def _named(self, path: str) -> tuple[Path, int]:
        """Returns the file and the number of a path; only files of the folders that are recorded to can be named."""
        folder, _, rest = path.removeprefix(RECORDING).partition("/")
        file, _, number = rest.partition("/")
        is_number = number.isdecimal() and len(number) <= _NUMBER_DIGITS
        if folder not in self._folders or not _WORD.fullmatch(file) or not file.endswith(SUFFIX) or not is_number:
            raise BadRequestError(
                f"{path[:200]} names no recording; allowed are {RECORDING}<folder>/<file>/<number> with a folder of "
                f"{', '.join(self._folders) or 'none'}; GET /recordings lists them"
            )
        return self._root / folder / file, int(number)

    async def _read(self, work: Callable[[], _T]) -> _T:
        """Returns what a thread has read.

        Raises:
          OverloadedError: Too many wait, or it takes too long.
        """
        if self._waiting >= WAITING_MAX:
            raise OverloadedError(f"{self._waiting} requests wait for recordings; allowed are {WAITING_MAX}")
        self._waiting += 1
        try:
            async with asyncio.timeout(PATIENCE_S), self._reading:
                return await asyncio.to_thread(work)
        except TimeoutError as error:
            raise OverloadedError(f"recordings are not read within {PATIENCE_S:g} s") from error
        finally:
            self._waiting -= 1


def _document(folder: str, one: RecordingSummary) -> dict[str, Any]:
    """Returns a recording as a JSON object, with ``id`` in place of where it lies."""
    fields = one.as_dict()
    del fields["path"]
    return {"id": f"{folder}/{one.path.name}/{one.number}", **fields}
