from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "clew"

VALUES = frozenset(
    {
        "types",
        "ports",
        "errors",
        "text",
        "times",
        "settings",
        "derived_files",
        "private_files",
        "word_lists",
    }
)
STEPS = frozenset({"indexing", "search", "graph", "models", "stores"})

# What each part may import, itself aside. A part is a module or folder directly under `clew`;
# "clew" is the package's own `__init__`.
ALLOWED: dict[str, frozenset[str]] = {
    **dict.fromkeys(VALUES, VALUES),
    **dict.fromkeys(STEPS, VALUES),
    # Questions are answered over the graph's snapshots.
    "search": VALUES | {"graph"},
    # Shipped fakes and conformance suites stand beside the steps: they know the ports alone.
    "testing": VALUES,
    "wiring": VALUES | STEPS,
    # The engine hands out the tools that call it, and imports them only when asked for them.
    "engine": VALUES | STEPS | {"wiring", "tools"},
    "clew": VALUES | {"wiring", "engine"},
    # What it embeds with is handed to it.
    "attach": VALUES | STEPS,
    "evaluation": VALUES | STEPS | {"wiring", "engine", "clew"},
    "tools": VALUES | STEPS | {"wiring", "engine", "clew", "jobs"},
    "jobs": VALUES | STEPS | {"wiring", "engine"},
    "mcp": VALUES | STEPS | {"wiring", "engine", "clew", "jobs", "tools"},
    "cli": VALUES
    | STEPS
    | {"wiring", "engine", "clew", "attach", "evaluation", "jobs", "tools", "mcp"},
    "__main__": frozenset({"cli"}),
}


def part_of(file: Path) -> str:
    """The part that a file of the package belongs to."""
    relative = file.relative_to(PACKAGE)
    if relative == Path("__init__.py"):
        return "clew"
    return relative.parts[0].removesuffix(".py")


def imported_parts(file: Path) -> Iterator[tuple[int, str]]:
    """Line and part of every import of the package, wherever in the file it stands."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            root, _, rest = name.partition(".")
            if root == "clew":
                first = rest.partition(".")[0]
                yield node.lineno, first if is_part(first) else "clew"


def is_part(name: str) -> bool:
    return bool(name) and ((PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file())


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_point_one_way(file: Path) -> None:
    part = part_of(file)
    assert part in ALLOWED, f"say in this test what the new part {part!r} may import"

    wrong = [
        f"{file}:{line}: {part} imports {imported}"
        for line, imported in imported_parts(file)
        if imported != part and imported not in ALLOWED[part]
    ]

    assert not wrong


def test_folders_are_packages() -> None:
    """A folder without `__init__.py` would import, but not be found by every tool."""
    folders = {file.parent for file in FILES}

    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []
