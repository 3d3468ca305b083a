"""Projects of ``sparring new``, outside the repository: each tutorial of docs/tutorials, block by block."""

import pytest

from tests.docs.blocks import block_of
from tests.docs.tutorials import Reader, Step, page, steps

from .commands import Place
from .installed import installed

pytestmark = pytest.mark.timeout(1800)


def reader(place: Place) -> Reader:
    ports = {"36390": str(place.game_port), "8000": str(place.serve_port)}
    installed_env = place.env | {"PATH": f"{installed().bin}:{place.env['PATH']}"}  # Nothing of the repository.
    return Reader(place.folder, installed_env, ports)


def follow(place: Place, template: str) -> None:
    """Does all that a tutorial says: tests, trains to the goals, serves and plays, and compares what it prints."""
    assert reader(place).follow(template, ring=True) == len(steps(page(template)))


@pytest.mark.e2e
@pytest.mark.parametrize("template", [pytest.param("rl", marks=pytest.mark.long), "deploy"])
def test_a_tutorial_does_what_it_says(place: Place, template: str) -> None:
    follow(place, template)


@pytest.mark.e2e
@pytest.mark.long
def test_the_project_of_the_page_is_installed_tested_trained_and_served(place: Place) -> None:
    made, changed, *typed, served = block_of("docs/projects.md", "pip install").text.splitlines(keepends=True)
    assert changed == f"cd {made.split()[2]}\n"
    try:
        reader(place).do(
            [
                Step("bash", made, "", ()),
                *[Step("bash", line, "", ()) for line in typed],
                Step("bash", served, "", ("port", "36390")),
            ]
        )
    finally:
        installed().run("pip", "uninstall", "--yes", made.split()[2], home=place.folder)  # Other tests share it.


@pytest.mark.proof
@pytest.mark.alone
@pytest.mark.parametrize("template", ["imitation", "imitation_rl", "league"])
def test_a_tutorial_reaches_its_goals(place: Place, template: str) -> None:
    follow(place, template)
