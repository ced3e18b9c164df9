"""The store in SQLite alone, beside the suites of every store."""

from __future__ import annotations

import math
import os
import re
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.errors import (
    InputError,
    StoreBusyError,
    StoreError,
    StoreMismatchError,
)
from clew.stores.backend import Statement
from clew.stores.sqlite.journal import SqliteAudit
from clew.stores.sqlite.schema import SCHEMA_VERSION, make_tables
from clew.stores.sqlite.store import SqliteStore, open_journal
from clew.stores.statements.documents import CHUNKS_WITHIN, DESCRIBED, LANGUAGES, NAMED_CHUNKS
from clew.testing.conformance import EMBEDDER, make_entry
from clew.testing.fakes import HashEmbedder
from clew.types import Document, IndexedDocument, NewEntity, Period

# --- sqlite store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    folder = tmp_path / "store"
    with closing(SqliteStore(folder, busy_seconds=0.05, embedder=EMBEDDER)) as store:
        yield store


# --- opening -----------------------------------------------------------------------------


def test_a_store_remembers_its_embedder_and_opens_without_naming_one(store: SqliteStore) -> None:
    store.save(make_entry("a", "Text."))
    with closing(SqliteStore(store.folder)) as again:
        again.save(make_entry("b", "More."))
    assert [d.source for d in store.documents()] == ["a", "b"]
    with pytest.raises(
        StoreMismatchError, match=r"'test-embedder' \(8 .*'other' \(9 .*clew reindex"
    ):
        SqliteStore(store.folder, embedder=("other", 9))


def test_a_new_store_cannot_save_before_it_has_an_embedder(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path)) as store:
        with pytest.raises(StoreError, match=r"no embedder yet; open it with embedder=\(name"):
            store.save(make_entry("a", "Text."))
        assert store.statistics()["embedder"] is None


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE meta SET value = 99 WHERE name = 'schema_version'", "version 99, "),
        ("PRAGMA application_id = 0", "version 1 of an earlier layout, "),
    ],
)
def test_another_schema_is_refused_and_left_as_it_is(
    store: SqliteStore, change: str, found: str
) -> None:
    store.save(make_entry("a", "Text."))
    with closing(sqlite3.connect(store.folder / "clew.db", isolation_level=None)) as connection:
        connection.execute(change)
        before = list(connection.iterdump())
        with pytest.raises(StoreMismatchError, match=found) as refused:
            SqliteStore(store.folder)
        assert list(connection.iterdump()) == before
    for way in ("`clew index` into a new store", "`clew export`", "`clew import`"):
        assert way in str(refused.value)
    assert ("pip install --upgrade clew" in str(refused.value)) == ("99" in found)
    assert "\n" not in str(refused.value)


def test_a_store_whose_making_fails_is_made_by_the_next(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "clew.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA max_page_count = 20")
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="full"):
            make_tables(connection)
    with closing(SqliteStore(tmp_path, embedder=EMBEDDER)) as store:
        store.save(make_entry("a", "Text."))
        assert store.check().problems == ()


@pytest.mark.parametrize(
    ("statement", "values", "indexes"),
    [
        (LANGUAGES, {}, ["documents_by_language"]),
        (NAMED_CHUNKS, {"keys": "[]"}, ["documents_by_title", "documents_by_file"]),
        (DESCRIBED, {"type": "event", "since": "", "until": "~"}, ["documents_by_description"]),
        (
            CHUNKS_WITHIN,
            {"start": 0, "end": 1, "earliest": -1},
            ["chunk_times_by_start (start>? AND start<?)", "chunk_times_long (start<?)"],
        ),
    ],
)
def test_what_is_looked_up_is_not_scanned_for(
    store: SqliteStore, statement: Statement, values: dict[str, object], indexes: list[str]
) -> None:
    with store.database.read() as connection:
        rows = connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", values)
        plan = " ".join(row[3] for row in rows)
    assert all(index in plan for index in indexes)
    assert not re.search("SCAN (documents|chunk_times)(?! USING COVERING)", plan)


