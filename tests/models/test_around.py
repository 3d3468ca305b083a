"""A model around another one passes on what it does not change."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from app.models.around import ModelAround
from app.types import Version

if TYPE_CHECKING:
    from app.models.model import Model


async def test_what_is_not_changed_is_the_other_models_answer() -> None:
    asked: list[Any] = []

    async def forward(*given: Any) -> str:
        asked.append(given)
        return "output"

    async def ensure(version: Version | None) -> Version:
        return version or Version(1, 2)

    released: list[Version] = []
    inner = SimpleNamespace(spec="spec", forward=forward, ensure=ensure, release=released.append)
    model = ModelAround(cast("Model", inner))
    assert cast("str", model.spec) == "spec"
    assert cast("str", await model.forward("seen", "state", Version(1, 1))) == "output"
    assert asked == [("seen", "state", Version(1, 1))]
    assert await model.ensure(None) == Version(1, 2)
    model.release(Version(1, 2))
    assert released == [Version(1, 2)]
