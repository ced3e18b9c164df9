"""Count the statements of each part, and fail where a part exceeds its budget.

    uv run python scripts/budget.py            print the table
    uv run python scripts/budget.py --check    exit with 1 where a part exceeds its budget

A statement is an `ast.stmt` node that is no docstring: lines can be golfed, statements cannot.
`budget.toml` beside this file holds the budgets. A part that has shrunk gets the smaller budget in
the same commit; a budget is raised only in a commit of its own that says why.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUDGETS = Path(__file__).with_name("budget.toml")
PACKAGE = Path("src") / "clew"
MEASURES = "measures"
"""The table of `budget.toml` whose entries are no parts."""


def main() -> int:
    """Print the table; 1 where `--check` is given and something exceeds its budget."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="fail where a budget is exceeded")
    given = parser.parse_args()
    budgets = tomllib.loads(BUDGETS.read_text("utf-8"))
    counted = count(ROOT)
    exceeded = False
    for table, values in counted.items():
        print(f"[{table}]")
        for name, value in values.items():
            budget = budgets.get(table, {}).get(name)
            over = budget is None or value > budget
            exceeded |= over
            note = "  has no budget" if budget is None else f"  exceeds {budget:,}" if over else ""
            print(f"{name:<24}{value:>8,}{note}")
    return int(given.check and exceeded)


def count(root: Path) -> dict[str, dict[str, int]]:
    """Statements by part of `src/clew`, and the measures of the whole.

    Returns:
        `parts`: statements by module or folder directly below `src/clew`, largest first.
        `measures`: statements of `src` and `tests`, files of `src`, and the share in per cent of
        the top-level functions of `src` that are private and named once in their module.
    """
    parts: Counter[str] = Counter()
    functions: list[bool] = []
    files = 0
    for path, tree in trees(root / "src"):
        files += 1
        parts[path.relative_to(root / PACKAGE).parts[0]] += statements(tree)
        functions += called_once(tree)
    return {
        "parts": dict(parts.most_common()),
        MEASURES: {
            "src": parts.total(),
            "files": files,
            "called_once": round(100 * sum(functions) / max(1, len(functions))),
            "tests": sum(statements(tree) for _, tree in trees(root / "tests")),
        },
    }


def trees(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    """Path and syntax tree of every module of a folder, those of its sub-folders included."""
    for path in sorted(folder.rglob("*.py")):
        yield path, ast.parse(path.read_text("utf-8"))


def statements(tree: ast.AST) -> int:
    """Number of statements, docstrings and other lone constants left out."""
    return sum(
        isinstance(node, ast.stmt)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in ast.walk(tree)
    )


def called_once(tree: ast.Module) -> list[bool]:
    """For each top-level function: whether it is private and its module names it just once."""
    names = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return [
        node.name.startswith("_") and names[node.name] == 1
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


if __name__ == "__main__":
    sys.exit(main())
