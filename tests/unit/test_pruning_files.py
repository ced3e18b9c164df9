"""What `index(prune=True)` drops: what was read from files that are gone, and nothing else."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
from clew.indexing import incremental
from clew.testing.fakes import HashEmbedder
from clew.types import Document
from clew.types.values import file_source, source_path

# Whatever Linux takes for the name of a file.
NAMES = st.binary(min_size=1, max_size=40).map(
    lambda name: name.replace(b"/", b"\\x2f").replace(b"\x00", b"\\").lstrip(b".") or b"\\xe9"
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as opened:
        yield opened


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental, "GRACE_SECONDS", 0.0)


def sources(engine: clew.Clew) -> set[str]:
    return {document.source for document in engine.documents.list()}


@given(names=st.lists(NAMES, min_size=1, max_size=8, unique=True))
def test_a_source_tells_the_bytes_of_a_name_and_no_two_names_have_one(names: list[bytes]) -> None:
    paths = [Path(os.fsdecode(b"/nowhere/" + name)) for name in names]
    found = [file_source(path) for path in paths]
    assert [os.fsencode(source_path(source)) for source in found] == [*map(os.fsencode, paths)]
    assert len(set(found)) == len(set(paths))


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), names=st.sets(NAMES, min_size=2, max_size=6))
def test_files_are_pruned_by_the_bytes_of_their_names(
    data: st.DataObject, names: set[bytes], engine: clew.Clew, tmp_path: Path, quick: None
) -> None:
    root = tmp_path / "notes"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    files = [os.path.join(os.fsencode(root), name + b".md") for name in sorted(names)]
    for number, file in enumerate(files):
        with open(file, "w") as written:
            written.write(f"Note number {number} of Ada Morn.")
    engine.index([root], prune=True)
    gone = data.draw(st.sets(st.sampled_from(files), max_size=len(files) - 1))
    for file in gone:
        os.unlink(file)
    for _ in range(2):  # what is dropped, and by whom, does not depend on the run
        engine.index([root], prune=True)
        assert sources(engine) == {
            file_source(Path(os.fsdecode(file))) for file in files if file not in gone
        }


def test_the_name_of_the_issue_stays(engine: clew.Clew, tmp_path: Path, quick: None) -> None:
    file = os.path.join(os.fsencode(tmp_path / "notes"), b"r\xe9sum\xe9.md")
    (tmp_path / "notes").mkdir()
    with open(file, "w") as written:
        written.write("Ada Morn repairs clocks.")
    for expected in ((1, 0), (0, 0), (0, 0)):
        report = engine.index([tmp_path / "notes"], prune=True)
        assert (report.added, report.pruned) == expected


@pytest.mark.parametrize("kind", ["missing", "empty", "empty folders", "one file"])
def test_a_root_that_is_missing_or_empty_drops_nothing_and_says_so(
    kind: str, engine: clew.Clew, tmp_path: Path, quick: None
) -> None:
    root = tmp_path / "disk"
    (root / "inner").mkdir(parents=True)
    (root / "ada.md").write_text("Ada Morn repairs clocks.")
    (root / "inner" / "piet.md").write_text("Piet Oss built the tower.")
    engine.index([root], prune=True)
    before = sources(engine)
    given = root / "ada.md" if kind == "one file" else root
    if kind == "missing":
        root.rename(tmp_path / "away")
    elif kind == "one file":
        given.unlink()
    else:
        shutil.rmtree(root / "inner")
        (root / "ada.md").unlink()
        if kind == "empty folders":
            (root / "inner").mkdir()
    report = engine.index([given], prune=True)
    assert (report.pruned, sources(engine)) == (0, before)
    assert [skipped.source for skipped in report.skipped] == [str(given)]


def test_what_a_caller_gave_is_never_pruned(engine: clew.Clew, tmp_path: Path, quick: None) -> None:
    (tmp_path / "ada.md").write_text("Ada Morn repairs clocks.")
    engine.add("Piet Oss built the tower.", source=str(tmp_path / "given.md"))
    made = Document(source=str(tmp_path / "made.md"), text="Brida Kall sails.")
    engine.documents.add_documents([made])
    (tmp_path / "piet.md").write_text("Piet Oss built the tower.")
    engine.index([tmp_path / "ada.md", tmp_path / "piet.md"])
    (tmp_path / "piet.md").unlink()
    assert engine.documents.preview([tmp_path]).gone == (str(tmp_path / "piet.md"),)
    assert engine.index([tmp_path], prune=True).pruned == 1
    assert sources(engine) == {str(tmp_path / name) for name in ("ada.md", "given.md", "made.md")}


def test_a_text_that_a_file_takes_the_place_of_goes_with_the_file(
    engine: clew.Clew, tmp_path: Path, quick: None
) -> None:
    file = tmp_path / "ada.md"
    (tmp_path / "other.md").write_text("Piet Oss built the tower.")
    engine.add("Ada Morn repairs clocks.", source=str(file))
    file.write_text("Ada Morn repairs clocks.")
    assert engine.index([tmp_path]).changed == 1
    file.unlink()
    assert engine.index([tmp_path], prune=True).pruned == 1


def test_a_file_that_is_saved_by_deleting_it_keeps_its_history(
    engine: clew.Clew, tmp_path: Path
) -> None:
    (tmp_path / "other.md").write_text("Piet Oss built the tower.")
    file = tmp_path / "ada.md"
    for text in ("Ada Morn repairs clocks.", "Ada Morn repairs bells."):
        file.write_text(text)
        engine.index([tmp_path])
    file.unlink()

    def save() -> None:
        time.sleep(incremental.GRACE_SECONDS / 4)
        file.write_text("Ada Morn repairs organs.")

    saving = threading.Thread(target=save)
    saving.start()
    assert engine.index([tmp_path], prune=True).pruned == 0
    saving.join()
    engine.index([tmp_path], prune=True)
    assert [version.version for version in engine.documents.versions(str(file))] == [1, 2, 3]


MAIL = """From ada@example.org Mon Jan  6 10:00:00 2025
From: Ada Morn <ada@example.org>
To: Piet Oss <piet@example.org>
Subject: Clock number {number}
Message-ID: <{number}@example.org>
Date: Mon, 06 Jan 2025 10:0{number}:00 +0000

