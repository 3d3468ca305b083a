"""The JSON Schema that editors use."""

from functools import cache
from pathlib import Path

import jsonschema
import pytest
import yaml

from app.config.schema import json_schema, rendered

CONFIGS = Path(__file__).parents[2] / "configs"


@cache
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_schema())


def errors(text: str) -> list[str]:
    return [error.json_path for error in validator().iter_errors(yaml.safe_load(text))]


def test_the_written_schema_is_up_to_date() -> None:
    assert (CONFIGS / "schema.json").read_text(encoding="utf-8") == rendered(), (
        "run: sparring schema --write configs/schema.json"
    )


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_file_fits_the_schema_on_its_own(path: Path) -> None:
    assert errors(path.read_text(encoding="utf-8")) == []


def test_a_number_may_be_interpolated() -> None:
    assert (
        errors("run: {seed: '${vars.seed}'}\nactors: {main: {unroll_ticks: '${vars.n}', replicas: '${vars.n}'}}") == []
    )


@pytest.mark.parametrize(
    "text", ["sede: 1", "run: {seed: many}", "run: {seed: -1}", "run: {mode: trian}", "extends: a.yaml"]
)
def test_wrong_keys_and_values_are_marked(text: str) -> None:
    assert errors(text)


def test_fields_are_described() -> None:
    run = json_schema()["$defs"]["Run"]["properties"]  # type: ignore[index,call-overload]
    assert run["seed"]["description"] == "All random generators derive from it."
