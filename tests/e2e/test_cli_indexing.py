"""`clew index`: what it says before and after it reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Run


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("ada", "bell", "clock"):
        (folder / f"{name}.txt").write_text(f"The {name} of the mill at Harrow Ford.")
    return folder


def preview(in_process: Run, folder: Path) -> dict[str, list[str]]:
    done = in_process("index", folder, "--dry-run", "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    return {kind: [Path(source).name for source in found[kind]] for kind in found}


def test_a_dry_run_says_what_a_run_then_does(in_process: Run, notes: Path, tmp_path: Path) -> None:
    names = ["ada.txt", "bell.txt", "clock.txt"]
    before = preview(in_process, notes)
    assert before == {"new": names, "changed": [], "unchanged": [], "gone": []}
    assert not (tmp_path / ".clew").exists()

    assert in_process("index", notes).returncode == 0
    assert preview(in_process, notes)["unchanged"] == names

    (notes / "ada.txt").write_text("Another text.")
    (notes / "bell.txt").unlink()
    (notes / "door.txt").write_text("A door.")
    expected = {
        "new": ["door.txt"],
        "changed": ["ada.txt"],
        "unchanged": ["clock.txt"],
        "gone": ["bell.txt"],
    }
    assert preview(in_process, notes) == expected
    assert preview(in_process, notes) == expected
    report = json.loads(in_process("index", notes, "--prune", "--json").stdout)
    assert [report[name] for name in ("added", "changed", "unchanged", "pruned")] == [1, 1, 1, 1]


def test_files_that_only_a_pack_understands_are_told_until_it_is_enabled(
    in_process: Run, notes: Path
) -> None:
    (notes / "Papers.BIB").write_text("@article{a, title={The Clock}, author={Ada Morn}}\n")
    (notes / "todo.txt").write_text("(A) Oil the clock due:2026-05-04\n")
    (notes / "people.vcf").write_text("BEGIN:VCARD\nVERSION:3.0\nFN:Ada Morn\nEND:VCARD\n")
    said = in_process("index", notes).stderr
    assert "1 file was read as plain text; the pack papers knows its format" in said
    assert "2 files were read as plain text; the pack personal knows their format" in said
    assert "constitution" not in said

    (notes / "ada.txt").write_text("Another text.")
    report = json.loads(in_process("index", notes, "--pack", "papers", "--json").stdout)
    assert report["for_packs"] == {"personal": 2}
    assert "plain text" not in in_process("index", notes).stderr


def test_of_a_file_with_many_bad_records_some_are_listed(in_process: Run, notes: Path) -> None:
    (notes / "C#").mkdir()
    (notes / "C#" / "empty.pdf").write_bytes(b"%PDF-")
    events = "BEGIN:VEVENT\nUID:a\nEND:VEVENT\n" * 250
    (notes / "bad.ics").write_text(f"BEGIN:VCALENDAR\n{events}END:VCALENDAR\n")
    said = in_process("index", notes, "--pack", "personal").stdout
    assert said.count("no start") == 200
    assert "50 more of its records" in said
    assert said.count("malformed PDF") == 1

    (notes / "bad.ics").touch()
    report = json.loads(in_process("index", notes, "--retry", "--json").stdout)
    assert sum("no start" in item["reason"] for item in report["skipped"]) == 250


def test_empty_files_are_listed_and_no_failure(in_process: Run, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    for name, text in {"a.md": "", "b.txt": " \n\t", "c.html": "<script>1</script>"}.items():
        (folder / name).write_text(text)

    alone = in_process("index", "empty")
    (folder / "d.md").write_text("The mill stands.")
    beside = in_process("index", "empty")

    assert (alone.returncode, beside.returncode) == (0, 0)
    assert alone.stdout.startswith("0 added")
    assert beside.stdout.startswith("1 added")
    assert all(name in alone.stdout for name in ("a.md", "b.txt", "c.html"))


def test_a_file_that_moved_is_told_until_the_old_document_is_dropped(
    in_process: Run, notes: Path
) -> None:
    in_process("index", notes)
    (notes / "ada.txt").rename(notes / "lovelace.txt")
    done = in_process("index", notes)
    assert "lovelace.txt was notes/ada.txt, which is gone; --prune drops that" in done.stderr
    assert "which is gone" not in in_process("index", notes, "--prune").stderr
    documents = json.loads(in_process("documents", "--json").stdout)
    assert sorted(Path(d["source"]).name for d in documents) == [
        "bell.txt",
        "clock.txt",
        "lovelace.txt",
    ]
