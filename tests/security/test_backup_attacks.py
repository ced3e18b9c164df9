"""Backups over HTTP stay in their namespace, and a file that was tampered with replaces nothing."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clew.engine import Engine
from clew.errors import StoreCorruptError, StoreError, StoreMismatchError
from clew.mcp.calls import Engines
from clew.operations.toolbox import OPERATIONS, make_toolbox
from clew.stores.sqlite.backup import attached, replace_content
from clew.stores.sqlite.store import SqliteStore
from tests.unit.mcp_tools import engine_in, settings_for
from tests.unit.test_mcp_access import ALICE, BOB, TOKENS, served

pytestmark = pytest.mark.anyio
MILL = "Jonas Reed built the mill at Harrow Ford."
BELL = "Edda Rowe cast the bell of Port Anselm."


@pytest.fixture
def mills(tmp_path: Path) -> Iterator[Engine]:
    with engine_in(tmp_path, "mills") as mills:
        mills.add(MILL, source="mill.md")
        yield mills


async def test_no_administrator_reads_anothers_backup(tmp_path: Path, mills: Engine) -> None:
    """By path, by name, by a way out of the folder, or by a file that somebody put there."""
    settings = settings_for(tmp_path, tokens=TOKENS, profile="full")
    with engine_in(tmp_path, "bells") as bells:
        bells.add(BELL, source="bell.md")
    with served(Engines(settings, OPERATIONS, mills)) as server:
        async with server.client(BOB[0]) as bob:
            made = await bob.call_tool("backup", {"name": "nightly"})
        theirs = tmp_path / "bells" / "backups" / "nightly.db"
        told = []
        async with server.client(ALICE[0]) as alice:
            for name in ("nightly", "../../bells/backups/nightly", str(theirs), "nightly.db"):
                result = await alice.call_tool("restore", {"name": name, "confirm": True})
                told.append(result)
            await alice.call_tool("backup", {"name": "own"})
            shutil.copy(theirs, tmp_path / "mills" / "backups" / "moved.db")
            moved = await alice.call_tool("restore", {"name": "moved", "confirm": True})
            own = await alice.call_tool("restore", {"name": "own", "confirm": True})
            elsewhere = await alice.call_tool("backup", {"name": "../../bells/backups/mine"})

    assert made.structured_content is not None
    assert set(made.structured_content) == {"success", "name", "bytes"}
    assert all(result.is_error for result in (*told, moved, elsewhere))
    assert "is of another store" in str(moved.content)
    assert str(tmp_path) not in str([*told, moved, elsewhere, own, made])
    assert own.structured_content == {"success": True, "name": "own", "documents": 1}
    assert [document.source for document in mills.documents.list()] == ["mill.md"]
    assert [path.name for path in theirs.parent.iterdir()] == ["nightly.db"]


def test_a_store_keeps_its_identity(tmp_path: Path, mills: Engine) -> None:
    mine = mills.store.identity()  # type: ignore[attr-defined]
    with engine_in(tmp_path, "bells") as bells:
        bells.add(BELL, source="bell.md")
        theirs = bells.store.identity()  # type: ignore[attr-defined]
        bells.maintenance.backup(tmp_path / "bells.db")
    with pytest.raises(StoreError, match="is of another store"):
        mills.maintenance.restore(tmp_path / "bells.db", own=True)
    assert [document.source for document in mills.documents.list()] == ["mill.md"]

    mills.maintenance.restore(tmp_path / "bells.db")  # by hand
    mills.maintenance.reindex()

    assert [document.source for document in mills.documents.list()] == ["bell.md"]
    assert len(mine) == 32
    assert mine != theirs
    assert mills.store.identity() == mine  # type: ignore[attr-defined]


# --- files that were tampered with

CHANGES = {
    "a trigger": "CREATE TRIGGER t AFTER UPDATE ON meta BEGIN DELETE FROM documents; END",
    "a view": "CREATE VIEW jobs_seen AS SELECT * FROM jobs",
    "a view in place of a table": (
        "DROP TABLE usage; CREATE VIEW usage AS SELECT 1 AS chunk_id, 2 AS uses, 3 AS last_used"
    ),
    "another table": "CREATE TABLE more (x)",
    "a column whose name is SQL": (
        'ALTER TABLE topics ADD COLUMN "x"") SELECT 1; DELETE FROM main.documents; --" TEXT'
    ),
    "a column less": "ALTER TABLE usage DROP COLUMN uses",
    "no table": "DROP TABLE usage",
    "an index less": "DROP INDEX documents_by_origin",
    "a version that is no number": "UPDATE meta SET value = 'x' WHERE name = 'schema_version'",
    "a negative version": "UPDATE meta SET value = -1 WHERE name = 'schema_version'",
    "no meta": "DROP TABLE meta",
    "a document without its text": "DELETE FROM sections",
    "another version": "UPDATE meta SET value = 2 WHERE name = 'schema_version'",
    "an earlier layout": "PRAGMA application_id = 0",
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_tampered_with_replaces_nothing(
    tmp_path: Path, mills: Engine, change: str
) -> None:
    file = tmp_path / "copy.db"
    mills.maintenance.backup(file)
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(CHANGES[change])
    mills.add(BELL, source="bell.md")
    before = mills.documents.list(), mills.documents.text("bell.md")
    is_older = change in ("another version", "an earlier layout")
    error: type[StoreError] = StoreMismatchError if is_older else StoreCorruptError
    message = "has schema version" if is_older else "take another backup"
    with pytest.raises(error, match=rf"copy\.db.*{message}"):
        mills.maintenance.restore(file)
    assert (mills.documents.list(), mills.documents.text("bell.md")) == before
    assert mills.maintenance.check().problems == ()


def test_a_damaged_page_replaces_nothing(tmp_path: Path, mills: Engine) -> None:
    """At every place of the file; what is not noticed must be what was written."""
    file = tmp_path / "copy.db"
    mills.maintenance.backup(file)
    whole, refused = file.read_bytes(), 0
    for at in range(100, len(whole), len(whole) // 40):
        file.write_bytes(whole[:at] + b"\xff" * 64 + whole[at + 64 :])
        try:
            mills.maintenance.restore(file)
        except StoreError:
            refused += 1
        assert [document.source for document in mills.documents.list()] == ["mill.md"]
    assert refused > 0
    for share in (0.0, 0.5, 0.9):
        file.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(StoreCorruptError, match=r"copy\.db.*take another backup"):
            mills.maintenance.restore(file)
    assert mills.maintenance.check().problems == ()


def test_a_column_of_a_copy_is_never_taken_for_sql(tmp_path: Path) -> None:
    """Where rows are copied, too, whoever looked at the schema before."""
    with (
        closing(SqliteStore(tmp_path / "a", embedder=("e", 3))) as store,
        closing(SqliteStore(tmp_path / "b", embedder=("e", 3))) as other,
    ):
        with other.database.write() as connection:
            connection.execute('ALTER TABLE topics ADD COLUMN "x"") SELECT 1; --" TEXT')
        with attached(store, tmp_path / "b" / "clew.db") as connection:
            replace_content(connection, kept=())

        assert store.check().problems == ()


def test_names_of_backups_stay_in_their_folder(tmp_path: Path) -> None:
    with engine_in(tmp_path, "mills") as engine:
        engine.add(MILL, source="mill.md")
        tools = make_toolbox(engine)
        before = sorted(tmp_path.rglob("*.db"))
        for name in ("..", "../x", "a/b", "a\\b", ".hidden", "a\n", "a\x00", "é", " ", "x" * 65):
            outcome = tools.call("backup", {"name": name})
            assert outcome.is_error, name
        assert sorted(tmp_path.rglob("*.db")) == before
        assert not tools.call("backup", {}).is_error