@pytest.mark.parametrize(
    ("put", "message"),
    [
        (Path.mkdir, "cannot be opened; check that its folder"),
        (
            lambda file: file.write_bytes(b"no database, but long" * 99),
            "`clew check`.*backup",
        ),
    ],
)
def test_a_path_that_holds_no_store_is_named(
    tmp_path: Path, put: Callable[[Path], object], message: str
) -> None:
    put(tmp_path / "clew.db")
    with pytest.raises(StoreError, match=message):
        SqliteStore(tmp_path)


def test_a_store_that_another_keeps_busy_names_the_setting(store: SqliteStore) -> None:
    other = sqlite3.connect(store.folder / "clew.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert store.documents() == []  # readers do not wait for a writer
    with pytest.raises(StoreBusyError, match=r"longer than 0\.05 s.*setting busy_seconds"):
        store.save(make_entry("a", "Text."))
    other.execute("ROLLBACK")
    other.close()
    store.save(make_entry("a", "Text."))


# --- saving ------------------------------------------------------------------------------


_SAID = make_entry("a", "Text.")
_TWO = replace(make_entry("a", "One.", "Two."), extraction=_SAID.extraction)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            replace(_SAID, vectors=np.zeros((1, 3), np.float32)),
            r"'a' have shape \(1, 3\)",
        ),
        (replace(_SAID, vectors=np.zeros((2, 8), np.float32)), r"\(2, 8\); expected \(1, 8\)"),
        (_TWO, "'a' has 1 chunks; expected 2"),
        (make_entry("a", "Text.", metadata={"x": math.nan}), "no JSON.*expected strings"),
        (make_entry("a", "Text.", metadata={"x": {1, 2}}), "metadata of 'a' is no JSON"),
        (make_entry("a\udc80", "Text."), r"'\\udc80', which is half a character"),
    ],
)
def test_what_does_not_fit_is_refused_and_named(
    store: SqliteStore, wrong: IndexedDocument, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        store.save(wrong)
    assert store.documents() == []


def test_a_batch_is_one_commit_of_which_each_save_is_whole(store: SqliteStore) -> None:
    other = SqliteStore(store.folder)

    def save_two() -> None:
        with store.batch():
            store.save(make_entry("a", "Vienna.", names=["Vienna"]))
            assert [a.key for a in store.aliases()] == ["vienna"]  # seen at once, here
            assert other.documents() == []  # but not elsewhere
            store.save(make_entry("c\ud800", "Paris.", names=["Paris"]))

    with pytest.raises(InputError, match="half a character"):
        save_two()
    assert [d.source for d in other.documents()] == ["a"]
    assert [a.key for a in other.aliases()] == ["vienna"]
    other.close()


def test_batches_do_not_nest_and_do_not_fit_into_a_reading(store: SqliteStore) -> None:
    for outer in (store.batch, store.reading):
        with outer(), pytest.raises(StoreError, match=r"leave `reading\(\)` or `batch\(\)` first"):
            store.batch().__enter__()
    store.save(make_entry("a", "Text."))


def test_statistics_and_digests_say_what_is_held(store: SqliteStore) -> None:
    names = ["Ann", "Bob", "Cleo"]
    relations = [("Ann", "met", "Bob"), ("Ann", "saw", "Bob")]
    entry = make_entry("a", "Ann met Bob. Ann!", names=names, relations=relations, origin="o/p")
    store.save(entry)
    store.save(make_entry("b", "Cleo.", names=names, valid_until=_year(2020)))
    store.retract([store.chunk_relations([1])[0].id])
    found = store.statistics()
    assert found.pop("bytes") > 0
    assert found == {
        "documents": 2,
        "sections": 2,
        "chunks": 2,
        "sentences": 3,
        "entities": 3,
        "aliases": 3,
        "mentions": 4,
        "relations": 2,
        "relations_ended": 1,
        "relation_types": {"met": 1, "saw": 1},
        "embedder": {"name": "test-embedder", "dimension": 8},
        "generation": 3,
    }
    found = {"a": ("o/p", entry.document.sha256, "", "")}
    assert [store.document_digests(["a"]), store.document_digests([], ["n", "o/"])] == [found] * 2
    assert store.document_digests([], ["p", "o/p"]) == {}


def test_threads_may_share_a_store_and_their_connections_are_let_go(store: SqliteStore) -> None:
    store.database.busy_seconds = 60

    def save(number: int) -> None:
        store.save(make_entry(f"{number}", "Vienna is here.", names=["Vienna"]))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(save, range(20)))
    (vienna,) = store.find_entities("Vienna")
    assert (vienna.mentions, vienna.documents) == (20, 20)
    with ThreadPoolExecutor(1) as threads:
        assert len(threads.submit(store.documents).result()) == 20
    assert len(store.database._connections) <= 2


