"""What others wrote is named with its licence; no game of others is carried along."""

from pathlib import Path

from .built import PACKAGES, ROOT, tracked

NOTICES = (ROOT / "THIRD_PARTY_NOTICES.md").read_text(encoding="utf-8")
FOLDERS = ("vendor", "onnxruntime")
"""Names of folders that hold what others wrote."""


def of_others() -> list[Path]:
    return sorted(Path(name) for name in tracked(*PACKAGES) if set(FOLDERS) & set(Path(name).parts[:-1]))


def test_each_file_of_others_is_named() -> None:
    files = of_others()
    assert len(files) > 10
    named = [file for file in files if not file.name.startswith(("LICENSE", "README"))]
    assert [str(file) for file in named if f"`{file.name}`" not in NOTICES] == []
    assert {str(file.parent) for file in files} == {
        f for f in map(str, {f.parent for f in files}) if f"`{f}/`" in NOTICES
    }


def test_no_rom_is_among_our_files_and_the_notices_tell_whose_those_are() -> None:
    assert [
        name for name in tracked(*PACKAGES, "configs", "docs", "tests") if name.endswith((".bin", ".rom", ".a26"))
    ] == []
    assert "## ROMs" in NOTICES
    assert "ale-py" in NOTICES
