"""What a promoted model version tells of itself."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.config.load import load
from app.models.content import content_hash
from app.models.module import build_module, hash_of, to_arrays
from app.models.saved import read_meta, read_model
from app.types import Version
from train.promote import Told, promote, version_tags

RL = Path(__file__).parents[2] / "configs" / "rl.yaml"


class Registry:
    """Keeps what it is given."""

    def register(self, name: str, folder: Path, run_id: str, tags: dict[str, str], alias: str) -> int:
        self.told = (name, run_id, alias)
        self.tags = tags
        self.saved = read_model(folder)
        self.step = read_meta(folder)["step"]
        return 7


@pytest.mark.parametrize(("parent", "rating"), [(None, None), ("rl/clones/0123", 1520.5)])
def test_a_version_is_tagged_with_where_its_weights_come_from(parent: str | None, rating: float | None) -> None:
    config, registry = load(RL, ["tracking.alias=challenger"]), Registry()
    model = config.models["main"]
    module = build_module(model.factory, model.kwargs, 5)
    weights = SimpleNamespace(load=lambda _: to_arrays(module))
    trial, tracker = SimpleNamespace(weights=lambda _: weights), SimpleNamespace(run_id=lambda: "run 1")
    told = Told(Version(2, 9), 30, parent, rating)
    number = promote(config, "main", cast("Any", trial), told, cast("Any", tracker), cast("Any", registry))
    content = content_hash(to_arrays(module), hash_of(module))
    assert (number, registry.told, registry.step) == (7, ("cartpole.main", "run 1", "challenger"), 30)
    assert content_hash(registry.saved.arrays, registry.saved.spec_hash) == content
    expected = {"trial": "rl", "version": "2.9", "spec_hash": hash_of(module), "hash": content, "step": "30"}
    known = {} if parent is None else {"parent": "rl/clones/0123", "rating": "1520.5"}
    assert registry.tags == expected | known


def test_what_is_not_known_has_no_tag() -> None:
    assert version_tags(step=0, parent=None, rating=0.0) == {"step": "0", "rating": "0.0"}
