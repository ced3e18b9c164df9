"""No text of a document, whatever it holds and wherever it stands, steers a terminal."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import clew
from tests.security.terminal import (
    PAYLOADS,
    all_on_terminal,
    foreign,
    name_entities,
    on_terminal,
    plant,
    steering,
)

CLI = Path(__file__).parents[2] / "src" / "clew" / "cli"
QUESTION = "Who keeps the clipboard of Vell?"
ODD = "".join(
    PAYLOADS[name]
    for name in ("clipboard", "title report", "8-bit CSI", "right-to-left override", "markup")
)
"""What is given by hand where a command takes a text."""


@dataclass(frozen=True)
class Hostile:
    """A folder of documents, the folder that holds its store, and hostile names of entities."""

    folder: Path
    names: list[str]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    folder = tmp_path_factory.mktemp("hostile")
    plant(folder / "notes")
    shown = on_terminal("index", "notes", cwd=folder)
    assert shown.status == 1
    assert "malformed JSON" in shown.text
    assert steering(shown.text) == []
    return Hostile(folder, name_entities(folder / ".clew"))


def commands(names: list[str]) -> list[tuple[str, ...]]:
    """Commands that print what a store holds, or what they were given, in each way they have."""
    strategies = ("graph", "keyword", "multi_hop", "local", "global", "topic", "temporal")
    searches = [("search", QUESTION, "--strategy", strategy) for strategy in strategies]
    return [
        *searches,
        *((*search, "--context", "--citations") for search in searches),
        ("search", QUESTION, "--explain", "--limit", "60"),
        ("search", "hierarchy", "--strategy", "hierarchical", "--context"),
        ("search", QUESTION, "--json"),
        ("documents",),
        ("documents", "--json"),
        ("show", "notes/1.md"),
        ("show", "all.txt", "--text"),
        ("show", "half.json"),
        ("show", "all.txt", "--json"),
        ("entity", "show", names[1]),
        ("entity", "neighbors", names[2], "--depth", "2"),
        ("entity", "rename", names[3], f"{names[3]} {ODD}"),
        ("path", names[4], names[6]),
        ("timeline", "Ada Morn"),
        ("communities",),
        ("communities", "--reports"),
        ("topics",),
        ("subgraph", "Ada Morn"),
        ("subgraph", "Ada Morn", "--format", "json"),
        ("subgraph", "Ada Morn", "--format", "graphml"),
        ("stats", "--graph"),
        ("stats", "--json"),
        ("check",),
        ("export",),
        ("export", "--format", "graphml"),
        ("call", "query_documents", json.dumps({"query": QUESTION})),
        ("call", "list_documents"),
        ("install", "codex", "--name", ODD),
        ("token", ODD),
        # What is refused, and says what it was given.
        *refused(ODD),
    ]


def refused(text: str) -> list[tuple[str, ...]]:
    return [
        ("show", text),
        ("entity", "show", text),
        ("search", QUESTION, "--strategy", "hierarchical", "--layer", text),
        ("search", QUESTION, "--since", text),
        ("search", QUESTION, "--strategy", text),
        ("search", QUESTION, "--limit", text),
        (f"--{text}",),
        (text,),
        ("call", text),
        ("call", "query_documents", text),
        ("call", "query_documents", json.dumps({text: text})),
        ("index", text),
        ("import", text),
        ("eval", text),
        ("stats", "--store", f"neo4j://{text}"),
        ("stats", "--namespace", text),
    ]


def test_every_command_prints_no_control_of_a_document(hostile: Hostile) -> None:
    given = commands(hostile.names)
    names = {command[0] for command in given}
    assert len(PAYLOADS) >= 50
    assert len(names) >= 20

    shown = all_on_terminal(given, hostile.folder)

    broken = {s.arguments: steering(s.text) for s in shown if steering(s.text)}
    assert broken == {}
    assert [s.arguments for s in shown if "Traceback" in s.text] == []
    assert [s.arguments for s in shown if not s.text.strip()] == []
    done, given_up = shown[: -len(refused(""))], shown[-len(refused("")) :]
    assert [(s.arguments, s.text) for s in done if s.status != 0] == []
    assert [(s.arguments, s.text) for s in given_up if s.status != 2] == []


@pytest.mark.parametrize(
    "command",
    [
        ("search", QUESTION, "--explain"),
        ("path", "Ada Morn", "Marn Trust"),
        ("stats", "--graph"),
    ],
    ids=lambda command: command[0],
)
def test_colours_of_our_own_still_work(hostile: Hostile, command: tuple[str, ...]) -> None:
    shown = on_terminal(*command, cwd=hostile.folder, TERM="xterm-256color").text

    assert re.search(r"\x1b\[[\d;]*[12]m", shown)
    assert foreign(shown) == []
    assert "\x1b[38;5;213m" not in shown


def test_bars_of_progress_are_drawn_and_name_nothing_hostile(tmp_path: Path) -> None:
    plant(tmp_path / "notes")

    shown = on_terminal("index", "notes", cwd=tmp_path, TERM="xterm-256color").text

    assert "━" in shown
    assert foreign(shown) == []


def test_a_question_before_deleting_names_documents(hostile: Hostile, tmp_path: Path) -> None:
    shutil.copytree(hostile.folder / ".clew", tmp_path / ".clew")

    shown = on_terminal("delete", "--where", "date>=2024", cwd=tmp_path, answer="n\n")

    assert "Delete these" in shown.text
    assert steering(shown.text) == []


@pytest.mark.parametrize("options", [("--context", "--citations"), ("--explain",), ()])
def test_a_pipe_gets_the_same_text(hostile: Hostile, options: tuple[str, ...]) -> None:
    piped = subprocess.run(
        [sys.executable, "-m", "clew", "search", QUESTION, "--limit", "60", *options],
        cwd=hostile.folder,
        capture_output=True,
        check=True,
    )

    shown = piped.stdout.decode()
    assert steering(shown + piped.stderr.decode()) == []
    assert r"\x1b]52;c;cm0gLXJmIH4K\x07" in shown


def test_json_escapes_what_it_keeps(hostile: Hostile) -> None:
    shown = on_terminal("show", "all.txt", "--json", cwd=hostile.folder).text

    assert steering(shown) == []
    with clew.open(hostile.folder / ".clew") as engine:
        assert json.loads(shown)["text"] == engine.text("all.txt")


def test_exports_are_escaped_and_read_back(hostile: Hostile) -> None:
    shown = on_terminal("export", cwd=hostile.folder).text

    rows = [json.loads(line) for line in shown.splitlines()]
    named = {row["name"] for row in rows if row["kind"] == "entity"}
    assert steering(shown) == []
    assert set(hostile.names[10:]) <= named


def test_logs_name_documents_by_their_codes(hostile: Hostile, tmp_path: Path) -> None:
    plant(tmp_path / "notes")

    shown = on_terminal("index", "notes", "--verbose", cwd=tmp_path)

    assert steering(shown.text) == []


def test_nothing_in_the_command_line_goes_past_the_one_way_out() -> None:
    """Only `output` holds the bare streams, only `styled` makes a console."""
    past = {"__stdout__", "__stderr__", "inner", "buffer", "from_markup", "from_ansi"}
    found = []
    for file in CLI.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
            called = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if name in past or called in {"Console", "print"} or name == "echo":
                found.append((file.name, name or called))

    allowed = {("output.py", "inner"), ("styled.py", "inner"), ("indexing.py", "buffer")}
    assert set(found) - allowed == set()
