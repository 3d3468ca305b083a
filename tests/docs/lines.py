"""Counts lines as ``docs/first-five-minutes.md`` does: ``python -m tests.docs.lines FILE[:PART]…``.

PART is a class or function of a Python file, or the number of a Python block of a Markdown page, from 1.
"""

import ast
import io
import re
import sys
import tokenize
from pathlib import Path
from typing import Any, Final

import yaml

UNCOUNTED: Final = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
BLOCK: Final = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
CPP_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
BRACES: Final = re.compile(r"[{}();\s]*")


def python_lines(text: str) -> int:
    """Returns the logical lines: one however often it is wrapped, without comments and strings that stand alone."""
    told = {
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    count, begun = 0, 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in UNCOUNTED:
            continue
        begun = begun or token.start[0]
        if token.type == tokenize.NEWLINE:
            count += begun not in told
            begun = 0
    return count


def part(text: str, name: str) -> str:
    """Returns the text of a class or function at the top of a Python file.

    Raises:
      ValueError: There is none of that name.
    """
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return ast.get_source_segment(text, node) or ""
    raise ValueError(f"the file has no class or function {name!r}")


def cpp_lines(text: str) -> int:
    """Returns the lines of C++, CMake or a shell that hold more than blanks, comments and braces."""
    return sum(not BRACES.fullmatch(line) for line in CPP_COMMENT.sub("", text).splitlines())


def yaml_values(text: str) -> int:
    """Returns the values at the ends of a YAML file's keys, however they are laid out; an empty one counts as one."""
    return _leaves(yaml.safe_load(text))


def _leaves(value: Any) -> int:
    if isinstance(value, dict | list) and value:
        return sum(_leaves(below) for below in (value.values() if isinstance(value, dict) else value))
    return 1


def counted(path: Path, name: str = "") -> int:
    """Returns the lines of a file, or of a part of it.

    Raises:
      ValueError: The file is of no kind that is counted here, or has no such part.
    """
    text = path.read_text(encoding="utf-8")
    match path.suffix:
        case ".py":
            return python_lines(part(text, name) if name else text)
        case ".md":
            return python_lines(BLOCK.findall(text)[int(name) - 1])
        case ".cpp" | ".h":
            return cpp_lines(text)
        case ".txt" | ".sh":
            return cpp_lines(re.sub(r"#[^\n]*", "", text))
        case ".yaml":
            return yaml_values(text)
    raise ValueError(f"{path} is counted by its suffix; allowed are .py, .md, .cpp, .h, .txt, .sh, .yaml")


if __name__ == "__main__":
    for word in sys.argv[1:]:
        file, _, which = word.partition(":")
        print(counted(Path(file), which), word)  # noqa: T201
