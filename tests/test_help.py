"""The help of every command tells of each option what it is, in which unit, and what holds without it."""

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any

import pytest
import typer
from typer.core import TyperOption

from app.command_line import GROUP, build

OF_TYPER = {"help", "install_completion", "show_completion"}
NONE_TOLD = re.compile(r"default|without|may be left out|not given", re.IGNORECASE)
UNITS = re.compile(
    r"seconds|cores|GPUs|frames a second|share|MiB|MB|points|chance|difference|ratio|steps|rate|deviation|variation"
    r"|per second|times|score",
    re.IGNORECASE,
)
NOT_FOR_USERS = {"bench"}  # Its options are those of measurements, each explained in docs/benchmarks.md.


def commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for word, each in inner.items():
        yield from commands(f"{name} {word}".strip(), each)


def every_command() -> list[tuple[str, Any]]:
    entries = {entry.name: entry for entry in entry_points(group=GROUP)}
    assert len(entries) >= 24
    found: list[tuple[str, Any]] = []
    for name in sorted(entries):
        found += commands("", typer.main.get_command(build(entries, [name])))
    return found


@pytest.mark.slow  # It imports every command.
def test_every_option_has_its_help_its_default_and_its_unit() -> None:
    wrong = []
    for name, command in every_command():
        assert command.help, name
        for parameter in command.params:
            if parameter.name in OF_TYPER:
                continue
            told = getattr(parameter, "help", None)
            where = f"sparring {name} {'/'.join(parameter.opts)}: {told!r}"
            if not told:
                wrong.append(f"{where} is no help")
            elif isinstance(parameter, TyperOption):
                wrong += [f"{where} {problem}" for problem in problems(name, parameter, told)]
    assert not wrong, "\n".join(wrong)


def problems(command: str, option: Any, told: str) -> Iterator[str]:
    if option.multiple and "repeat" not in told:
        yield "does not say that it may be repeated"
    elif option.default is None and not (option.multiple or option.required or NONE_TOLD.search(told)):
        yield "does not say what holds without it"
    if option.default is not None and not option.show_default:
        yield "hides its default"
    is_number = option.type_descriptor.annotation in (float, float | None)
    if is_number and command.partition(" ")[0] not in NOT_FOR_USERS and not UNITS.search(told):
        yield "names no unit"
