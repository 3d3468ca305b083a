import asyncio

import orjson
import pytest

from app.errors import BadRequestError, OverloadedError
from app.logs.entry import Entry
from app.logs.errors import Wanted
from app.stores.errors import Errors, ErrorStore
from app.wire.http import HttpRequest
from deployments import error_pages
from deployments.error_pages import ErrorPages


class Away:
    async def newest(self, wanted: Wanted) -> Errors:
        await asyncio.Event().wait()
        raise AssertionError


def get(**fields: str) -> HttpRequest:
    return HttpRequest(b"GET", "/errors", fields, b"", True)


async def filled() -> ErrorStore:
    store = ErrorStore(10)
    await store.add([Entry(1.0, "error", "app.x", "p.t", "replica a", "s", "it failed", "trace")])
    await store.add([Entry(2.0, "warning", "app.x", "p.t", "stores", "", "careful")])
    return store


async def test_errors_are_shown_with_or_without_warnings_and_tracebacks() -> None:
    pages = ErrorPages(await filled())
    told = orjson.loads((await pages.show(get())).body)
    assert [(error["message"], error["session"], error["count"]) for error in told["errors"]] == [("it failed", "s", 1)]
    assert "traceback" not in told["errors"][0]
    assert told["counts"] == {"error": 1, "warning": 1, "forgotten": 0}
    told = orjson.loads((await pages.show(get(level="warning", traceback="1", limit="2", after="0"))).body)
    assert [error["traceback"] for error in told["errors"]] == ["trace", None]


@pytest.mark.parametrize("field", ["level=info", "limit=1001", "limit=-1", "after=x", "traceback=yes"])
async def test_a_field_that_is_none_of_what_is_allowed_is_refused_with_that(field: str) -> None:
    name, _, value = field.partition("=")
    with pytest.raises(BadRequestError, match=f"{name} is '{value}'; allowed are"):
        await ErrorPages(await filled()).show(get(**{name: value}))


async def test_a_store_that_does_not_answer_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_pages, "PATIENCE_S", 0.01)
    with pytest.raises(OverloadedError, match="does not answer"):
        await ErrorPages(Away()).show(get())
