"""The table of faults as values, and the page that is written from it."""

import argparse
from pathlib import Path
from typing import Any, Final

import yaml

from app.config.reference import anchor

ROOT: Final = Path(__file__).parents[2]
TABLE: Final = ROOT / "docs" / "faults.yaml"
PAGE: Final = ROOT / "docs" / "faults.md"
FIELDS: Final = {
    "players": "What players see",
    "lost": "What is lost",
    "back": "Well again",
    "do": "What to do",
}
HEAD: Final = """\
# What happens when a part dies

Written from [faults.yaml](faults.yaml) by `python -m tests.docs.faults --write`; a test compares both, and checks that
the tests which prove each row exist, and the alerts. The [runbook](runbook.md) begins at the alert instead. How long
each part takes to come back on a machine is what its [soak](soak.md) reports; "seconds" and "at once" below wait for no
start of a process that imports torch.

"""


def faults() -> list[dict[str, Any]]:
    """Returns the rows of the table."""
    found: list[dict[str, Any]] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return found


def page() -> str:
    """Returns the page."""
    rows = faults()
    lines = ["| What dies | Players | Alert |", "|---|---|---|"]
    lines += [f"| [{row['part']}](#{anchor(row['part'])}) | {row['players']} | {_alarms(row)} |" for row in rows]
    return HEAD + "\n".join(lines) + "\n\n" + "\n".join(map(_section, rows))


def _section(row: dict[str, Any]) -> str:
    lines = [f"## {row['part']}", "", f"When {row['dies']}:", ""]
    lines += [f"- **{title}**: {row[field]}" for field, title in FIELDS.items()]
    lines += [f"- **What tells it**: {_alarms(row)}", "- **Shown by**:"]
    lines += [f"    - `{proof}`" for proof in row["proof"]]
    return "\n".join(lines) + "\n"


def _alarms(row: dict[str, Any]) -> str:
    if row["alarms"]:
        return ", ".join(f"[{alarm}](runbook.md#{alarm.lower()})" for alarm in row["alarms"])
    return str(row["otherwise"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes docs/faults.md from docs/faults.yaml.")
    parser.add_argument("--write", action="store_true", required=True)
    parser.parse_args()
    PAGE.write_text(page(), encoding="utf-8")
