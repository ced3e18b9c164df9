"""Indexing, importing, copying and backing up at the command line."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

import clew
from clew.testing.fakes import HashEmbedder
from tests.content import content
from tests.e2e.conftest import Library, Run

ON_A_FULL_DISK = """
set -e
mkdir {disk} && mount -t tmpfs -o size={size} tmpfs {disk} && cp -r {store} {disk}/store
cat /dev/zero > {disk}/rest 2> /dev/null || true
{clew} --store {disk}/store search "Who built the mill?" || true
{clew} --store {disk}/store delete {mill} || true
rm {disk}/rest
{clew} --store {disk}/store documents
{clew} --store {disk}/store check
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a file system of its own")
def test_a_full_disk_is_said_to_be_full(clew: Run, library: Library) -> None:
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    place = library.store.parent / "disk"
    command = shlex.join([sys.executable, "-m", "clew"])
    held = sum(file.stat().st_size for file in library.store.rglob("*") if file.is_file())
    script = ON_A_FULL_DISK.format(
        disk=place,
        size=held + 4_000_000,
        store=library.store,
        clew=command,
        mill=library.folder / "mill.md",
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    # Deleting needs room; searching does only where no process has left its index of the log.
    assert "the disk is full; free some space" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert "mill.md" in done.stdout
    assert "0 broken" in done.stdout


# --- `clew index`: what it says before and after it reads.


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
    assert "1 file is of a format that the pack papers is for" in said
    assert re.search(
        "2 files are of a format that the pack personal is for: `clew index … --pack personal`"
        " enables it for this store, its tools included. They find events .* people .* tasks",
        said,
    )
    assert "constitution" not in said

    (notes / "ada.txt").write_text("Another text.")
    report = json.loads(in_process("index", notes, "--pack", "papers", "--json").stdout)
    assert report["for_packs"] == {"personal": 2}
    assert "of a format" not in in_process("index", notes).stderr


def test_of_many_that_are_left_out_the_first_of_a_kind_are_named(
    in_process: Run, notes: Path
) -> None:
    (notes / "C#").mkdir()
    (notes / "C#" / "empty.pdf").write_bytes(b"%PDF-")
    events = "BEGIN:VEVENT\nUID:a\nEND:VEVENT\n" * 250
    (notes / "bad.ics").write_text(f"BEGIN:VCALENDAR\n{events}END:VCALENDAR\n")
    said = in_process("index", notes, "--pack", "personal").stdout
    assert said.count("no start") == 10
    assert "and 240 more; --json lists all" in said
    assert said.count("malformed PDF") == 1

    (notes / "bad.ics").touch()
    report = json.loads(in_process("index", notes, "--retry", "--json").stdout)
    assert sum("no start" in item["reason"] for item in report["skipped"]) == 250


def test_empty_files_are_no_failure_and_a_missing_one_makes_no_store(
    in_process: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    for name, text in {"a.md": "", "b.txt": " \n\t", "c.html": "<script>1</script>"}.items():
        (folder / name).write_text(text)

    assert (in_process("index", "nowhere").returncode, (tmp_path / ".clew").exists()) == (2, False)
    alone = in_process("index", "empty")
    (folder / "d.md").write_text("The mill stands.")
    beside = in_process("index", "empty")

    assert (alone.returncode, beside.returncode) == (0, 0)
    assert alone.stdout.startswith("0 added")
    assert beside.stdout.startswith("1 added")
    assert all(name in alone.stdout for name in ("a.md", "b.txt", "c.html"))


@pytest.mark.parametrize("files", [2, 10, 13])
def test_what_is_binary_and_what_is_gone_is_named(in_process: Run, notes: Path, files: int) -> None:
    for number in range(files):
        (notes / f"old{number:02}.txt").write_text(f"The clock number {number}.")
    done = in_process("index", notes, "--include", "*.txt", "--exclude", "ada*")
    assert done.stdout.startswith(f"{files + 2} added")
    for old in notes.glob("old*"):
        old.rename(notes / old.name.replace("old", "new")).write_bytes(b"\x00\x01")
    said = in_process("index", notes)
    assert f"{files} indexed files are no longer there: notes/old00.txt, notes/" in said.stderr
    for text, name in ((said.stdout, "new"), (said.stderr, "old")):
        assert len(set(re.findall(rf"{name}\d\d\.txt", text))) == min(files, 10)
        assert ("and 3 more" in text) == (files > 10)


def test_a_file_that_moved_is_told_until_the_old_document_is_dropped(
    in_process: Run, notes: Path
) -> None:
    in_process("index", notes)
    (notes / "ada.txt").rename(notes / "lovelace.txt")
    done = in_process("index", notes)
    assert "lovelace.txt was notes/ada.txt, which is gone; --prune drops that" in done.stderr
    assert "no longer there" not in done.stderr
    assert "which is gone" not in in_process("index", notes, "--prune").stderr
    documents = json.loads(in_process("documents", "--json").stdout)["documents"]
    assert sorted(Path(d["source"]).name for d in documents) == [
        "bell.txt",
        "clock.txt",
        "lovelace.txt",
    ]


# --- cli copies


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


def test_documents_of_other_settings_are_indexed_again(in_process: Run, library: Library) -> None:
    store = ("--store", library.store)
    same = in_process("reindex", "--json", *store)
    changed = in_process("reindex", *store, CLEW_SPLIT__CHUNK_TOKENS="40")

    assert json.loads(same.stdout) == {"documents": 0}
    assert (changed.returncode, changed.stdout) == (0, "4 documents indexed again\n")


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


# --- cli copying


# The command as it is, but slow, and with batches so small that there are many.
_SLOWLY = """
import sys, time
import clew.engine.maintenance as copying
from clew.cli import main
from clew.stores.store import StoreCopy

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
    assert lines[-1].endswith("both stores hold the same")
    report = json.loads(again.stdout)
    assert (again.returncode, report["written"], report["resumed"]) == (0, 0, False)
    assert report["source"] == [str(library.store), "default"]


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


# --- `clew index --watch` as a process: what changes is indexed, what vanishes is dropped.


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
        assert report(process) == {"added": 1, "changed": 0, "unchanged": 0, "pruned": 0}
        assert process.stderr is not None
        # From then on, nothing that happens is missed.
        assert any("Watching for changes" in line for line in process.stderr)
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


# --- `clew ui` as a person starts it: a real process, its address, and nobody else let in.


def test_the_address_lets_one_in_and_nobody_else(indexed: Library, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "clew", "--store", str(indexed.store), "ui", "--no-open"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ,
    )
    try:
        assert process.stderr is not None
        address = process.stderr.readline().split()[-1]
        with httpx2.Client(follow_redirects=True, timeout=60) as owner:
            home = owner.get(address)
            documents = owner.get(address.partition("?")[0] + "documents")
        with httpx2.Client(follow_redirects=True, timeout=60) as other:
            again = other.get(address)
            protocol = other.post(address.partition("/ui")[0] + "/mcp", json={})
    finally:
        process.kill()
        process.communicate()

    assert urlsplit(address).hostname == "127.0.0.1"
    assert "Ask your documents" in home.text
    assert "The Mill at Harrow Ford" in documents.text
    assert "Log in" in again.text
    assert protocol.status_code == 401


# --- `clew import`: another memory is taken over, once.


RECORDS = [
    {"type": "entity", "name": "Anna", "entityType": "person", "observations": ["Sings.", " "]},
    {"type": "entity", "name": "anna", "entityType": "dog", "observations": ["Paints."]},
    {"type": "entity", "name": "Rome", "entityType": "", "observations": []},
    {"type": "entity", "name": "?!", "entityType": "x", "observations": []},
    {"type": "relation", "from": "Anna", "to": "Rome", "relationType": "lives in"},
    {"type": "relation", "from": "Anna", "to": "Mars", "relationType": "lives in"},
    {"type": "relation", "from": "Anna", "to": "Rome", "relationType": "…"},
]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join([*map(json.dumps, RECORDS), "{"]) + "\n")
    return file


@pytest.fixture
def light_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of this process embed without a model."""
    monkeypatch.setattr("clew.engine.state.make_embedder", lambda settings: HashEmbedder())


@pytest.mark.usefixtures("light_embedder")
def test_a_memory_is_taken_over_once_and_what_cannot_be_is_told(
    in_process: Run, memory: Path, tmp_path: Path
) -> None:
    store = ("--store", tmp_path / "store", "--json")
    first = in_process("import", memory, *store)
    report = json.loads(first.stdout)
    again = json.loads(in_process("import", memory, *store).stdout)

    assert (first.returncode, first.stderr) == (1, "")
    counts = [
        [one[name] for name in ("entities", "observations", "relations")] for one in (report, again)
    ]
    assert counts == [[2, 2, 1], [0, 0, 0]]
    reasons = {item["source"]: item["reason"] for item in report["skipped"]}
    assert reasons.keys() == {f"memory.jsonl#{line}" for line in (1, 2, 4, 6, 7, 8)}
    assert reasons["memory.jsonl#1"] == "a blank observation"
    assert reasons["memory.jsonl#6"] == "names 'Mars', which is no entity"
    with clew.open(tmp_path / "store") as engine:
        (relation,) = engine.graph.relations("Anna")
        assert (relation.head, relation.relation, relation.tail) == ("Anna", "lives_in", "Rome")


@pytest.mark.usefixtures("light_embedder")
def test_a_table_names_what_was_left_out(in_process: Run, memory: Path) -> None:
    done = in_process("import", memory)
    assert done.stdout.startswith("2 entities, 2 observations, 1 relation new, 6 skipped\n")
    assert "memory.jsonl#8" in done.stdout
    assert "malformed JSON" in done.stdout


@pytest.mark.usefixtures("light_embedder")
def test_what_another_memory_knew_beside_is_kept(in_process: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        connection.executescript("""
            CREATE TABLE entities (id TEXT, name TEXT, type TEXT, content TEXT, tier TEXT,
                salience_score REAL);
            CREATE TABLE relations (id INT, from_entity_id TEXT, to_entity_id TEXT,
                relation_type TEXT, weight REAL, is_causal INT, context TEXT);
            INSERT INTO entities VALUES ('e1', 'Anna', 'person', 'keeps bees', 'core', 0.75),
                ('e2', 'Fog', 'event', '', 'minor', 0.1);
            INSERT INTO relations VALUES (7, 'e2', 'e1', 'delays', 0.4, 1, '{"seen": "often"}'),
                (8, 'e1', 'e2', 'fears', 0.5, 0, 'told at sea');
        """)
    assert in_process("import", "memory.db").returncode == 0
    (anna,) = json.loads(in_process("documents", "--where", "importance>=0.5", "--json").stdout)[
        "documents"
    ]
    assert anna["title"] == "Anna"
    assert (anna["metadata"]["imported_id"], anna["metadata"]["tier"]) == ("e1", "core")
    found = json.loads(in_process("search", "Who keeps bees?", "--json").stdout)
    assert found["results"][0]["metadata"]["title"] == "Anna"
    with clew.open() as engine:
        ids = [engine.entities.get(name).id for name in ("Anna", "Fog")]
        relations = {one.relation_type: one for one in engine.store.relations(ids)}
    assert (relations["delays"].is_causal, relations["delays"].weight) == (True, 0.4)
    assert relations["delays"].context == {"imported_id": 7, "seen": "often"}
    assert relations["fears"].context == {"imported_id": 8, "context": "told at sea"}
    assert not relations["fears"].is_causal
