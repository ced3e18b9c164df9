from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clew.cli.app import COMMANDS, GROUPS, _Commands
from clew.cli.searching import FLAGS, TEXTS, read_plainly

if TYPE_CHECKING:
    from tests.e2e.conftest import Library, Run

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
    drawing = "rich,pydantic_settings,jinja2,mcp,typer,click,pydantic,importlib.metadata"
    # Other commands, indexing and its libraries.
    others = "clew.cli.commands.indexing,clew.cli.commands.serving,clew.indexing,lxml,bs4,onnx"
    asked = ("search", "Who built the mill?", "--store", indexed.store)

    assert loaded(f"{drawing},{others}", *asked, cwd=tmp_path) == []


MODELS = (
    "httpx2,pydantic_ai,openai,anthropic,clew.models.llm.client,clew.models.llm.ollama,clew.chat"
)


@pytest.mark.parametrize("arguments", [["search", "Who built the mill?"], ["documents"], ["stats"]])
def test_without_a_language_model_nothing_of_one_is_loaded(
    arguments: list[str], indexed: Library, tmp_path: Path
) -> None:
    assert loaded(MODELS, *arguments, "--store", indexed.store, cwd=tmp_path) == []


def test_the_library_loads_nothing_of_a_language_model(tmp_path: Path) -> None:
    code = f"import clew, sys; print(*sorted(set({MODELS!r}.split(',')) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True
    )

    assert done.stdout.split() == []


def test_looking_does_not_load_the_model(indexed: Library, tmp_path: Path) -> None:
    models = "onnxruntime,tokenizers,scipy"

    assert loaded(models, "documents", "--store", indexed.store, cwd=tmp_path) == []


def test_the_quick_way_is_taken_for_options_of_the_command() -> None:
    options = {
        name: parameter.name
        for parameter in _Commands(COMMANDS, GROUPS)["search"].params
        for name in parameter.opts
    }

    assert {name: options[name] for name in TEXTS | FLAGS} == TEXTS | FLAGS


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["search", "who?"], {"question": "who?"}),
        (["search", "who", "did", "it?"], {"question": "who did it?"}),
        (["query", "who"], None),
        (
            ["search", "--json", "who", "--limit", "3"],
            {"json": True, "question": "who", "limit": 3},
        ),
        (["search", "who", "--store", "a", "--store", "b"], {"question": "who", "store": "b"}),
        ([], None),
        (["search"], None),
        (["search", "-"], None),
        (["search", "--help"], None),
        (["search", "who", "--limit", "0"], None),
        (["search", "who", "--limit", "³"], None),
        (["search", "who", "--limit"], None),
        (["search", "who", "--store", "--json"], None),
        (["search", "who", "--stroe", "a"], None),
        (["search", "who", "--store=a"], None),
        (["search", "who", "--", "-x"], None),
        (["search", "who", "--explain"], None),
        (["index", "who"], None),
    ],
)
def test_only_plain_arguments_are_read_quickly(
    arguments: list[str], expected: dict[str, object] | None
) -> None:
    assert read_plainly(arguments) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        ["Who built the mill?"],
        ["Who", "built the mill?", "--limit", "2"],
        ["Who built the mill?", "--strategy", "keyword"],
        ["Who built the mill?", "--strategy", "nonsense"],
        ["Who built the mill?", "--namespace", "nobody"],
        ["Who built the mill?", "--namespace", "no/name"],
        ["zzz qqq"],
        [""],
    ],
)
def test_the_quick_way_answers_as_the_long_one(
    arguments: list[str], indexed: Library, in_process: Run
) -> None:
    plain = [*arguments, "--store", str(indexed.store)]
    quick = in_process("search", *plain)
    # A word before the command's name is not plain.
    long = in_process(*plain[-2:], "search", *arguments)

    assert (quick.returncode, quick.stdout, quick.stderr) == (
        long.returncode,
        long.stdout,
        long.stderr,
    )


def test_a_closed_pipe_ends_the_quick_way_quietly(indexed: Library) -> None:
    command = [sys.executable, "-m", "clew", "search", "Who built the mill?", "--store"]
    with subprocess.Popen(
        [*command, str(indexed.store)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()

    assert (process.returncode, errors) == (141, b"")
