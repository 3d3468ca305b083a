"""The console's page and files over HTTP."""

import gzip
import math
import re
from email.message import Message
from pathlib import Path

import pytest

from app.errors import NotFoundError
from app.wire.http import HttpReply, HttpRequest
from deployments.console import files as module
from deployments.console.files import HEADERS, POLICY, WebFiles
from deployments.others import ASK_TIMEOUT_S, AT_ONCE

FILES = WebFiles()
WEB = Path(module.__file__).parent / "web"
ROOT = Path(__file__).parents[3]


def get(path: str, **fields: str) -> HttpRequest:
    return HttpRequest(b"GET", path, {name.replace("_", "-"): value for name, value in fields.items()}, b"", True)


def header(reply: HttpReply, name: bytes) -> str:
    return dict(reply.headers)[name].decode()


def test_the_page_comes_with_what_keeps_a_browser_from_running_anything_else() -> None:
    reply = FILES.page(get("/console"))
    assert (reply.status, reply.content_type) == (200, b"text/html; charset=utf-8")
    assert set(HEADERS) <= set(reply.headers)
    assert b"unsafe" not in POLICY
    assert b"default-src 'none'" in POLICY


def test_the_page_and_its_files_write_no_script_or_style_into_the_page() -> None:
    page = (WEB / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"<style|\sstyle=|\son\w+=", page) == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    for path in WEB.glob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"https?://[\w./]+", text)) <= {"http://www.w3.org/2000/svg"}, path.name


def test_every_link_of_the_page_and_every_import_is_a_file_that_is_served() -> None:
    names = set(FILES.names())
    page = (WEB / "index.html").read_text(encoding="utf-8")
    linked = set(re.findall(r'(?:src|href)="console/([^"]+)"', page))
    imported = {
        name for path in WEB.glob("*.js") for name in re.findall(r'from "\./([^"]+)"', path.read_text(encoding="utf-8"))
    }
    assert linked <= names
    assert imported <= names
    assert {name for name in names if name.endswith(".js")} <= linked | imported | {"app.js"}


def test_the_page_waits_for_the_answer_about_a_thousand_replicas_even_if_all_are_silent() -> None:
    (patience_ms,) = re.findall(r"PATIENCE_MS = ([\d_]+);", (WEB / "service.js").read_text(encoding="utf-8"))
    assert math.ceil(1_000 / AT_ONCE) * ASK_TIMEOUT_S < int(patience_ms) / 1000 - 1


def test_what_an_editor_has_left_and_licences_are_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("deployments.console", "app.render"):
        (tmp_path / package / "web" / "vendor").mkdir(parents=True)
        for name in ("page.js", ".page.js.swp", "page.js~", "vendor/curves.css", "vendor/LICENSE"):
            (tmp_path / package / "web" / name).write_text(package)
    monkeypatch.setattr(module, "files", lambda package: tmp_path / package)
    assert WebFiles().names() == ["page.js", "vendor/curves.css"]


def test_a_browser_that_has_a_file_is_told_so() -> None:
    first = FILES.file(get("/console/app.js"))
    again = FILES.file(get("/console/app.js", if_none_match=header(first, b"ETag")))
    assert (again.status, again.body) == (304, b"")
    assert header(again, b"ETag") == header(first, b"ETag")
    assert FILES.file(get("/console/app.js", if_none_match='W/"another"')).status == 200


def test_files_whose_name_holds_their_version_are_kept_for_ever_and_our_own_are_asked_for_again() -> None:
    assert "immutable" in header(FILES.file(get("/console/vendor/htm-3.1.1.js")), b"Cache-Control")
    assert header(FILES.file(get("/console/app.js")), b"Cache-Control") == "no-cache"


def test_a_file_is_packed_for_who_accepts_that() -> None:
    plain = FILES.file(get("/console/app.js"))
    packed = FILES.file(get("/console/app.js", accept_encoding="gzip"))
    assert header(packed, b"Content-Encoding") == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert header(plain, b"Vary") == "Accept-Encoding"


def test_a_slash_behind_the_page_leads_to_it_wherever_it_is_mounted() -> None:
    reply = FILES.file(get("/console/"))
    assert (reply.status, header(reply, b"Location")) == (307, "../console")


@pytest.mark.parametrize("name", ["nothing.js", "../files.py", "vendor", "vendor/../app.js", "%2e%2e/files.py"])
def test_what_is_no_file_of_the_page_is_404_and_told_what_is(name: str) -> None:
    with pytest.raises(NotFoundError, match=r"allowed are /console, .*/console/app\.js") as caught:
        FILES.file(get(f"/console/{name}"))
    assert caught.value.status == 404


def test_each_vendored_file_has_a_notice_with_its_version_and_licence() -> None:
    notices = (ROOT / "THIRD_PARTY_NOTICES.md").read_text(encoding="utf-8")
    vendored = [*(WEB / "vendor").iterdir(), *(ROOT / "app" / "render" / "web" / "vendor").iterdir()]
    for path in (path for path in vendored if path.suffix != ".txt"):
        line = next(line for line in notices.splitlines() if f"`{path.name}`" in line)
        version = re.search(r"-(\d+\.\d+\.\d+)\.", path.name)
        assert version is not None
        assert f"| {version[1]} | " in line
        assert re.search(r"\| (MIT|Apache-2\.0) \|", line), line


def test_the_files_are_in_the_package_that_is_built(tmp_path: Path) -> None:
    from setuptools import Distribution  # noqa: PLC0415  # Slow to import.
    from setuptools.command.build_py import build_py  # noqa: PLC0415  # As above.

    distribution = Distribution({"packages": ["deployments.console", "app.render"], "package_dir": {"": str(ROOT)}})
    data = _package_data()
    shared = [path.removeprefix("render/") for path in data["app"] if path.startswith("render/")]
    distribution.package_data = {"deployments.console": data["deployments.console"], "app.render": shared}
    command = build_py(distribution)
    command.build_lib = str(tmp_path)
    command.ensure_finalized()
    found = {Path(name).as_posix() for _, _, _, names in command.data_files for name in names}
    assert {f"web/{name}" for name in FILES.names()} <= found


def _package_data() -> dict[str, list[str]]:
    import tomllib  # noqa: PLC0415  # Of this function alone.

    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found: dict[str, list[str]] = tomllib.loads(text)["tool"]["setuptools"]["package-data"]
    return found


def test_media_types_are_those_that_a_browser_takes_under_nosniff() -> None:
    for name in FILES.names():
        message = Message()
        message["Content-Type"] = FILES.file(get(f"/console/{name}")).content_type.decode()
        assert message.get_content_type() in {"text/html", "text/css", "text/javascript", "image/svg+xml"}
