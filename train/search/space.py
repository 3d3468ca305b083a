"""From the space of a config to what Ray Tune draws from, and from drawn values to overrides of the config."""

import json
from collections.abc import Mapping
from typing import TypeAlias

from ray import tune
from ray.tune.search.sample import Domain

from app.config.search import Choice, Grid, LogUniform, Parameter, Range, SearchConfig, Uniform, Value

Values: TypeAlias = dict[str, Value]
"""What a trial tries, by dotted path."""


def drawn(search: SearchConfig) -> dict[str, object]:
    """Returns what Ray Tune draws each parameter of a trial from."""
    return {path: _drawn(parameter) for path, parameter in search.space.items()}


def changed(search: SearchConfig) -> dict[str, list[Value] | Domain]:
    """Returns what a population changes: all but grids, whose values tell its members apart."""
    return {
        path: list(parameter.values) if isinstance(parameter, Choice) else _domain(parameter)
        for path, parameter in search.space.items()
        if not isinstance(parameter, Grid)
    }


def within(search: SearchConfig, values: Mapping[str, Value]) -> Values:
    """Returns values with those that were changed beyond their range brought back to its edge."""
    return {path: _within(search.space[path], value) for path, value in values.items()}


def corners(search: SearchConfig) -> list[Values]:
    """Returns two trials that meet every kind of value: all smallest or first, all largest or last."""
    return [{path: _ends(parameter)[end] for path, parameter in search.space.items()} for end in (0, 1)]


def overrides(values: Mapping[str, Value]) -> list[str]:
    """Returns values as ``dotted.key=value``."""
    return [f"{path}={json.dumps(value)}" for path, value in values.items()]


def _drawn(parameter: Parameter) -> object:
    if isinstance(parameter, Grid):
        return tune.grid_search(list(parameter.values))
    return _domain(parameter)


def _domain(parameter: Uniform | LogUniform | Choice) -> Domain:
    made: Domain
    match parameter:
        case Uniform():
            made = tune.uniform(parameter.low, parameter.high)
        case LogUniform():
            made = tune.loguniform(parameter.low, parameter.high)
        case Choice():
            made = tune.choice(list(parameter.values))
    return made


def _within(parameter: Parameter, value: Value) -> Value:
    if isinstance(parameter, Range) and isinstance(value, int | float):
        return min(max(float(value), parameter.low), parameter.high)
    return value


def _ends(parameter: Parameter) -> tuple[Value, Value]:
    if isinstance(parameter, Range):
        return parameter.low, parameter.high
    return parameter.values[0], parameter.values[-1]
