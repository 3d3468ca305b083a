"""Every block of the documentation is run by a test.

Who writes a new block need not name it: most YAML is loaded, and the tests of most pages go over all their commands.
Where that is not so this test names the block. Then run it, in ``test_python_blocks``, ``test_shell_blocks`` or the
page's own test, and name that one in ``accounts.yaml``.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from . import test_json_blocks, test_model_blocks, test_python_blocks, test_shell_blocks, test_yaml_blocks
from .accounts import COUNTED, LONG, RUN, SUITES, Account
from .blocks import Fenced, blocks
from .readme import ROOT

PROGRAMS = {
    "sparring", "serve", "python", "pip", "pytest", "make", "curl", "ray", "kubectl", "mlflow", "cmake", "docker",
}  # fmt: skip
OWN_FILE = re.compile(r"tests/[\w/]+(?:\.py)?")
HERE = (
    test_yaml_blocks.loaded,
    test_json_blocks.compared,
    test_python_blocks.run,
    test_shell_blocks.run,
    test_model_blocks.run,
)
"""Say of a block whether the general tests beside this one do it."""
SHOWN = "dry"
"""Word before a block that a test only shows."""
ALL = blocks(*COUNTED)
ENGLISH = [block for block in ALL if not block.page.startswith("docs/zh/")]
TABLES = [
    *((account, "run") for account in RUN),
    *((account, "long") for account in LONG),
    *((account, "suites") for account in SUITES),
]


def of(accounts: list[Account], block: Fenced) -> list[Account]:
    return [account for account in accounts if account.is_about(block)]


def twin(block: Fenced) -> Fenced | None:
    """Returns the English block that one of a Chinese page is, letter by letter."""
    return next((one for one in ENGLISH if (one.language, one.text) == (block.language, block.text)), None)


@cache
def defined_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("block", ALL, ids=[f"{block.page}:{block.line}" for block in ALL])
def test_a_block_is_run(block: Fenced) -> None:
    known = twin(block) if block.page.startswith("docs/zh/") else block
    assert known is not None, f"no English page has this block of {block.page}:\n{block.text}"
    is_run = SHOWN not in known.how and (any(runs(known) for runs in HERE) or of(RUN, known))
    assert is_run or of(LONG, known) or of(SUITES, known), f"no test runs this block of {block.page}:\n{block.text}"


@pytest.mark.parametrize(("account", "table"), TABLES, ids=[f"{one.page}-{one.holds}" for one, _ in TABLES])
def test_a_table_tells_of_as_many_blocks_as_it_says(account: Account, table: str) -> None:
    found = [block for block in ALL if account.is_about(block)]
    assert found, f"no block of {account.page} holds {account.holds!r}"
    assert account.number in {None, len(found)}, f"{account.page} has {len(found)} blocks with {account.holds!r}"
    assert [path for path in OWN_FILE.findall(account.told) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("account", [*LONG, *SUITES], ids=lambda one: f"{one.page}-{one.holds}")
def test_a_block_stands_in_one_table(account: Account) -> None:
    for block in (block for block in ALL if account.is_about(block)):
        assert not any(runs(block) for runs in HERE), f"{block.page}:{block.line} is run: take it from the table"
        assert all(one.number is None for one in of(RUN, block)), f"{block.page}:{block.line} is in two tables"
        assert len(of([*LONG, *SUITES], block)) == 1, f"{block.page}:{block.line} is in two tables"


@pytest.mark.parametrize("account", [*LONG, *SUITES], ids=lambda one: f"{one.page}-{one.holds}")
def test_a_line_that_is_not_typed_is_there(account: Account) -> None:
    (block,) = [block for block in ALL if account.is_about(block) and block in ENGLISH]
    assert account.told in {"", *block.text.splitlines()}


@pytest.mark.parametrize("account", RUN, ids=lambda one: f"{one.page}-{one.holds}")
def test_the_test_that_runs_a_block_is_there(account: Account) -> None:
    file, _, name = account.told.partition("::")
    assert name in defined_in(file), account.told
    reads = file.startswith("tests/docs/")
    assert not reads or Path(account.page).name in (ROOT / file).read_text(encoding="utf-8"), (
        f"{file} reads other pages"
    )


@pytest.mark.parametrize("block", blocks("text"), ids=lambda block: f"{block.page}:{block.line}")
def test_a_text_is_nothing_to_type(block: Fenced) -> None:
    first = block.text.partition("\n")[0]
    is_synopsis = "[" in first
    assert first.split(" ")[0] not in PROGRAMS or is_synopsis, f"{block.page}:{block.line} is bash:\n{block.text}"


def test_a_new_block_is_noticed() -> None:
    new = Fenced("docs/cluster.md", 1, "bash", "ray status\n")
    assert not any(runs(new) for runs in HERE)
    strange = Fenced("docs/serving.md", 1, "sh", "sparring status\n")
    assert of([*RUN, *LONG, *SUITES], strange) == []
    assert not any(runs(strange) for runs in HERE)
