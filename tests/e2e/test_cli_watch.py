"""`clew index --watch` as a process: what changes is indexed, what vanishes is dropped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "ada.txt").write_text("Ada Ray mended the clock.")
    return notes


@pytest.fixture
def watching(folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "clew", "index", str(folder)),
            *("--watch", "--json", "--exclude", "*.tmp"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder.parent,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def report(process: subprocess.Popen[str]) -> dict[str, int]:
    """The next report; JSON is printed over several lines."""
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if line.startswith("}"):
            break
    found = json.loads(text)
    return {name: found[name] for name in ("added", "changed", "unchanged", "pruned")}


def test_changes_are_indexed_as_they_happen(folder: Path, watching: subprocess.Popen[str]) -> None:
    assert report(watching) == {"added": 1, "changed": 0, "unchanged": 0, "pruned": 0}
    assert watching.stderr is not None
    # From then on, nothing that happens is missed.
    assert any("Watching for changes" in line for line in watching.stderr)

    (folder / "bell.txt").write_text("Bo Lund cast the bell.")
    assert report(watching) == {"added": 1, "changed": 0, "unchanged": 0, "pruned": 0}
    (folder / "skip.tmp").write_text("Not this.")
    (folder / "ada.txt").write_text("Ada Ray broke the clock.")
    while (found := report(watching)) != {"added": 0, "changed": 1, "unchanged": 0, "pruned": 0}:
        assert not any(found.values())
    (folder / "bell.txt").unlink()
    while (found := report(watching)) != {"added": 0, "changed": 0, "unchanged": 0, "pruned": 1}:
        assert not any(found.values())

    watching.send_signal(signal.SIGINT)
    assert watching.wait(timeout=60) in (0, 130)


def test_a_folder_that_is_moved_away_and_back_loses_nothing(
    folder: Path, watching: subprocess.Popen[str]
) -> None:
    assert report(watching)["added"] == 1
    assert watching.stderr is not None
    assert any("Watching for changes" in line for line in watching.stderr)
    folder.rename(folder.parent / "away")
    assert report(watching)["pruned"] == 0  # told that the folder is not there
    (folder.parent / "away" / "bell.txt").write_text("Bo Lund cast the bell.")
    (folder.parent / "away").rename(folder)
    while not (found := report(watching))["added"]:
        assert not found["pruned"]
    assert (found["added"], found["pruned"]) == (1, 0)
    # It is watched again, names that are no Unicode among what it holds.
    with open(os.fsencode(folder) + b"/r\xe9sum\xe9.txt", "w") as file:
        file.write("Cy Dahl painted the sign.")
    while not (found := report(watching))["added"]:
        assert not found["pruned"]
    (folder / "ada.txt").unlink()
    (folder / "ada.txt").write_text("Ada Ray broke the clock.")
    while not (found := report(watching))["changed"]:
        assert (found["added"], found["pruned"]) == (0, 0)
    assert (found["added"], found["pruned"]) == (0, 0)
