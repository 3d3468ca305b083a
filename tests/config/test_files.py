"""YAML files that extend each other, and those that cannot be read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.config.files import read
from app.errors import ConfigError

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_files(**texts: str) -> Path:
        for name, text in texts.items():
            (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        return tmp_path / f"{next(iter(texts))}.yaml"

    return write_files


def lines(path: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(path)
    return str(caught.value).splitlines()


def test_an_exponent_makes_a_number_and_a_date_is_text(write: Write) -> None:
    assert read(write(own="{a: 1e-3, b: 2e5, day: 2024-01-01}")) == {"a": 1e-3, "b": 2e5, "day": "2024-01-01"}


def test_keys_of_a_merged_anchor_may_be_replaced(write: Write) -> None:
    assert read(write(own="x: &x {a: 1, b: 1}\ny: {<<: *x, a: 2}"))["y"] == {"a": 2, "b": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("run: {project: [}", "own.yaml:1: not valid YAML"),
        ("run:\n  a: 1\n b: 2", "own.yaml:3: not valid YAML"),
        ("run: {}\nrun: {}", "own.yaml:2: not valid YAML: key 'run' appears twice"),
        ("run: &x {again: *x}", "own.yaml:1: not valid YAML"),
        ("run: !!python/name:os.system x", "own.yaml:1: not valid YAML"),
        ("run: \x00", "own.yaml: not valid YAML"),
        ("- run", "own.yaml: must hold a mapping of config keys, got list"),
        ("", "own.yaml: must hold a mapping of config keys, got NoneType"),
        ("extends: base.yaml", "own.yaml: extends: must be a list of files relative to this one, got 'base.yaml'"),
        ("extends: [no.yaml]", "no.yaml, which "),
        ("extends: [own.yaml]", "own.yaml: extends itself: own.yaml -> own.yaml"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_clear_message(write: Write, text: str, message: str) -> None:
    (line,) = lines(write(own=text))
    assert message in line


def test_a_longer_cycle_is_spelled_out(write: Write) -> None:
    path = write(own="extends: [a.yaml]", a="extends: [b.yaml]", b="extends: [a.yaml]")
    assert lines(path)[0].endswith("extends itself: a.yaml -> b.yaml -> a.yaml")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert lines(tmp_path / "no.yaml") == [f"{tmp_path / 'no.yaml'}: cannot be read: No such file or directory"]


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_bytes(b"run: \xff")
    assert lines(tmp_path / "own.yaml")[0].endswith("must be UTF-8 text, got byte 5 = 0xff")
