"""Descriptions of a config's fields."""

from app.config.base import Config, Process
from app.config.described import Described, descriptions_of


class Pool(Process):
    """Workers."""

    size: int = 1
    """How many there are.

    More of them learn sooner.
    """

    bare: int = 0
    num_gpus: float = 0.5
    """Another meaning than the base's."""


class Below(Config):
    """Holds one."""

    pool: Pool
    """The only one."""


def test_a_field_is_described_by_the_string_below_it_and_by_that_of_a_base() -> None:
    texts = descriptions_of(Pool)
    assert texts["size"] == "How many there are.\n\nMore of them learn sooner."
    assert texts["num_gpus"] == "Another meaning than the base's."
    assert texts["memory_mb"] == "Memory that one process reserves, in MiB; null reserves none."
    assert "bare" not in texts


def test_the_schema_tells_them_at_each_class() -> None:
    schema = Below.model_json_schema(schema_generator=Described)
    assert schema["properties"]["pool"]["description"] == "The only one."
    assert schema["$defs"]["Pool"]["properties"]["size"]["description"].startswith("How many")
    assert "description" not in schema["$defs"]["Pool"]["properties"]["bare"]
