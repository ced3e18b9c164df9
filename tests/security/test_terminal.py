"""No text of a document, whatever it holds and wherever it stands, steers a terminal."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import clew
from tests.security.terminal import (
    PAYLOADS,
    QUESTION,
    Hostile,
    commands,
    foreign,
    hostile_store,
    on_terminal,
    plant,
    steering,
    write_through_every_command,
)

CLI = Path(__file__).parents[2] / "src" / "clew" / "cli"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    return hostile_store(tmp_path_factory.mktemp("hostile"))


def test_every_command_prints_no_control_of_a_document(hostile: Hostile) -> None:
    assert len(PAYLOADS) >= 50
    assert len({command[0] for command in commands(hostile.names)}) >= 20

    write_through_every_command(hostile)


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

    assert re.search(r"Delete \d+ documents?\?", shown.text)
    assert steering(shown.text) == []


@pytest.mark.parametrize("options", [("--context", "--citations"), ("--explain",)])
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
        assert json.loads(shown)["text"] == engine.documents.text("all.txt")


def test_exports_are_escaped_and_read_back(hostile: Hostile) -> None:
    shown = on_terminal("export", cwd=hostile.folder).text

    rows = [json.loads(line) for line in shown.splitlines()]
    named = {row["name"] for row in rows if row["kind"] == "entity"}
    assert steering(shown) == []
    assert set(hostile.names[10:]) <= named


def test_nothing_in_the_command_line_goes_past_the_one_way_out() -> None:
    """Only three modules hold the bare streams, and only `styled` makes a console."""
    past = {"__stdout__", "__stderr__", "inner", "buffer", "from_markup", "from_ansi", "echo"}
    found = []
    for file in CLI.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            name = node.attr if isinstance(node, ast.Attribute) else ""
            called = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if name in past or called in {"Console", "print", "echo"}:
                found.append((file.name, name or called))

    holders = {(f"{name}.py", "inner") for name in ("safe_stream", "output", "styled")}
    assert set(found) - holders - {("indexing.py", "buffer")} == set()
