import asyncio
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import orjson
import pytest
from ray.exceptions import RayError
from safetensors import safe_open
from safetensors.numpy import load

from app.errors import BadRequestError, BodyTooLargeError, ModelMismatchError, NotFoundError, OverloadedError
from app.models.content import content_hash
from app.stores.weight_shelf import KeptVersion
from app.stores.weights_format import WeightsMeta, size_of
from app.types import Arrays, Version
from app.wire.http import HttpReply, HttpRequest
from deployments import weights_pages as module
from deployments.weights_pages import WeightsPages

PUBLISHED_S = 100.0


class Shelf:
    """A weight store that keeps two versions of one model, and none of another."""

    def __init__(self) -> None:
        self.versions = {Version(1, number): arrays(number) for number in (6, 7)}
        self.asked: list[Version] = []

    async def kept(self) -> Mapping[str, list[KeptVersion]]:
        return {"main": [self._kept(version) for version in self.versions], "other": []}

    async def find(self, model: str, version: Version | None) -> KeptVersion | None:
        wanted = Version(1, 7) if version is None else version
        return self._kept(wanted) if model == "main" and wanted in self.versions else None

    async def arrays(self, model: str, version: Version) -> Arrays:
        self.asked.append(version)
        return self.versions[version]

    def _kept(self, version: Version) -> KeptVersion:
        found = self.versions[version]
        parent = Version(1, 6) if version.number == 7 else None
        meta = WeightsMeta("0123", version, content_hash(found, "0123"), parent, PUBLISHED_S)
        return KeptVersion(meta, size_of(found), int(version.number == 6))


def arrays(number: int) -> Arrays:
    return {"w": np.full((2, 3), number, np.float32), "b": np.arange(3, dtype=np.int64)}


def pages(shelf: Shelf, max_bytes: int = 1000) -> WeightsPages:
    return WeightsPages(shelf, {"main": max_bytes, "other": max_bytes}, lambda: PUBLISHED_S + 2.5)


def get(path: str, **fields: str) -> HttpRequest:
    return HttpRequest(b"GET", path, {name.replace("_", "-"): value for name, value in fields.items()}, b"", True)


def body_of(reply: HttpReply) -> bytes:
    assert reply.stream is not None
    whole = b"".join(reply.stream.parts)
    assert len(whole) == reply.stream.size_bytes
    return whole


async def test_models_and_versions_are_listed_with_age_size_and_origin() -> None:
    shown = orjson.loads((await pages(Shelf()).show(get("/weights"))).body)["models"]
    assert shown["other"] == {"newest": None, "age_s": None, "versions": []}
    assert (shown["main"]["newest"], shown["main"]["age_s"]) == ("1.7", 2.5)
    first, second = shown["main"]["versions"]
    assert (first["version"], first["parent"], first["pinned"]) == ("1.6", None, 1)
    assert second == {
        "version": "1.7", "age_s": 2.5, "size_bytes": 48, "content_hash": content_hash(arrays(7), "0123"),
        "spec_hash": "0123", "parent": "1.6", "pinned": 0,
    }  # fmt: skip


@pytest.mark.parametrize(("path", "number"), [("1.6", 6), ("1.7", 7), ("latest", 7)])
async def test_a_version_is_sent_as_a_safetensors_file(path: str, number: int, tmp_path: Path) -> None:
    reply = await pages(Shelf()).send(get(f"/weights/main/{path}"))
    body = body_of(reply)
    found = load(body)
    assert found.keys() == {"w", "b"}
    assert np.array_equal(found["w"], arrays(number)["w"])
    headers = dict(reply.headers)
    assert headers[b"policy_version"] == f"1.{number}".encode()
    assert headers[b"Content-Disposition"] == f'attachment; filename="main-1.{number}.safetensors"'.encode()
    file = tmp_path / "sent.safetensors"
    file.write_bytes(body)
    with safe_open(file, framework="numpy") as opened:
        assert WeightsMeta.parse(opened.metadata()).version == Version(1, number)


async def test_who_has_the_file_is_told_so_without_its_being_fetched() -> None:
    shelf = Shelf()
    one = pages(shelf)
    tag = dict((await one.send(get("/weights/main/latest"))).headers)[b"ETag"].decode()
    shelf.asked.clear()
    for given in (tag, f"W/{tag}", f'"another", {tag}', "*"):
        reply = await one.send(get("/weights/main/latest", if_none_match=given))
        assert (reply.status, reply.body, reply.stream) == (304, b"", None)
        assert dict(reply.headers)[b"ETag"].decode() == tag
        assert reply.encoded().startswith(b"HTTP/1.1 304 Not Modified\r\nETag: ")
    assert shelf.asked == []
    for given in (
        "",
        '"another"',
        tag.strip('"'),
        dict((await one.send(get("/weights/main/1.6"))).headers)[b"ETag"].decode(),
    ):
        assert (await one.send(get("/weights/main/latest", if_none_match=given))).status == 200


async def test_weights_above_the_limit_are_refused_unfetched() -> None:
    shelf = Shelf()
    with pytest.raises(
        BodyTooLargeError, match=r"weights 1\.7 of main are 48 bytes; allowed by models\.main\..* are 47"
    ):
        await pages(shelf, 47).send(get("/weights/main/latest"))
    assert shelf.asked == []
    assert (await pages(shelf, 48).send(get("/weights/main/latest"))).status == 200


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("/weights/main/1.9", NotFoundError, r"no weights 1\.9 of model 'main' are kept"),
        ("/weights/other/latest", NotFoundError, "no published weights of model 'other' are kept"),
        ("/weights/nobody/latest", NotFoundError, "model 'nobody'"),
        ("/weights/main", BadRequestError, "names no version"),
        ("/weights//1.7", BadRequestError, "names no version"),
        ("/weights/main/newest", BadRequestError, "got 'newest'; allowed is latest as well"),
        ("/weights/main/1.7/more", BadRequestError, "got '1.7/more'"),
    ],
)
async def test_what_is_not_there_is_told(path: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        await pages(Shelf()).send(get(path))


async def test_a_version_that_leaves_in_between_is_not_found() -> None:
    class Leaving(Shelf):
        async def arrays(self, model: str, version: Version) -> Arrays:
            raise ModelMismatchError(f"weights {version} are no longer kept")

    with pytest.raises(NotFoundError, match=r"no weights 1\.7"):
        await pages(Leaving()).send(get("/weights/main/latest"))


async def test_a_store_that_is_away_or_silent_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away(Shelf):
        async def kept(self) -> Mapping[str, list[KeptVersion]]:
            raise RayError("it restarts")

        async def find(self, model: str, version: Version | None) -> KeptVersion | None:
            await asyncio.Event().wait()
            return None

    monkeypatch.setattr(module, "PATIENCE_S", 0.02)
    with pytest.raises(OverloadedError, match="the weight store does not answer: RayError"):
        await pages(Away()).show(get("/weights"))
    with pytest.raises(OverloadedError, match="the weight store does not answer: TimeoutError"):
        await pages(Away()).send(get("/weights/main/latest"))
