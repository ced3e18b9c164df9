from __future__ import annotations

import json

from tests.e2e.conftest import Library, Run


def test_a_backup_is_written_once_and_restored(clew: Run, library: Library) -> None:
    store = ("--store", library.store)
    made = clew("backup", "copy.db", *store)
    again = clew("backup", "copy.db", *store)
    clew("delete", "mill.md", "--yes", *store)
    refused = clew("restore", "copy.db", *store)
    restored = clew("restore", "copy.db", "--yes", "--json", *store)

    assert (made.returncode, made.stdout.endswith("bytes written and checked\n")) == (0, True)
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    assert (refused.returncode, "3 documents would be replaced" in refused.stderr) == (2, True)
    assert json.loads(restored.stdout) == {"path": "copy.db", "documents": 4}
    assert clew("check", *store).returncode == 0
    assert "Jonas Reed" in clew("search", "Who built the mill?", *store).stdout


def test_what_is_no_backup_is_refused(clew: Run, library: Library) -> None:
    missing = clew("restore", "none.db", "--yes", "--store", library.store)
    wrong = clew("restore", library.folder / "mill.md", "--yes", "--store", library.store)

    assert (missing.returncode, wrong.returncode) == (2, 2)
    assert len(missing.stderr.splitlines()) == len(wrong.stderr.splitlines()) == 1
    assert clew("check", "--store", library.store).returncode == 0


def test_documents_of_other_settings_are_indexed_again(clew: Run, library: Library) -> None:
    store = ("--store", library.store)
    same = clew("reindex", "--json", *store)
    changed = clew("reindex", *store, CLEW_SPLIT__CHUNK_TOKENS="40")

    assert json.loads(same.stdout) == {"documents": 0, "error": "", "failed": []}
    assert (changed.returncode, changed.stdout) == (0, "4 documents indexed again\n")
