from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from app.errors import BadPayloadError
from app.wire.options import parse_options


class Place(BaseModel):
    x: int = 0


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    difficulty: int = Field(1, ge=1, le=5)
    role: Literal["tank", "healer"] = "tank"
    at: Place = Place()
    tags: tuple[str, ...] = ()

    @field_validator("tags")
    @classmethod
    def _known(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        if "bad" in tags:
            raise ValueError("allowed is any tag but bad")
        return tags


class Strict(BaseModel):
    map_name: str


def test_a_start_without_a_body_has_the_defaults() -> None:
    assert parse_options(Options, None) == parse_options(Options, b"") == parse_options(Options, {}) == Options()


def test_options_are_read_from_json_parsed_or_not() -> None:
    wanted = Options(difficulty=3, role="healer", tags=("a", "b"))
    assert parse_options(Options, {"difficulty": 3, "role": "healer", "tags": ["a", "b"]}) == wanted
    assert parse_options(Options, b'{"difficulty": 3, "role": "healer", "tags": ["a", "b"]}') == wanted


@pytest.mark.parametrize(
    ("schema", "given", "message"),
    [
        (Options, {"difficulty": 9}, "difficulty is 9; allowed is less than or equal to 5"),
        (Options, {"difficulty": "3"}, "difficulty is '3'; allowed is a valid integer"),
        (Options, {"difficulty": True}, "difficulty is True; allowed is a valid integer"),
        (Options, {"role": "mage"}, "role is 'mage'; allowed is 'tank' or 'healer'"),
        (Options, {"dificulty": 1}, "dificulty is unknown; allowed are difficulty, role, at, tags"),
        (Options, {"at": {"x": 0.5}}, r"at\.x is 0\.5; allowed is a valid integer"),
        (Options, {"tags": ["bad"]}, r"tags is \['bad'\]; allowed is any tag but bad"),
        (Options, [1], r"the body is \[1\]; allowed is a JSON object"),
        (Options, "x" * 100, r"the body is 'x{59}…; allowed is a JSON object"),
        (Options, b"{", "the body is .*; Invalid JSON"),
        (Options, b"\xff", "the body is .*; Invalid JSON"),
        (Strict, {}, "map_name is missing"),
    ],
)
def test_a_wrong_field_says_what_was_got_and_what_is_allowed(schema: Any, given: Any, message: str) -> None:
    with pytest.raises(BadPayloadError, match=f"the start's options are wrong: {message}"):
        parse_options(schema, given)


def test_all_wrong_fields_are_listed() -> None:
    with pytest.raises(BadPayloadError, match=r"difficulty is 0; .*; role is 1; .*; pace is unknown"):
        parse_options(Options, {"difficulty": 0, "role": 1, "pace": 2})


def test_options_nested_without_end_are_refused() -> None:
    deep: Any = {}
    for _ in range(900):
        deep = {"a": deep}
    with pytest.raises(BadPayloadError, match="options are no JSON"):
        parse_options(Options, deep)


def test_options_that_were_checked_already_are_left_alone() -> None:
    options = Options(difficulty=2)
    assert parse_options(Options, options) is options
