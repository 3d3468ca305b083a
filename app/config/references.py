"""Which config keys name another component, and whether that component exists."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import get_args

from app.config.base import Component, Mode
from app.config.files import Tree
from app.config.problems import Problems, joined
from app.config.root import ExperimentConfig

_MODES: tuple[Mode, ...] = ("train", "deploy")


@dataclass(frozen=True, slots=True)
class Reference:
    """A key of each component of one section that names a component of another."""

    section: str
    """Section whose components hold the key, or whose parts do."""

    key: tuple[str, ...]
    """Keys from the component to the name; ``*`` is each item of a list, or each value of a mapping."""

    target: str
    """Section that the name is looked up in."""

    beside: str | None = None
    """Section that has the name where the target has not."""

    modes: tuple[Mode, ...] = _MODES
    """Modes in which the named component must exist where its holder does."""


REFERENCES = (
    Reference("actors", ("agents", "*"), "agents"),
    Reference("agents", ("model",), "models"),
    Reference("agents", ("buffer",), "buffers", modes=("train",)),  # Deployed agents record nothing.
    Reference("trainers", ("model",), "models"),
    Reference("trainers", ("inputs", "*", "buffer"), "buffers"),
    Reference("trainers", ("inputs", "*", "source"), "sources"),
    Reference("trainers", ("inputs", "*", "algorithm", "expert"), "sources"),
    Reference("sources", ("held_out_source",), "sources"),
    Reference("checks", ("*", "model"), "models", modes=()),  # Checks are one section.
    Reference("checks", ("*", "reference"), "sources", modes=()),
    Reference("metrics", ("*",), "agents", beside="models", modes=()),  # Metrics are one section.
    Reference("league", ("*", "trainer"), "trainers", modes=()),  # A league is one section.
    Reference("league", ("*", "agent"), "agents", modes=()),
    Reference("launch", ("seats", "*", "*"), "agents", modes=()),  # A launch is no component of any mode.
    Reference("launch", ("scored", "*"), "agents", modes=()),
    Reference("launch", ("evaluation_seats", "*", "*"), "agents", modes=()),
)


def reference_problems(tree: Tree) -> Problems:
    """Returns the names that no component has, and those whose component is missing in a mode that needs it.

    Args:
      tree: Config before it is checked; parts that are otherwise wrong are passed over.
    """
    problems: Problems = {}
    for reference in REFERENCES:
        targets = tree.get(reference.target, {})
        if not isinstance(targets, dict):
            continue
        if reference.beside is not None:
            targets = {**_mapping(tree.get(reference.beside)), **targets}
        for name, holder in _mapping(tree.get(reference.section)).items():
            for path, used in _names(holder, reference.key, f"{reference.section}.{name}"):
                message = _dangling(reference, targets, used) or _absent(reference, targets, holder, used)
                if message:
                    problems[path] = message
    return problems


def _names(node: object, keys: Sequence[str], path: str) -> Iterator[tuple[str, str]]:
    """Yields the path and value of each name below ``node``."""
    if not keys:
        if isinstance(node, str):
            yield path, node
        return
    key, *rest = keys
    if key == "*":
        items = enumerate(node) if isinstance(node, list) else _mapping(node).items()
        for place, item in items:
            yield from _names(item, rest, joined(path, place))
    else:
        yield from _names(_mapping(node).get(key), rest, joined(path, key))


def _dangling(reference: Reference, targets: Mapping[str, object], used: str) -> str:
    if used in targets:
        return ""
    kind = " or ".join(section.removesuffix("s") for section in (reference.target, reference.beside) if section)
    names = [str(name) for name in targets]
    close = get_close_matches(used, names, n=1)
    hint = f", did you mean {close[0]!r}?" if close else ""
    return f"no {kind} named {used!r}; there are: {', '.join(names) or 'none'}{hint}"


def _absent(reference: Reference, targets: Mapping[str, object], holder: object, used: str) -> str:
    have = _modes(reference.target, targets[used])
    lacking = [mode for mode in reference.modes if mode in _modes(reference.section, holder) and mode not in have]
    if not lacking:
        return ""
    kind = reference.section.removesuffix("s")
    return (
        f"this {kind} exists in mode {' and '.join(lacking)}, where {reference.target}.{used} does not, "
        f"got {reference.target}.{used}.enable {_enable(reference.target, targets[used])}, allowed: both"
    )


def _modes(section: str, component: object) -> tuple[str, ...]:
    enable = _enable(section, component)
    return (enable,) if enable in _MODES else _MODES


def _enable(section: str, component: object) -> object:
    _, schema = get_args(ExperimentConfig.model_fields[section].annotation)
    while not isinstance(schema, type):  # An annotated union: its members have their defaults in common.
        schema = get_args(schema)[0]
    if not issubclass(schema, Component):
        raise TypeError(f"{section} must hold components, got {schema!r}")
    return _mapping(component).get("enable", schema.model_fields["enable"].default)


def _mapping(node: object) -> Mapping[str, object]:
    return node if isinstance(node, dict) else {}
