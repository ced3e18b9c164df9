from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Library

# Runs `clew` in a process of its own and prints which of the modules named it loaded.
PROBE = """
import sys
from clew.cli import main
modules, sys.argv = sys.argv[1].split(","), ["clew", *sys.argv[2:]]
try:
    main()
finally:
    print(*sorted(set(modules) & set(sys.modules)), file=sys.stderr)
"""


def loaded(modules: str, *arguments: str | Path, cwd: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, modules, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr.split()


@pytest.mark.parametrize("arguments", [["--version"], ["search", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    heavy = "numpy,scipy,onnxruntime,tokenizers,rich,pydantic_settings,clew.engine"

    assert loaded(heavy, *arguments, cwd=tmp_path) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "Who built the mill?", "--json"],
        ["entity", "show", "Tarn Abbey", "--json"],
        ["communities", "--json"],
    ],
)
def test_json_does_not_load_rich(arguments: list[str], indexed: Library, tmp_path: Path) -> None:
    assert loaded("rich", *arguments, "--store", indexed.store, cwd=tmp_path) == []


def test_a_search_loads_no_more_than_it_needs(indexed: Library, tmp_path: Path) -> None:
    drawing = "rich,pydantic_settings,jinja2,mcp"
    # Other commands, indexing and its libraries.
    others = "clew.cli.commands.indexing,clew.cli.commands.serving,clew.indexing,lxml,bs4,onnx"
    asked = ("search", "Who built the mill?", "--store", indexed.store)

    assert loaded(f"{drawing},{others}", *asked, cwd=tmp_path) == []


def test_looking_does_not_load_the_model(indexed: Library, tmp_path: Path) -> None:
    models = "onnxruntime,tokenizers,scipy"

    assert loaded(models, "documents", "--store", indexed.store, cwd=tmp_path) == []
