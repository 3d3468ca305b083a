"""The console as a real listener serves it."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.deployments.console.node import Node, serving


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with serving(tmp_path_factory.mktemp("trial")) as running:
        yield running


def test_head_tells_what_get_would_send(node: Node) -> None:
    plain = {"accept-encoding": "identity"}
    got, head = httpx.get(node.url, headers=plain), httpx.head(node.url, headers=plain)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(got.content))
    assert head.headers["content-security-policy"] == got.headers["content-security-policy"]


def test_a_slash_too_many_leads_to_the_page(node: Node) -> None:
    reply = httpx.get(f"{node.url}/", follow_redirects=True)
    assert (reply.status_code, str(reply.url)) == (200, node.url)


def test_what_is_not_served_is_told_with_what_is(node: Node) -> None:
    reply = httpx.get(f"{node.url}/nothing.js")
    assert reply.status_code == 404
    assert "/console/app.js" in reply.json()["detail"]
    posted = httpx.post(node.url)
    assert (posted.status_code, posted.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


def test_the_page_is_open_and_what_it_shows_is_not(node: Node) -> None:
    node.guarded = True
    try:
        assert httpx.get(node.url).status_code == 200
        for path in ("/ring", "/recordings", "/metrics/names", "/errors", "/alarms"):
            assert httpx.get(node.url.replace("/console", path)).status_code == 401, path
    finally:
        node.guarded = False


def test_no_recording_is_named_from_outside_its_folder(node: Node, tmp_path: Path) -> None:
    reply = httpx.get(node.url.replace("/console", "/recordings/recordings/..%2F..%2Fkeys.parquet/0"))
    assert reply.status_code == 400