The clock number {number} of the tower is repaired.

"""


def test_a_mailbox_that_is_cut_short_keeps_its_mail_unless_it_stays_so(
    engine: clew.Clew, tmp_path: Path, quick: None
) -> None:
    box = tmp_path / "inbox.mbox"
    whole = "".join(MAIL.format(number=number) for number in range(5))
    box.write_text(whole)
    engine.index([box])
    held = sources(engine)
    assert len(held) == 5
    box.write_text(whole[: len(whole) // 2])
    report = engine.index([box])
    assert report.pruned == 0
    assert held <= sources(engine)
    assert set(report.gone) < held
    assert engine.index([box], prune=True).pruned == len(report.gone) > 0


def test_a_file_that_changes_while_it_is_looked_at_again_drops_no_record(
    engine: clew.Clew, tmp_path: Path
) -> None:
    box = tmp_path / "inbox.mbox"
    whole = "".join(MAIL.format(number=number) for number in range(5))
    box.write_text(whole)
    engine.index([box])
    held = sources(engine)
    box.write_text(whole[: len(whole) // 2])
    writing = threading.Timer(incremental.GRACE_SECONDS / 4, box.write_text, [whole])
    writing.start()
    assert engine.index([box], prune=True).pruned == 0
    writing.join()
    assert held <= sources(engine)


def test_a_path_that_is_too_long_is_told_and_not_passed_over(
    engine: clew.Clew, tmp_path: Path
) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "ada.md").write_text("Ada Morn repairs clocks.")
    folder = os.open(root, os.O_RDONLY)
    for _ in range(20):  # of 4,096 bytes at most
        os.mkdir("d" * 250, dir_fd=folder)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    with open(os.open("deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=folder), "w") as file:
        file.write("Piet Oss built the tower.")
    os.close(folder)
    report = engine.index([root])
    assert report.added == 1
    assert [skipped.reason for skipped in report.skipped] == ["file name too long"]
    shutil.rmtree(root)
