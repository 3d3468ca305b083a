from pathlib import Path

import pytest

from train.bench import compiling
from train.bench.compiling import CompilerError, load_generator


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARRING_HOME", str(tmp_path / "home"))


def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """Puts a program in the compiler's place; it notes its calls in a file beside it."""
    path = tmp_path / "compiler"
    path.write_text(f'#!/bin/sh\necho called >> "{tmp_path}/calls"\n{script}\n')
    path.chmod(0o755)
    monkeypatch.setenv("CXX", str(path))
    return tmp_path / "calls"


def test_without_a_compiler_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(CompilerError, match=r"there is no g\+\+.*apt install g\+\+"):
        load_generator()


def test_it_is_compiled_once_for_the_same_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = compiler(tmp_path, monkeypatch, 'while [ "$1" != -o ]; do shift; done; echo program > "$2"')
    first = load_generator()
    assert load_generator() == first
    assert first.read_text() == "program\n"
    assert calls.read_text() == "called\n"


def test_other_sources_are_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(tmp_path, monkeypatch, 'while [ "$1" != -o ]; do shift; done; echo program > "$2"')
    before, sources = load_generator(), tmp_path / "sources"
    sources.mkdir()
    (sources / "main.cpp").write_text("int main() {}")
    monkeypatch.setattr(compiling, "SOURCES", sources)
    assert load_generator() != before


def test_what_the_compiler_says_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(tmp_path, monkeypatch, "echo 'no such language' >&2; exit 1")
    with pytest.raises(CompilerError, match="does not compile:\nno such language"):
        load_generator()
    assert not list((tmp_path / "home/bench/loadgen").iterdir())