def test_closing_waits_for_what_other_threads_are_at(store: SqliteStore) -> None:
    """Closing a connection that another thread works with would take the process with it."""
    store.save(make_entry("a", "Some text."))
    reading, closing = threading.Event(), threading.Event()

    def read() -> list[list[int]]:
        with store.reading():
            reading.set()
            closing.wait(10)
            return [store.chunk_ids().tolist() for _ in range(100)]

    with ThreadPoolExecutor(2) as threads:
        seen = threads.submit(read)
        reading.wait(10)
        closed = threads.submit(store.close)
        closing.set()
        closed.result(10)
    assert seen.result() == [[1]] * 100
    store.close()  # as often as one likes
    with pytest.raises(StoreError, match="is closed; open it again"):
        store.documents()


def test_passages_may_be_read_while_writing(store: SqliteStore) -> None:
    with store.batch():
        for i in range(1005):
            store.save(make_entry(f"{i}", f"Text {i}."))
    rows = store.passages()
    first = next(rows)
    store.delete([d.id for d in store.documents(origin="1004")])
    store.save(make_entry("late", "Late."))
    texts = [first.text, *(row.text for row in rows)]
    assert len(texts) == 1005
    assert texts[-1] == "Late."


# --- round trips -------------------------------------------------------------------------

_texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=25)
@given(
    paragraphs=st.lists(_texts, max_size=4),
    source=_texts,
    title=_texts,
    metadata=st.dictionaries(_texts, _json, max_size=3),
)
def test_what_is_stored_comes_back_equal(
    paragraphs: list[str], source: str, title: str, metadata: dict[str, object]
) -> None:
    entry = make_entry(source, *paragraphs, title=title, metadata=metadata)
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder), embedder=EMBEDDER)
        store.save(entry)
        (info,) = store.documents()
        assert (info.source, info.title, info.metadata) == (source, title, metadata)
        sections = store.document_sections(info.id)
        assert "".join(s.text for s in sections) == entry.document.text
        assert [c.text for c in store.document_chunks(info.id)] == paragraphs
        assert np.array_equal(store.embeddings()[1], entry.vectors)
        assert store.check().problems == ()
        store.close()


# --- sqlite times


def test_a_fraction_of_a_second_counts_whole(store: SqliteStore) -> None:
    start, second = datetime(1969, 12, 31, 23, 59, 58, tzinfo=UTC), timedelta(seconds=1)
    store.save(make_entry("a", "Text.", created_at=start + 0.7 * second))
    assert store.published_at([1]) == {1: start}
    assert store.chunk_times([1]) == {
        1: (Period(start=start, end=start + second, text="1969-12-31"),)
    }
    for since, until, found in [
        (start + 0.999 * second, None, [1]),
        (None, start + 0.001 * second, [1]),
        (start + second, None, []),
        (None, start, []),
    ]:
        assert store.chunks_within(Period(start=since, end=until)).tolist() == found


def test_periods_without_an_end_or_a_start_come_back_so(store: SqliteStore) -> None:
    store.save(make_entry("a", "Text."))
    rows = [(1, 0, -(2**63), 0, "before 1970"), (1, 0, 0, 2**63 - 1, "since 1970")]
    for row in rows:
        store.database.change("INSERT INTO chunk_times VALUES (?, ?, ?, ?, ?)", row)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    before = Period(start=None, end=epoch, text="before 1970")
    since = Period(start=epoch, end=None, text="since 1970")
    assert store.chunk_times([1]) == {1: (before, since)}
    for year in (1, 1969, 1970, 9999):
        day = datetime(year, 3, 1, tzinfo=UTC)
        assert store.chunks_within(Period(start=day, end=day + timedelta(days=1))).tolist() == [1]


