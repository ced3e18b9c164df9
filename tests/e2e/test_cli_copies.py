from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.content import content
from tests.e2e.conftest import Library, Run


def test_a_backup_is_written_once_and_restored(in_process: Run, library: Library) -> None:
    store = ("--store", library.store)
    made = in_process("backup", "copy.db", *store)
    again = in_process("backup", "copy.db", *store)
    in_process("delete", str(library.folder / "mill.md"), "--yes", *store)
    refused = in_process("restore", "copy.db", *store)
    restored = in_process("restore", "copy.db", "--yes", "--json", *store)

    assert (made.returncode, made.stdout.endswith("bytes written and checked\n")) == (0, True)
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    assert (refused.returncode, "3 documents would be replaced" in refused.stderr) == (2, True)
    assert json.loads(restored.stdout) == {"path": "copy.db", "documents": 4}
    assert in_process("check", *store).returncode == 0
    assert "Jonas Reed" in in_process("search", "Who built the mill?", *store).stdout


def test_a_backup_of_the_default_store_is_restored(in_process: Run) -> None:
    """Its folder is named relative to the working directory."""
    in_process("index", "-", stdin="Ada Morn keeps the mill.")
    in_process("backup", "copy.db")

    restored = in_process("restore", "copy.db", "--yes", "--json")

    assert json.loads(restored.stdout) == {"path": "copy.db", "documents": 1}


def test_what_is_no_backup_is_refused(in_process: Run, library: Library) -> None:
    missing = in_process("restore", "none.db", "--store", library.store)
    wrong = in_process("restore", library.folder / "mill.md", "--yes", "--store", library.store)

    assert (missing.returncode, wrong.returncode) == (2, 2)
    assert len(missing.stderr.splitlines()) == len(wrong.stderr.splitlines()) == 1
    assert in_process("check", "--store", library.store).returncode == 0


def test_documents_of_other_settings_are_indexed_again(in_process: Run, library: Library) -> None:
    store = ("--store", library.store)
    same = in_process("reindex", "--json", *store)
    changed = in_process("reindex", *store, CLEW_SPLIT__CHUNK_TOKENS="40")

    assert json.loads(same.stdout) == {"documents": 0}
    assert (changed.returncode, changed.stdout) == (0, "4 documents indexed again\n")


def test_progress_is_a_bar_of_documents(library: Library, tmp_path: Path) -> None:
    terminal = pytest.importorskip("tests.e2e.test_cli_terminal")  # where there are terminals
    arguments = ("reindex", "--store", library.store)
    shown = terminal.on_terminal(*arguments, cwd=tmp_path, CLEW_SPLIT__CHUNK_TOKENS="40")

    assert re.search(r"reindex .*4/4", shown)
    assert shown.endswith("4 documents indexed again\n")


def test_what_is_in_the_way_of_indexing_again_is_one_line(
    in_process: Run, library: Library
) -> None:
    folder = library.store / "default"
    held = content(folder / "clew.db")
    (folder / ".reindex").write_text("in the way")
    failed = in_process(
        "reindex", "--json", "--store", library.store, CLEW_SPLIT__CHUNK_TOKENS="40"
    )

    assert (failed.returncode, failed.stdout) == (2, "")
    (line,) = failed.stderr.splitlines()
    assert line.startswith("Error: cannot build in")
    assert ".reindex" in line
    assert content(folder / "clew.db") == held


def test_a_full_disk_is_one_line_and_changes_nothing(in_process: Run, library: Library) -> None:
    folder = library.store / "default"
    held, size = content(folder / "clew.db"), (folder / "clew.db").stat().st_size
    arguments = ("reindex", "--store", library.store)
    failed = limited(size // 2, *arguments, CLEW_SPLIT__CHUNK_TOKENS="40")

    assert (failed.returncode, failed.stdout) == (2, "")
    # A slow machine says now and then how far it is.
    (error,) = (s for s in failed.stderr.splitlines() if not re.fullmatch(r"\w+: \d+ of \d+", s))
    assert error.startswith("Error: the store ")
    assert "disk" in error
    assert content(folder / "clew.db") == held
    assert (
        in_process(*arguments, CLEW_SPLIT__CHUNK_TOKENS="40").stdout
        == "4 documents indexed again\n"
    )


def limited(
    size: int, *arguments: str | Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The command, which can write no file beyond a size."""
    resource = pytest.importorskip("resource")
    return subprocess.run(
        [sys.executable, "-m", "clew", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        timeout=120,
        check=False,
    )
