"""The console over HTTP: a page, its files, and what it draws."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from app.wire.http import JSON, HttpReply, HttpRequest
from deployments.console.files import WebFiles

RING: Final = "/ring"
"""Path of the trial's parts."""


class ConsolePages:
    """Answers the console of a browser; its figures come from the other admin paths."""

    def __init__(self, ring: Mapping[str, Any]) -> None:
        """Makes the pages of a trial.

        Args:
          ring: Its parts and links; see ``ring_of``.
        """
        self.files = WebFiles()
        self._ring = orjson.dumps(ring)

    async def ring(self, request: HttpRequest) -> HttpReply:
        """Returns the parts of the trial and what goes from one to another."""
        return HttpReply(200, self._ring, JSON)
