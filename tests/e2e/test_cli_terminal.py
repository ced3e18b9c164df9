from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import clew as library_api

if TYPE_CHECKING:
    from tests.e2e.conftest import Library

pty = pytest.importorskip("pty")

_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_MARKED = re.compile(r"\x1b\[[\d;]*33m([^\x1b]+)\x1b")


def on_terminal(*arguments: str | Path, cwd: Path, answer: str = "", **environment: str) -> str:
    """What a terminal of 60 columns gets of a command, line ends as `\\n`."""
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "clew", *map(str, arguments)],
        cwd=cwd,
        stdin=end,
        stdout=end,
        stderr=end,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "60", **environment},
    )
    os.close(end)
    os.write(terminal, answer.encode())
    pieces = []
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(terminal)
    process.wait(60)
    return b"".join(pieces).decode().replace("\r\n", "\n")


def test_matched_words_are_marked_and_lines_are_folded(indexed: Library, tmp_path: Path) -> None:
    question = "Who built the mills of Harrow Ford?"

    shown = on_terminal("search", question, "--store", indexed.store, cwd=tmp_path)

    assert {"mill", "Harrow", "Ford", "built"} <= set(_MARKED.findall(shown))
    assert "The" not in _MARKED.findall(shown)
    text = [line for line in _STYLE.sub("", shown).splitlines() if line.startswith("    ")]
    assert max(map(len, text)) <= 60
    assert any(line.startswith("    ● ") for line in text)


def test_words_of_a_script_without_spaces_are_marked(indexed: Library, tmp_path: Path) -> None:
    shown = on_terminal("search", "首都", "--store", indexed.store, cwd=tmp_path)

    assert "首都" in _MARKED.findall(shown)


def test_no_color_means_none(indexed: Library, tmp_path: Path) -> None:
    shown = on_terminal(
        "search", "Harrow Ford", "--store", indexed.store, cwd=tmp_path, NO_COLOR="1"
    )

    assert "Harrow Ford" in shown
    assert re.search(r"\x1b\[[\d;]*3[0-7]", shown) is None


def test_indexing_draws_a_bar_with_its_rate(indexed: Library, tmp_path: Path) -> None:
    shown = on_terminal("index", indexed.folder, cwd=tmp_path)

    plain = _STYLE.sub("", shown)
    assert re.search(r"━+ +\d+/4 +[\d,.]+/s", plain)
    assert "4 added" in plain


def test_json_on_a_terminal_is_json_alone(indexed: Library, tmp_path: Path) -> None:
    shown = on_terminal("index", indexed.folder, "--json", cwd=tmp_path)

    assert shown.startswith("{\n")
    assert "\x1b" not in shown


def test_what_takes_a_while_is_shown_until_it_is_done(library: Library, tmp_path: Path) -> None:
    store = ("--store", library.store)
    with library_api.open(library.store) as engine:  # another test may have made them already
        engine.delete([engine.documents.list()[0].id])

    first = on_terminal("communities", *store, cwd=tmp_path)
    again = on_terminal("communities", *store, cwd=tmp_path)
    data = on_terminal("communities", "--json", *store, cwd=tmp_path)

    assert "…" in _STYLE.sub("", first).splitlines()[0]
    assert "…" not in again
    assert _STYLE.sub("", again).startswith("# ")
    assert data.startswith("{\n")
    assert "\x1b" not in data


def test_what_a_strategy_made_comes_before_the_passages(indexed: Library, tmp_path: Path) -> None:
    question = "How is Jonas Reed connected to the Lorne Estate?"

    shown = _STYLE.sub("", on_terminal("search", question, "--store", indexed.store, cwd=tmp_path))

    paths, _, passages = shown.partition("[1] ")
    assert paths.startswith("Path of 2 hops\n    Jonas Reed — ")
    assert "Path of" not in passages


def test_a_path_is_folded_behind_its_margin(indexed: Library, tmp_path: Path) -> None:
    ends = ("Jonas Reed", "Lorne Estate", "--limit", "1")

    shown = on_terminal("path", *ends, "--store", indexed.store, cwd=tmp_path)

    hops, *lines = _STYLE.sub("", shown).rstrip().splitlines()
    assert hops == "2 hops"
    assert max(map(len, lines)) <= 60
    assert all(line.startswith("    ") for line in lines)


@pytest.mark.parametrize(("answer", "left"), [("n\n", 4), ("y\n", 2)])
def test_delete_asks(library: Library, tmp_path: Path, answer: str, left: int) -> None:
    store = ("--store", library.store)

    shown = on_terminal("delete", "--where", "year<2022", *store, cwd=tmp_path, answer=answer)

    assert "Delete 2 documents?" in shown
    with library_api.open(library.store) as engine:
        assert len(engine.documents.list()) == left
