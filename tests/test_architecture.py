from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import clew

# Each takes longer to import than everything of Clew's own together.
HEAVY = ("numpy", "scipy", "onnx", "onnxruntime", "tokenizers", "rich")


def test_all_is_what_is_exported() -> None:
    """What the package defines or imports from its own modules, at once or when asked for."""
    own = {
        name
        for name, value in vars(clew).items()
        if str(getattr(value, "__module__", "")).partition(".")[0] == "clew"
    }
    public = {name for name in own | set(clew._MODULES) if not name.startswith("_")}

    assert len(clew.__all__) == len(set(clew.__all__))
    assert set(clew.__all__) - {"__version__"} == public


def test_every_exported_name_is_there() -> None:
    missing = [name for name in clew.__all__ if not hasattr(clew, name)]

    assert missing == []


def test_import_is_light() -> None:
    code = f"import sys, clew; print([name for name in {HEAVY!r} if name in sys.modules])"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8"
    )

    assert done.stdout.strip() == "[]"


PACKAGE = Path(__file__).parent.parent / "src" / "clew"
FILES = sorted(PACKAGE.rglob("*.py"))

VALUES = frozenset(
    {
        "types",
        "errors",
        "filters",
        "hookspecs",
        "text",
        "languages",
        "times",
        "settings",
        "derived_files",
        "request_end",
        "untrusted",
        "workers",
    }
)
PORTS = VALUES | {"ports"}
STEPS = PORTS | {"indexing", "search", "graph", "models", "stores"}
ENGINE = STEPS | {"wiring", "engine", "packs"}
LIBRARY = ENGINE | {"jobs", "operations", "library", "clew"}

# What each part may import, itself aside. A part is a module or folder directly under `clew`;
# "clew" is the package's own `__init__`.
ALLOWED: dict[str, frozenset[str]] = {
    **dict.fromkeys(VALUES, VALUES),
    "ports": VALUES,
    "stores": PORTS,
    **dict.fromkeys(("indexing", "graph", "models"), PORTS | {"stores"}),
    # Questions are answered over the graph's snapshots.
    "search": PORTS | {"graph", "stores"},
    # Shipped fakes and conformance suites stand beside the steps: they know the store alone.
    "testing": PORTS | {"stores"},
    # Finding and enabling packs, which plugins declare.
    "packs": PORTS | {"indexing"},
    # No part may import these: the hooks lead to them.
    "plugins": LIBRARY | {"cli", "evaluation"},
    "wiring": STEPS | {"packs"},
    "engine": STEPS | {"wiring", "packs"},
    "jobs": ENGINE,
    "operations": ENGINE | {"jobs"},
    # `clew.open`: the engine, and the tools that call it.
    "library": ENGINE | {"operations"},
    "aio": ENGINE | {"library"},
    # What it gives by name is imported when it is first asked for.
    "clew": PORTS | {"aio", "engine", "library", "indexing", "models"},
    "mcp": LIBRARY,
    # The explorer is served by the same server, with the same rights.
    "web": LIBRARY | {"mcp"},
    "cli": LIBRARY | {"mcp", "web"},
    # Adapters know what users know.
    "integrations": frozenset({"clew"}),
    "__main__": frozenset({"cli"}),
}


def module_name(file: Path) -> str:
    """The dotted name of a file of the package."""
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(file): file.read_text("utf-8") for file in FILES}


def imports(source: str, modules: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    """Line and module of every import of one of the modules, wherever in the source it stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            package = node.module or ""
            dotted = [f"{package}.{alias.name}" for alias in node.names]
            names = [name if name in modules else package for name in dotted]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name in modules)


def circle(modules: Mapping[str, str]) -> list[str] | None:
    """Modules of which each imports the next, the first at the end again; None where none do."""
    graph = {
        name: {found for _, found in imports(source, modules) if found != name}
        for name, source in modules.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return None


def part_of(module: str) -> str:
    """The part of the package that a module belongs to."""
    return module.split(".")[1] if "." in module else "clew"


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module: str) -> None:
    part = part_of(module)
    assert part in ALLOWED, f"say in this test what the new part {part!r} may import"

    wrong = [
        f"{module}:{line}: {part} imports {part_of(found)}"
        for line, found in imports(MODULES[module], MODULES)
        if part_of(found) != part and part_of(found) not in ALLOWED[part]
    ]

    assert not wrong


def plugin_of(module: str) -> str:
    """The plugin that a module belongs to; empty for the core."""
    return module.split(".")[2] if module.startswith("clew.plugins.") else ""


def named_plugins(source: str) -> list[str]:
    """Plugins that a module names in a text, as it may for `import_module`."""
    texts = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return [name for text in texts for name in re.findall(r"clew\.plugins\.(\w+)", str(text))]


@pytest.mark.parametrize("module", MODULES)
def test_only_a_plugin_names_itself(module: str) -> None:
    imported = [plugin_of(found) for _, found in imports(MODULES[module], MODULES)]
    named = {name for name in (*imported, *named_plugins(MODULES[module])) if name}

    assert named <= {plugin_of(module)}


@pytest.mark.parametrize(
    "arrow",
    ["from a.plugins.b import c", "from clew.plugins.mail import x", 'f("clew.plugins.mail:x")'],
)
def test_an_arrow_to_a_plugin_is_seen(arrow: str) -> None:
    modules = {"clew.plugins.mail": "", "clew.store": arrow}
    imported = [plugin_of(found) for _, found in imports(arrow, modules)]

    assert ("mail" in [*imported, *named_plugins(arrow)]) == ("clew" in arrow)


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(MODULES) is None


@pytest.mark.parametrize(
    "way_back",
    [
        "from a.b import c",
        "from a.b.c import thing",
        "import a.b.c",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a.b.c import Thing",
        "def function():\n    from a.b.c import thing",
    ],
)
def test_a_circle_is_seen_wherever_its_imports_stand(way_back: str) -> None:
    found = circle({"a.b.c": "from a.d import thing", "a.d": way_back})

    assert found is not None
    assert set(found) == {"a.b.c", "a.d"}
    assert circle({"a.b.c": "from a.d import thing", "a.d": "import os"}) is None


def test_folders_are_packages() -> None:
    """A folder without `__init__.py` would import, but not be found by every tool."""
    folders = {file.parent for file in FILES}

    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []
