"""Projects of ``sparring new``, outside the repository: each tutorial of docs/tutorials, block by block."""

import pytest

from tests.docs.tutorials import Reader, page, steps

from .commands import Place
from .installed import installed

pytestmark = pytest.mark.timeout(1800)


def follow(place: Place, template: str) -> None:
    """Does all that a tutorial says: tests, trains to the goals, serves and plays, and compares what it prints."""
    ports = {"36390": str(place.game_port), "8000": str(place.serve_port)}
    installed_env = place.env | {"PATH": f"{installed().bin}:{place.env['PATH']}"}  # Nothing of the repository.
    assert Reader(place.folder, installed_env, ports).follow(template, ring=True) == len(steps(page(template)))


@pytest.mark.e2e
@pytest.mark.parametrize("template", [pytest.param("rl", marks=pytest.mark.long), "deploy"])
def test_a_tutorial_does_what_it_says(place: Place, template: str) -> None:
    follow(place, template)


@pytest.mark.proof
@pytest.mark.alone
@pytest.mark.parametrize("template", ["imitation", "imitation_rl", "league"])
def test_a_tutorial_reaches_its_goals(place: Place, template: str) -> None:
    follow(place, template)
