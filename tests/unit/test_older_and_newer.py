"""What is older, or another store's, never takes the place of what is newer."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.errors import StoreError, StoreMismatchError
from clew.stores.sqlite.journal import SqliteAudit
from clew.stores.sqlite.schema import SCHEMA_VERSION
from clew.stores.sqlite.store import open_journal
from clew.testing.fakes import HashEmbedder
from clew.types import NewEntity

T = datetime(2025, 1, 1, tzinfo=UTC)


def open_store(folder: Path) -> clew.Clew:
    return clew.open(folder, embedder=HashEmbedder())


def file_of(engine: clew.Clew) -> Path:
    return engine.store.folder / "clew.db"


def put_in_place(backup: Path, file: Path) -> None:
    """As an administrator does who knows nothing of the process that has the file open."""
    for ending in ("-wal", "-shm"):
        file.with_name(file.name + ending).unlink(missing_ok=True)
    os.replace(backup, file)


# --- the file at the path


@pytest.mark.parametrize("kind", ["another store", "a backup", "removed", "moved away"])
def test_nothing_is_acknowledged_that_is_not_in_the_file_at_the_path(
    kind: str, tmp_path: Path
) -> None:
    with open_store(tmp_path / "other") as other:
        other.add("Piet Oss built the tower.", source="other")
        other.maintenance.backup(tmp_path / "other.db")
    with open_store(tmp_path / "store") as engine:
        engine.add("Ada Morn repairs clocks.", source="one")
        engine.maintenance.backup(tmp_path / "own.db")
        file = file_of(engine)
        ways: dict[str, Callable[[], object]] = {
            "another store": lambda: put_in_place(tmp_path / "other.db", file),
            "a backup": lambda: put_in_place(tmp_path / "own.db", file),
            "removed": file.unlink,
            "moved away": lambda: file.rename(tmp_path / "away.db"),
        }
        ways[kind]()
        with pytest.raises(StoreError, match="replaced or removed"):
            engine.add("Brida Kall sails.", source="two")
        with pytest.raises(StoreError, match="replaced or removed"):
            engine.documents.list()
    if kind in ("another store", "a backup"):
        for derived in tmp_path.glob("store/default/*.arrays"):
            derived.unlink()
        with open_store(tmp_path / "store") as engine:
            held = {document.source for document in engine.documents.list()}
            assert held == ({"other"} if kind == "another store" else {"one"})
            assert engine.maintenance.check().problems == ()


def test_a_file_that_is_replaced_within_a_transaction_takes_no_acknowledged_write(
    tmp_path: Path,
) -> None:
    with open_store(tmp_path / "store") as engine:
        engine.add("Ada Morn repairs clocks.", source="one")
        engine.maintenance.backup(tmp_path / "own.db")
        database = engine.state.journal

        def write() -> None:
            with database.write() as writing:
                writing.execute("INSERT INTO meta VALUES ('mark', 1)")
                put_in_place(tmp_path / "own.db", file_of(engine))

        with pytest.raises(StoreError, match="replaced or removed"):
            write()


def test_a_process_of_an_older_version_writes_nothing_into_a_newer_schema(tmp_path: Path) -> None:
    def raise_schema(by: int) -> None:
        with closing(sqlite3.connect(file_of(engine))) as newer, newer:
            newer.execute("UPDATE meta SET value = value + ? WHERE name = 'schema_version'", (by,))

    with open_store(tmp_path / "store") as engine:
        engine.add("Ada Morn repairs clocks.", source="one")
        raise_schema(1)
        with pytest.raises(StoreMismatchError, match=rf"{SCHEMA_VERSION + 1}.*{SCHEMA_VERSION}"):
            engine.add("Brida Kall sails.", source="two")
        raise_schema(-1)
        assert [document.source for document in engine.documents.list()] == ["one"]


# --- ways back


def test_after_a_restore_no_way_back_leads_to_another_entity(tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as engine:
        engine.store.add_entities([NewEntity(name="Ada", entity_type="person")])
        engine.maintenance.backup(tmp_path / "early.db")
        engine.store.add_entities([NewEntity(name="Bo", entity_type="person")])
        number = engine.entities.get("Bo").id
        done = engine.tools.call("edit_entity", {"entity_id": number, "name": "Bob"})
        assert not done.is_error
        (entry, *_) = SqliteAudit(engine.state.journal).entries()
        assert (entry.tool, entry.undo is None) == ("edit_entity", False)
        engine.maintenance.restore(tmp_path / "early.db")
        # Another store's content has another entity under that number.
        with closing(sqlite3.connect(file_of(engine))) as connection:
            connection.execute(
                "UPDATE sqlite_sequence SET seq = ? WHERE name = 'entities'", (number - 1,)
            )
            connection.commit()
        engine.store.add_entities([NewEntity(name="Cy", entity_type="person")])
        assert engine.entities.get("Cy").id == number
        undone = engine.tools.call("undo_change", {"entry_id": entry.id})
        assert undone.is_error
        assert "cannot be" in str(undone.content)
        assert engine.entities.get("Cy").id == number


def test_a_call_that_a_restore_overtakes_leaves_no_way_back(tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as engine:
        engine.add("Ada Morn repairs clocks.", source="one")
        engine.maintenance.backup(tmp_path / "early.db")
        log = SqliteAudit(engine.state.journal)
        entry = log.record("ann", "edit_entity", {})
        engine.maintenance.restore(tmp_path / "early.db")
        log.keep_undo(entry, {"entity_id": 1, "was": {"name": "Bo", "entity_type": "person"}})
        assert log.entries()[0].undo is None


# --- the age of the audit log


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteAudit]:
    database = open_journal(tmp_path_factory.mktemp("journal"), 5.0)
    yield SqliteAudit(database)
    database.close()


def fill(log: SqliteAudit, days: list[int], now: datetime) -> None:
    with log._database.write() as connection:
        connection.execute("DELETE FROM audit")
        connection.executemany(
            "INSERT INTO audit (recorded_at, caller, tool, subjects) VALUES (?, 'a', 't', '{}')",
            [((now - timedelta(days=day)).isoformat(),) for day in days],
        )


@given(
    days=st.lists(st.integers(0, 60), max_size=40).map(lambda days: sorted(days, reverse=True)),
    kept=st.integers(1, 30),
    ahead=st.integers(0, 500),
)
def test_whatever_the_clock_says_as_many_days_of_entries_stay(
    log: SqliteAudit, days: list[int], kept: int, ahead: int
) -> None:
    """`ahead`: the clock jumped by so many days after the last entry."""
    now = datetime.now(UTC)
    fill(log, [day + ahead for day in days], now)
    log.forget(now - timedelta(days=kept))
    left = {round((now - entry.recorded_at) / timedelta(days=1)) for entry in log.entries()}
    newest = sorted({day + ahead for day in days})[:kept]
    wanted = {day + ahead for day in days if day + ahead < kept} | set(newest)
    assert left >= set(newest), "the last days on which there are entries"
    # An entry of the very hour of the edge may go or stay.
    assert left <= wanted | {kept}
