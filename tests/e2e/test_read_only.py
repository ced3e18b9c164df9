"""A store that may only be read: everything can be asked, nothing is written, and that is said.

The commands run as processes to which the rights of files apply, even where tests run as root.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from clew.engine.search import COMMUNITIES_MADE
from tests.e2e.conftest import Library

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="rights are dropped on Linux alone")

_DROP_FROM_BOUNDS = 24
_RIGHTS_OF_ROOT = (1, 2)
"""To write, and to read, what its rights forbid."""

READING = {
    "documents": ["documents"],
    "show": ["show", "mill.md"],
    "search": ["search", "Who built the mill at Harrow Ford?"],
    "search, graph": ["search", "Who built the mill?", "--strategy", "graph"],
    "search, keyword": ["search", "mill", "--strategy", "keyword"],
    "search, global": ["search", "What is this about?", "--strategy", "global"],
    "search, topic": ["search", "rivers", "--strategy", "topic"],
    "stats": ["stats", "--graph"],
    "entity show": ["entity", "show", "Jonas Reed"],
    "entity neighbors": ["entity", "neighbors", "Tarn Abbey"],
    "path": ["path", "Jonas Reed", "Lorne Estate"],
    "timeline": ["timeline", "Jonas Reed"],
    "communities": ["communities"],
    "topics": ["topics"],
    "subgraph": ["subgraph", "Tarn Abbey"],
    "export": ["export", "--format", "jsonl"],
}
WRITING = {
    "index": ["index", "new.md"],
    "delete": ["delete", "--glob", "mill.md", "--yes"],
    "entity edit": ["entity", "edit", "Jonas Reed", "--name", "Jonas Read"],
    "restore": ["restore", "backup.db", "--yes"],
    "reindex": ["reindex"],
    "check": ["check", "--repair"],
}


ONE_BY_ONE = """
import contextlib, io, json, sys
from clew.cli import main

told = {}
for name, arguments in json.loads(sys.argv[1]).items():
    sys.argv = ["clew", *arguments]
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            main()
        except SystemExit as end:
            told[name] = [end.code or 0, out.getvalue(), error.getvalue()]
print(json.dumps(told))
"""
"""Many commands in one process, which saves loading the model each time."""


def run_all(
    commands: Mapping[str, Sequence[str]], store: Path, cwd: Path
) -> dict[str, tuple[int, str, str]]:
    """Exit status, output and errors of each."""
    given = {name: [*command, "--store", str(store)] for name, command in commands.items()}
    done = _run_python("-c", ONE_BY_ONE, json.dumps(given), cwd=cwd)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`clew` in a process that may not write where the rights say so."""
    return _run_python("-m", "clew", *map(str, arguments), cwd=cwd)


def _run_python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200"},
        timeout=120,
        check=False,
        preexec_fn=_obey_rights if os.geteuid() == 0 else None,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def _obey_rights() -> None:
    libc = ctypes.CDLL(None)
    for right in _RIGHTS_OF_ROOT:
        if libc.prctl(_DROP_FROM_BOUNDS, right, 0, 0, 0) != 0:
            os._exit(70)


@pytest.fixture
def read_only(library: Library, tmp_path: Path) -> Iterator[Path]:
    """A folder of stores that nobody may write to, with nothing in it that is derived."""
    folder = library.store / "default"
    for path in folder.glob("*.arrays"):
        path.unlink()
    with closing(sqlite3.connect(folder / "clew.db", isolation_level=None)) as connection:
        connection.execute("DELETE FROM partition_state")
    yield locked(library.store)
    unlocked(library.store)


def locked(store: Path) -> Path:
    for path in (*store.rglob("*"), store):
        path.chmod(path.stat().st_mode & ~0o222)
    return store


def unlocked(store: Path) -> Path:
    for path in (store, *store.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)
    return store


def content(store: Path) -> dict[Path, bytes | None]:
    return {p: p.read_bytes() if p.is_file() else None for p in sorted(store.rglob("*"))}


def without_note(error: str) -> str:
    """What a command says, without that communities were made: only a store to write keeps them."""
    return error.replace(f"Note: {COMMUNITIES_MADE}\n", "")


def test_everything_can_be_asked_and_nothing_is_written(read_only: Path, tmp_path: Path) -> None:
    writable = unlocked(Path(shutil.copytree(read_only, tmp_path / "writable")))
    before = content(read_only)
    expected, found = (run_all(READING, store, tmp_path) for store in (writable, read_only))
    for name, (status, out, error) in found.items():
        assert (status, without_note(error)) == (0, without_note(expected[name][2])), name
        if name != "stats":  # whose size on disk differs
            assert out == expected[name][1], name
            assert out or error, name
    assert content(read_only) == before


def test_it_can_be_checked_backed_up_and_copied(read_only: Path, tmp_path: Path) -> None:
    before = content(read_only)
    checked = run("check", "--json", "--store", read_only, cwd=tmp_path)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "integrity" in checked.stdout
    assert "keyword index" not in checked.stdout, "it takes a transaction that writes"
    for command in (["backup", "copy.db"], ["copy", "--to", "there"]):
        done = run(*command, "--store", read_only, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), command
    assert content(read_only) == before


@pytest.mark.parametrize("name", WRITING)
def test_what_would_write_says_that_it_cannot(read_only: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "new.md").write_text("Pia Sand bought the mill.")
    if name == "restore":
        run("backup", "backup.db", "--store", read_only, cwd=tmp_path)
    if name == "check":  # there is something to mend
        unlocked(read_only)
        with closing(sqlite3.connect(read_only / "default" / "clew.db")) as connection:
            connection.execute("DELETE FROM keywords WHERE rowid = 1")
            connection.commit()
        locked(read_only)
    before = content(read_only)
    done = run(*WRITING[name], "--store", read_only, cwd=tmp_path)
    assert done.returncode == (1 if name == "check" else 2)
    assert len(done.stderr.splitlines()) == 1
    assert "can be read here, but not written to" in done.stderr
    assert content(read_only) == before


def test_what_a_killed_writer_left_is_read_or_missed_aloud(
    library: Library, tmp_path: Path
) -> None:
    folder = library.store / "default"
    write = (
        "import os, sys; from pathlib import Path;"
        "from clew.stores.sqlite.store import SqliteStore\n"
        "store = SqliteStore(Path(sys.argv[1])); store.rename(1, 'Renamed'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", write, str(folder)], check=True)
    assert (folder / "clew.db-wal").stat().st_size > 0
    locked(library.store)
    found = run("entity", "show", "Renamed", "--store", library.store, cwd=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    unlocked(library.store)
    (folder / "clew.db-shm").unlink()
    locked(library.store)
    lost = run("entity", "show", "Renamed", "--store", library.store, cwd=tmp_path)
    unlocked(library.store)
    assert lost.returncode == 2
    assert "its last changes are still in" in lost.stderr
    assert len(lost.stderr.splitlines()) == 1
