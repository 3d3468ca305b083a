"""The weights of a trial over HTTP, to read: what there is, and each version as a safetensors file."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import orjson

from app.errors import BadRequestError, BodyTooLargeError, ModelMismatchError, NotFoundError
from app.stores.weight_shelf import KeptVersion
from app.stores.weights_format import WeightsFile
from app.types import Arrays, Version
from app.wire.http import BYTES, JSON, NOT_MODIFIED, BodyStream, HttpReply, HttpRequest
from deployments.asking import in_time

WEIGHTS: Final = "/weights/"
"""Path of one version, without model and version."""
LATEST: Final = "latest"
"""In place of a version: the newest."""
PATIENCE_S: Final = 30.0
"""Longest wait for the weight store, and for weights that lie on another node."""

WHO: Final = "the weight store"


class Catalog(Protocol):
    """The weight store, to look at."""

    async def kept(self) -> Mapping[str, list[KeptVersion]]:
        """Returns what is kept of each model, the newest last."""

    async def find(self, model: str, version: Version | None) -> KeptVersion | None:
        """Returns what is kept of one version, None the newest; None where there is none."""

    async def arrays(self, model: str, version: Version) -> Arrays:
        """Returns the weights of a version.

        Raises:
          ModelMismatchError: They are no longer kept.
        """


class WeightsPages:
    """Answers who asks for weights."""

    def __init__(self, catalog: Catalog, max_bytes: Mapping[str, int], clock: Callable[[], float] = time.time) -> None:
        """Makes the pages of a trial.

        Args:
          catalog: The weight store.
          max_bytes: Largest weights that are sent, by model; what it does not name is not sent.
          clock: Returns Unix seconds.
        """
        self._catalog = catalog
        self._max_bytes = max_bytes
        self._clock = clock

    async def show(self, request: HttpRequest) -> HttpReply:
        """Returns the models, and which versions of each are kept.

        Raises:
          OverloadedError: The weight store does not answer.
        """
        now_s = self._clock()
        kept = await in_time(self._catalog.kept(), WHO, PATIENCE_S)
        models = {name: _model(versions, now_s) for name, versions in kept.items() if name in self._max_bytes}
        return HttpReply(200, orjson.dumps({"models": models}), JSON)

    async def send(self, request: HttpRequest) -> HttpReply:
        """Returns the file of one version, in parts; 304 where the client has it.

        Raises:
          NotFoundError: It is not kept.
          BadRequestError: The path names no version.
          BodyTooLargeError: It is larger than the config allows to send.
          OverloadedError: The weight store does not answer.
        """
        model, version = _path(request.path)
        found = await in_time(self._catalog.find(model, version), WHO, PATIENCE_S) if model in self._max_bytes else None
        if found is None:
            raise _missing(model, version)
        tag = f'"{found.meta.version}-{found.meta.content_hash[:32]}"'
        headers = (
            (b"ETag", tag.encode()),
            (b"Cache-Control", b"no-cache"),
            (b"policy_version", str(found.meta.version).encode()),
        )
        if _has(request.fields.get("if-none-match", ""), tag):
            return HttpReply(NOT_MODIFIED, b"", headers=headers)
        if found.size_bytes > self._max_bytes[model]:
            raise BodyTooLargeError(
                f"weights {found.meta.version} of {model} are {found.size_bytes} bytes; allowed by "
                f"models.{model}.weights.max_download_mb are {self._max_bytes[model]}"
            )
        try:
            arrays = await in_time(self._catalog.arrays(model, found.meta.version), WHO, PATIENCE_S)
        except ModelMismatchError as error:  # It left the store a moment ago.
            raise _missing(model, found.meta.version) from error
        file = await asyncio.to_thread(WeightsFile, arrays, found.meta)
        name = f'attachment; filename="{model}-{found.meta.version}.safetensors"'.encode()
        stream = BodyStream(file.size_bytes, file.parts())
        return HttpReply(200, b"", BYTES, (*headers, (b"Content-Disposition", name)), stream)


def _path(path: str) -> tuple[str, Version | None]:
    """Returns the model and the version of a path; None is the newest."""
    model, slash, text = path.removeprefix(WEIGHTS).partition("/")
    if not (model and slash):
        raise BadRequestError(f"{path[:200]} names no version; allowed are {WEIGHTS}<model>/<version> and …/{LATEST}")
    try:
        return model, None if text == LATEST else Version.parse(text)
    except ValueError as error:
        raise BadRequestError(f"{error}; allowed is {LATEST} as well") from error


def _has(if_none_match: str, tag: str) -> bool:
    """Returns whether a list of entity tags holds one (RFC 9110, compared weakly)."""
    return any(given.strip().removeprefix("W/") in (tag, "*") for given in if_none_match.split(","))


def _model(versions: list[KeptVersion], now_s: float) -> dict[str, Any]:
    newest = versions[-1].meta if versions else None
    return {
        "newest": None if newest is None else str(newest.version),
        "age_s": None if newest is None else _age_s(newest.published_s, now_s),
        "versions": [
            {
                "version": str(kept.meta.version),
                "age_s": _age_s(kept.meta.published_s, now_s),
                "size_bytes": kept.size_bytes,
                "content_hash": kept.meta.content_hash,
                "spec_hash": kept.meta.spec_hash,
                "parent": None if kept.meta.parent is None else str(kept.meta.parent),
                "pinned": kept.pinned,
            }
            for kept in versions
        ],
    }


def _age_s(published_s: float, now_s: float) -> float:
    return round(max(0.0, now_s - published_s), 3)


def _missing(model: str, version: Version | None) -> NotFoundError:
    which = "published weights" if version is None else f"weights {version}"
    return NotFoundError(f"no {which} of model {model[:80]!r} are kept; GET /weights lists what there is")
