from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.e2e.conftest import Library, Run

# The command as it is, but slow, and with batches so small that there are many.
_SLOWLY = """
import sys, time
import clew.engine.maintenance as copying
from clew.cli import main
from clew.stores.copy import StoreCopy

copying._ROWS = copying._ROWS_WITH_VECTORS = 2
write_rows = StoreCopy.write_rows

def write_slowly(self, table, rows, **marks):
    write_rows(self, table, rows, **marks)
    print("written", flush=True)
    time.sleep(0.2)

StoreCopy.write_rows = write_slowly
main()
"""


def test_a_store_is_copied_and_compared(in_process: Run, library: Library) -> None:
    first = in_process("copy", "--from", library.store, "--to", "there")
    again = in_process("copy", "--from", library.store, "--to", "there", "--json")

    assert first.returncode == 0, first.stderr
    lines = first.stdout.splitlines()
    assert lines[0].split() == ["table", "rows", "hash"]
    assert [line.split()[:2] for line in lines if line.startswith("documents")] == [
        ["documents", "4"]
    ]
    assert lines[-1].endswith("both stores hold the same")
    report = json.loads(again.stdout)
    assert (again.returncode, report["written"], report["resumed"]) == (0, 0, False)
    assert {len(table["digest"]) for table in report["tables"]} == {32}
    assert report["source"] == [str(library.store), "default"]
    assert in_process("check", "--store", "there").returncode == 0
    assert "Jonas Reed" in in_process("search", "Who built the mill?", "--store", "there").stdout


def test_a_namespace_is_copied_under_another_name(in_process: Run, library: Library) -> None:
    store = ("--store", library.store)
    there = in_process("copy", *store, "--to", library.store, "--to-namespace", "second")
    back = in_process("copy", *store, "--namespace", "second", "--to", "there")
    stats = in_process("stats", "--json", "--store", "there", "--namespace", "second")

    assert (there.returncode, back.returncode) == (0, 0)
    assert json.loads(stats.stdout)["documents"] == 4


def test_what_cannot_be_copied_is_told_in_one_line(in_process: Run, library: Library) -> None:
    in_process("index", library.folder / "mill.md", "--store", "other")
    refused = [
        in_process("copy", "--from", "none", "--to", "there"),
        in_process("copy", "--from", library.store, "--to", library.store),
        in_process("copy", "--from", library.store, "--to", "other"),
        in_process("copy", "--from", library.store, "--to", "ftp://there"),
    ]

    assert {done.returncode for done in refused} == {2}
    assert {len(done.stderr.splitlines()) for done in refused} == {1}
    assert "there is no store" in refused[0].stderr
    assert "onto itself" in refused[1].stderr
    assert "holds something else already" in refused[2].stderr


def test_an_interrupted_copy_says_so_and_goes_on(
    in_process: Run, library: Library, tmp_path: Path
) -> None:
    command = ["copy", "--from", str(library.store), "--to", str(tmp_path / "there")]
    with subprocess.Popen(
        [sys.executable, "-c", _SLOWLY, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["written\n"] * 3
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    opened = in_process("stats", "--store", "there")
    resumed = in_process(*command, "--json")

    assert process.returncode == 130
    assert f"To go on: clew copy --from {library.store} --to {tmp_path / 'there'}" in told
    assert opened.returncode == 2
    assert f"is an unfinished copy of '{library.store}'" in opened.stderr
    assert f"`clew copy --from {library.store} --to {tmp_path / 'there'}`" in opened.stderr
    assert json.loads(resumed.stdout)["resumed"] is True
    assert in_process("check", "--store", "there").returncode == 0
