"""`clew audit`: what was changed through tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.conftest import Library, Run


def test_changes_through_tools_are_listed_newest_first(in_process: Run, library: Library) -> None:
    store = ("--store", library.store)
    assert in_process("audit", *store).stdout == ""
    for title in ("\x1b[31mred", "blue"):
        given = json.dumps({"title": title, "text": "Edda Rowe cast a bell."})
        assert in_process("call", "ingest_document", given, *store).returncode == 0

    printed = in_process("audit", *store)
    entries = json.loads(in_process("audit", "--json", *store).stdout)["entries"]
    before = ("--cursor", str(entries[0]["id"]))
    older = json.loads(in_process("audit", "--json", *before, *store).stdout)["entries"]

    assert (printed.returncode, printed.stderr) == (0, "")
    assert printed.stdout.index("blue") < printed.stdout.index("red")
    assert "\x1b" not in printed.stdout
    assert "bell" not in printed.stdout
    assert [(e["tool"], e["subjects"]) for e in entries] == [
        ("ingest_document", {"title": "blue"}),
        ("ingest_document", {"title": "\x1b[31mred"}),
    ]
    assert older == entries[1:]
