"""Checks built archives before they go anywhere: ``python -m tests.release.check build/dist``."""

import sys
import tomllib
import zipfile
from configparser import ConfigParser
from pathlib import Path

from packaging.metadata import Metadata
from packaging.utils import parse_sdist_filename, parse_wheel_filename

from .built import PACKAGES, ROOT, of_sdist, of_wheel, tracked

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BESIDE = ("CHANGELOG.md", "LICENSE", "MANIFEST.in", "README.md", "THIRD_PARTY_NOTICES.md", "constraints.txt")
"""Files that the source archive has beside the packages and configs."""


def problems(wheel: Path, sdist: Path) -> list[str]:
    """Returns what is wrong with the two archives of one release; empty where nothing is."""
    return [*names(wheel, sdist), *contents(wheel, sdist), *metadata(wheel)]


def names(wheel: Path, sdist: Path) -> list[str]:
    """Returns where the names of the files do not tell project and version."""
    name, version, _, tags = parse_wheel_filename(wheel.name)
    wanted = (PROJECT["name"], PROJECT["version"])
    found = [(name, str(version)), tuple(map(str, parse_sdist_filename(sdist.name)))]
    wrong = [f"{one} instead of {wanted}" for one in found if one != wanted]
    platforms = {str(tag) for tag in tags}
    return wrong + ([f"the wheel is for {platforms}"] if platforms != {"py3-none-any"} else [])


def contents(wheel: Path, sdist: Path) -> list[str]:
    """Returns files that are missing, and files that do not belong there."""
    ours = tracked(*PACKAGES)
    inside = {name for name in of_wheel(wheel) if ".dist-info/" not in name}
    source = of_sdist(sdist)
    needed = ours | tracked("configs") | set(BESIDE)
    return [
        *(f"the wheel lacks {name}" for name in sorted(ours - inside)),
        *(f"{name} does not belong into the wheel" for name in sorted(inside - ours)),
        *(f"the source archive lacks {name}" for name in sorted(needed - source)),
        *(f"{name} does not belong into the source archive" for name in sorted(source) if name.startswith("tests/")),
    ]


def metadata(wheel: Path) -> list[str]:
    """Returns what is wrong with the metadata, as an index would see it.

    Raises:
      ExceptionGroup: They are not valid; each of its errors names a field.
    """
    with zipfile.ZipFile(wheel) as archive:
        folder = next(name.partition("/")[0] for name in archive.namelist() if ".dist-info/" in name)
        found = Metadata.from_email(archive.read(f"{folder}/METADATA"), validate=True)
        points = ConfigParser(delimiters="=")
        points.read_string(archive.read(f"{folder}/entry_points.txt").decode())
        licences = {name.rpartition("/")[2] for name in archive.namelist() if "/licenses/" in name}
    return [
        *([] if found.description_content_type == "text/markdown" and found.description else ["no description"]),
        *([] if found.license_expression == PROJECT["license"] else [f"licence {found.license_expression}"]),
        *(f"the wheel lacks {name}" for name in sorted({"LICENSE", "THIRD_PARTY_NOTICES.md"} - licences)),
        *([] if dict(points["sparring.commands"]) == _commands() else ["other commands than pyproject.toml names"]),
        *([] if set(found.provides_extra or []) == set(PROJECT["optional-dependencies"]) else ["other extras"]),
    ]


def main(folder: Path) -> None:
    """Ends with what is wrong with the archives in a folder, or says how large they are."""
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    if found := problems(wheel, sdist):
        sys.exit("\n".join(found))
    for path in (wheel, sdist):
        sys.stdout.write(f"{path} {path.stat().st_size / 1e6:.1f} MB\n")


def _commands() -> dict[str, str]:
    return dict(PROJECT["entry-points"]["sparring.commands"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
