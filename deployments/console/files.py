"""The web files of the console: read from the package once, and sent with what a browser needs to keep them."""

from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from app.errors import NotFoundError
from app.wire.compression import deflate
from app.wire.http import NOT_MODIFIED, HttpReply, HttpRequest

CONSOLE: Final = "/console"
"""Path of the page."""
FILES: Final = "/console/"
"""Path of its files, without their names."""
PAGE: Final = "index.html"

POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load and do: nothing that is written into it, nothing from elsewhere."""
HEADERS: Final = (
    (b"Content-Security-Policy", POLICY),
    (b"X-Content-Type-Options", b"nosniff"),
    (b"Referrer-Policy", b"no-referrer"),
    (b"Cross-Origin-Opener-Policy", b"same-origin"),
    (b"Cross-Origin-Resource-Policy", b"same-origin"),
)

_KINDS: Final = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
"""Media types of the files that are sent, by suffix."""
_VENDOR: Final = "vendor"
"""Folder of the files whose names hold their version: they never change."""
_FOREVER: Final = b"public, max-age=31536000, immutable"
_ASK_AGAIN: Final = b"no-cache"
_PACKAGES: Final = ("deployments.console", "app.render")
"""Packages that hold them: the page's own, and that of the players, with which it shares its curves."""


@dataclass(frozen=True, slots=True)
class WebFile:
    """One file."""

    body: bytes
    kind: bytes
    """Media type."""
    tag: str
    """Entity tag, sent as a weak one: the same file may be packed in several ways."""
    cache: bytes
    """Value of ``Cache-Control``."""


class WebFiles:
    """Answers who asks for the console's page or one of its files; they hold nothing of the trial."""

    def __init__(self) -> None:
        """Reads them: later would keep games waiting."""
        self._files = _read()

    def page(self, request: HttpRequest) -> HttpReply:
        """Returns the page; 304 where the browser has it."""
        return self._reply(PAGE, request)

    def file(self, request: HttpRequest) -> HttpReply:
        """Returns a file of the page; 304 where the browser has it.

        Raises:
          NotFoundError: There is no such file.
        """
        name = request.path.removeprefix(FILES)
        if not name:  # The page's own links are relative to the path without the slash.
            return HttpReply(307, b"", headers=((b"Location", b"../console"),))
        return self._reply(name, request)

    def names(self) -> list[str]:
        """Returns the names of all files."""
        return sorted(self._files)

    def _reply(self, name: str, request: HttpRequest) -> HttpReply:
        found = self._files.get(name)
        if found is None:
            allowed = ", ".join(FILES + name for name in self.names())
            raise NotFoundError(f"{FILES}{name[:200]} is not a file of the console; allowed are {CONSOLE}, {allowed}")
        headers = (*HEADERS, (b"ETag", b"W/" + found.tag.encode()), (b"Cache-Control", found.cache))
        if found.tag in request.fields.get("if-none-match", ""):
            return HttpReply(NOT_MODIFIED, b"", headers=headers)
        body, encoding = deflate(found.body, request.fields.get("accept-encoding", ""))
        packed = () if encoding is None else ((b"Content-Encoding", encoding.encode()),)
        return HttpReply(200, body, found.kind, (*headers, (b"Vary", b"Accept-Encoding"), *packed))


def _read() -> dict[str, WebFile]:
    """Returns the page's files, and what others wrote, by their paths."""
    webs = [files(package) / "web" for package in _PACKAGES]
    own = {item.name: _file(item, _ASK_AGAIN) for item in _sent(webs[0])}
    others = {f"{_VENDOR}/{item.name}": _file(item, _FOREVER) for web in webs for item in _sent(web / _VENDOR)}
    return own | others


def _sent(folder: Traversable) -> list[Traversable]:
    """Returns the files of a folder that browsers get: no licence, and nothing that an editor has left."""
    return [item for item in folder.iterdir() if item.is_file() and _suffix(item) in _KINDS]


def _file(item: Traversable, cache: bytes) -> WebFile:
    body = item.read_bytes()
    return WebFile(body, _KINDS[_suffix(item)], f'"{sha256(body).hexdigest()[:32]}"', cache)


def _suffix(item: Traversable) -> str:
    return item.name.rpartition(".")[2]
