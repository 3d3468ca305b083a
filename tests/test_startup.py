"""Ctrl-C while a command is imported: one exit code, and no word of whatever library it hits."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from app.cli import main
from app.startup import INTERRUPTED, ends_at_once

CTRL_C_IN_AN_IMPORT = """
import importlib.abc, runpy, signal, sys

_, hit, module, *words = sys.argv
sys.argv = [module, *words]

class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == hit:
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt as error:
                raise ValueError("as libraries do with what hits them in an import") from error

sys.meta_path.insert(0, Interrupting())
runpy.run_module(module, run_name="__main__")
"""

IMPORTS = [
    ("app.command_line", "app"),
    ("train.launch.commands", "app", "launch"),
    ("app.config.root", "app", "launch"),
    ("app.client.commands", "app.client"),
    ("train.driver", "train"),
    ("app.config.tables", "train"),
]


@pytest.mark.parametrize("words", IMPORTS, ids=" ".join)
def test_ctrl_c_in_an_import_ends_a_command_whatever_it_hits(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CTRL_C_IN_AN_IMPORT, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", "")


@pytest.fixture(autouse=True)
def _as_python_does() -> Iterator[None]:
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_a_process_that_treats_ctrl_c_in_another_way_keeps_to_it(handler: signal.Handlers) -> None:
    signal.signal(signal.SIGINT, handler)
    with ends_at_once():
        assert signal.getsignal(signal.SIGINT) is handler
    assert signal.getsignal(signal.SIGINT) is handler


def test_behind_the_imports_ctrl_c_raises_again() -> None:
    with ends_at_once():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_an_import_that_fails_gives_ctrl_c_back() -> None:
    with pytest.raises(ImportError), ends_at_once():
        raise ImportError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_process_that_calls_main_is_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def looks(*_: object, **__: object) -> None:
        seen.append(signal.getsignal(signal.SIGINT))

    monkeypatch.setattr("app.command_line.check_origin", looks)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    assert seen == [signal.default_int_handler]