# --- Ends of functional relations: the same in whatever order documents come, go and are
# declared.


Stated = tuple[str, str, int, int | None]
"""(person, city, from year, until year)"""

_facts = st.lists(
    st.tuples(
        st.sampled_from(["Anna", "Bob"]),
        st.sampled_from(["Paris", "Rome", "Oslo"]),
        st.integers(2000, 2006),
        st.none() | st.integers(2001, 2010),
    ),
    max_size=8,
)


def _year(number: int | None) -> datetime | None:
    return None if number is None else datetime(number, 1, 1, tzinfo=UTC)


def _entry(number: int, fact: Stated, kind: str = "lives_in") -> IndexedDocument:
    person, city, since, until = fact
    return make_entry(
        f"{number}",
        f"{person} is in {city}.",
        names=[person, city],
        relations=[(person, kind, city)],
        valid_from=_year(since),
        valid_until=_year(until),
    )


@settings(max_examples=25)
@given(data=st.data(), facts=_facts)
def test_documents_that_come_and_go_in_any_order_leave_the_right_ends(
    data: st.DataObject, facts: list[Stated]
) -> None:
    """A check derives every end again from all that is stated."""
    order, extra = data.draw(st.permutations(range(len(facts)))), data.draw(_facts)
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder), embedder=EMBEDDER, functional=("lives_in",))
        with store.batch():
            # Some of those in order replace one of the others.
            for number, fact in (*enumerate(extra), *((n, facts[n]) for n in order)):
                store.save(_entry(number, fact))
            store.delete([_entry(n, extra[n]).document.id for n in range(len(facts), len(extra))])
        assert store.check().problems == ()
        store.close()


def _shown(store: SqliteStore) -> list[int | None]:
    """The year in which each document's relation ends."""
    relations = store.chunk_relations(store.chunk_ids().tolist())
    return [relation.valid_until.year if relation.valid_until else None for relation in relations]


def test_what_is_functional_is_remembered_and_may_be_declared_anew(store: SqliteStore) -> None:
    store.declare_functional(["lives_in"])
    store.save(_entry(0, ("Anna", "Paris", 2000, None)))
    store.save(_entry(1, ("Anna", "Rome", 2004, None)))
    store.save(_entry(2, ("Anna", "Acme", 2001, None), "works_at"))
    store.save(_entry(3, ("Anna", "Zeta", 2003, 2009), "works_at"))
    assert _shown(store) == [2004, None, None, 2009]
    generation = store.generation()
    with closing(SqliteStore(store.folder, functional=["lives_in"])) as same:
        assert same.generation() == generation
    with closing(SqliteStore(store.folder)) as silent:
        silent.save(_entry(4, ("Anna", "Oslo", 2006, None)))
    assert _shown(store) == [2004, 2006, None, 2009, None]
    with closing(SqliteStore(store.folder, functional=["works_at"])) as other:
        assert other.generation() > generation + 1
    # The first store goes on by what was declared last: the rows never contradict each other.
    store.save(_entry(5, ("Anna", "Nova", 2008, None), "works_at"))
    assert _shown(store) == [None, None, 2003, 2008, None, None]


# --- Several documents are saved in one transaction, and what is refused takes none with it.


def test_documents_share_transactions(engine: clew.Clew) -> None:
    commits: list[str] = []
    engine.add("The first text brings up whatever is made once.")
    database = engine.state.store.backend.database  # type: ignore[attr-defined]
    with database.read() as connection:
        connection.set_trace_callback(lambda sql: commits.append(sql))
    report = engine.add_documents(
        Document(source=f"{i}", text=f"Ada Morn wrote letter {i} to Piet Oss.") for i in range(40)
    )
    with database.read() as connection:
        connection.set_trace_callback(None)
    assert report.added == 40
    assert sum(sql.startswith("BEGIN IMMEDIATE") for sql in commits) < 10


# --- What is older, or another store's, never takes the place of what is newer.


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
