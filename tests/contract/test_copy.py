"""A store is copied whole: a sound store with the same rows and answers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from neo4j import GraphDatabase

from clew.engine.maintenance import copy, copy_store
from clew.errors import InputError, StoreError, StoreMismatchError
from clew.plugins.neo4j.backend import page_query
from clew.plugins.neo4j.connection import SCHEMA_VERSION
from clew.settings import Neo4jSettings, load_settings
from clew.stores.backend import SHAPES, CopyReport, Header, Mark, Table
from clew.stores.backend import WholeRow as Row
from clew.stores.communities import Communities
from clew.stores.sqlite.journal import SqliteAudit, SqliteJobs
from clew.stores.sqlite.store import SqliteStore, open_for_copying, open_journal
from clew.stores.store import StoreCopy
from clew.stores.vectors import VectorMatrix
from clew.testing.conformance import make_entry
from tests.contract.copies import (
    Interrupted,
    assert_same_answers,
    day,
    fill,
    interrupt_at,
    remembered,
    rows_of,
    sqlite_copy,
    sqlite_store,
    tables_of,
)
from tests.contract.neo4j_stores import Place, new_place
from tests.contract.suites.communities import make_changes


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The folder of a store that holds something of everything."""
    with sqlite_store(tmp_path / "source") as store:
        fill(store, Communities(store.backend))
        assert store.check().problems == ()
    return tmp_path / "source"


def run(source: Path, target: Path, *, anew: bool = False) -> CopyReport:
    with sqlite_copy(source, make=False) as read, sqlite_copy(target) as written:
        return copy_store(read, written, anew=anew)


def interrupt(source: Path, target: Path, *, at: int = 40) -> None:
    """Leave an unfinished copy."""
    with (
        sqlite_copy(source) as read,
        sqlite_copy(target) as written,
        pytest.raises(Interrupted),
    ):
        copy_store(read, written, progress=interrupt_at(at))


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.engine.maintenance._ROWS", 4)
    monkeypatch.setattr("clew.engine.maintenance._ROWS_WITH_VECTORS", 3)


# --- what is copied ------------------------------------------------------------------------


def test_a_copy_is_a_sound_store_with_the_same_rows_and_answers(
    source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    with sqlite_store(target) as store:  # with the same embedder, and of a lower generation
        store.save(make_entry("old", "Old text."))
        VectorMatrix(store, target).persist()
        store.delete([d.id for d in store.documents()])
    report = run(source, target)
    before, after = tables_of(source), tables_of(target)
    assert [name for name, rows in before.items() if not rows] == []  # each says something
    del before["sqlite_sequence"], after["sqlite_sequence"]
    assert before == after
    assert report.written == sum(t.rows for t in report.tables) > 90
    assert not report.resumed
    assert list(target.glob("*.arrays")) == []  # derived from what was there
    with sqlite_store(source) as old, sqlite_store(target) as new:
        assert new.check().problems == ()
        assert_same_answers(old, new)
    with sqlite_copy(source) as read, sqlite_copy(target) as written:
        old_header, new_header = read.header(), written.header()
    assert remembered(new_header) == remembered(old_header)
    # Up to date before, up to date afterwards: nothing has to be made again.
    generation = old_header.generation + 1
    assert old_header.communities == old_header.generation
    assert (new_header.generation, new_header.communities) == (generation, generation)
    assert new_header.mentions_version == old_header.mentions_version + 1

    file = (target / "clew.db").read_bytes()
    second = run(source, target)
    assert (second.written, second.tables) == (0, report.tables)
    assert (target / "clew.db").read_bytes() == file


def test_communities_that_were_out_of_date_still_are(source: Path, tmp_path: Path) -> None:
    with sqlite_store(source) as store:
        store.save(make_entry("more", "Text."))
    run(source, tmp_path / "target")
    with sqlite_store(tmp_path / "target") as store:
        keeper = Communities(store.backend)
        assert 0 <= keeper.generation() < store.generation()
        assert keeper.write(make_changes(keeper.generation(), store.generation()))


# --- a copy once more ----------------------------------------------------------------------


def test_jobs_and_the_audit_log_stay_where_they_are(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    for folder, caller in ((source, "left"), (target, "stays")):
        with sqlite_store(folder) as store:
            SqliteAudit(store.database).record(caller, "delete", {})
            SqliteJobs(store.database).submit(caller, {}, description="", lease_seconds=60)
    run(source, target)
    with sqlite_store(target) as store:
        assert [entry.caller for entry in SqliteAudit(store.database).entries()] == ["stays"]
        assert [job.kind for job in SqliteJobs(store.database).jobs()] == ["stays"]


def test_of_two_copies_at_once_one_goes_on(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"

    def overtake(step: str, done: int, total: int | None) -> None:
        if step == "copy" and done >= 20 and not others:
            others.append(run(source, target))

    others: list[CopyReport] = []
    with (
        sqlite_copy(source) as read,
        sqlite_copy(target) as written,
        pytest.raises(StoreError, match=r"another process copies into the store .* finish"),
    ):
        copy_store(read, written, progress=overtake)
    assert others[0].resumed
    assert tables_of(target) == tables_of(source)


# --- interrupted ---------------------------------------------------------------------------


def _nothing(store: SqliteStore) -> None:
    pass


def _other_texts(store: SqliteStore) -> None:
    store.delete([d.id for d in store.documents() if d.source == "diary.md"])
    store.save(make_entry("new", "Ada Morn came back.", names=["Ada Morn"]))


def _use(store: SqliteStore) -> None:
    store.record_use(store.chunk_ids().tolist(), day(2025))  # which no generation counts


@pytest.mark.parametrize(
    ("at", "change", "resumed"), [(40, _nothing, True), (40, _other_texts, False), (90, _use, None)]
)
def test_an_interrupted_copy_goes_on_where_it_was_unless_its_source_changed(
    source: Path,
    tmp_path: Path,
    at: int,
    change: Callable[[SqliteStore], None],
    resumed: bool | None,
) -> None:
    interrupt(source, tmp_path / "target", at=at)
    with sqlite_store(source) as store:
        change(store)
    report = run(source, tmp_path / "target")
    assert report.resumed is resumed or resumed is None
    assert (report.written <= sum(t.rows for t in report.tables) - 40) is report.resumed
    assert tables_of(tmp_path / "target") == tables_of(source)


def test_an_unfinished_copy_is_not_opened_as_a_store(source: Path, tmp_path: Path) -> None:
    interrupt(source, tmp_path / "target")
    expected = f"unfinished copy of .*clew copy --from {tmp_path} --to {tmp_path} --namespace sou"
    with pytest.raises(StoreError, match=expected):
        SqliteStore(tmp_path / "target")
    with pytest.raises(InputError, match=r"is itself an unfinished copy of .*finish that first"):
        run(tmp_path / "target", tmp_path / "third")


def test_the_source_is_copied_as_it_was_at_the_beginning(source: Path, tmp_path: Path) -> None:
    before = tables_of(source)
    with sqlite_store(source) as store:

        def write(step: str, done: int, total: int | None) -> None:
            store.save(make_entry(f"{step} {done}", f"Written at {done}."))

        with sqlite_copy(source) as read, sqlite_copy(tmp_path / "target") as written:
            copy_store(read, written, progress=write)
        assert len(store.documents()) > len(before["documents"])
    assert tables_of(tmp_path / "target") == before


# --- refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(("copied", "change"), [(False, _other_texts), (True, _use)])
def test_a_store_that_holds_something_else_is_refused(
    source: Path, tmp_path: Path, copied: bool, change: Callable[[SqliteStore], None]
) -> None:
    target = tmp_path / "target"
    if copied:
        run(source, target)
    with sqlite_store(target) as store:
        change(store)
    before = tables_of(target)
    for anew in (False, True):
        with pytest.raises(InputError, match=r"holds something else already; .*--to-namespace"):
            run(source, target, anew=anew)
    assert tables_of(target) == before


def test_an_unfinished_copy_of_another_store_is_refused(source: Path, tmp_path: Path) -> None:
    with sqlite_store(tmp_path / "second") as store:
        store.save(make_entry("b", "Text."))
    interrupt(source, tmp_path / "target")
    with pytest.raises(InputError, match=r"of another one, .*namespace 'source'.*--anew"):
        run(tmp_path / "second", tmp_path / "target")
    assert not run(tmp_path / "second", tmp_path / "target", anew=True).resumed
    wanted, found = tables_of(tmp_path / "second"), tables_of(tmp_path / "target")
    for tables in (wanted, found):
        del tables["sqlite_sequence"]  # ids that were thrown away are not given again either
    assert found == wanted


def test_what_others_wrote_meanwhile_is_not_thrown_away(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    with sqlite_store(target) as early:  # open before the copy, as a server would be
        interrupt(source, target)
        early.save(make_entry("theirs", "Their text."))
        with pytest.raises(InputError, match=r"something else wrote to the store .*--anew"):
            run(source, target)
        assert [d.source for d in early.documents(origin="theirs")] == ["theirs"]
    run(source, target, anew=True)
    assert tables_of(target) == tables_of(source)


def test_what_cannot_be_copied_is_refused(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = load_settings(store=tmp_path / "none"), load_settings(store=tmp_path / "b")
    with pytest.raises(InputError, match=r"there is no store '.*none' \(namespace 'default'\)"):
        copy(here, there)
    assert [path.name for path in tmp_path.iterdir()] == ["source"]

    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    for same in (tmp_path / "link" / "source", Path("source")):
        with pytest.raises(InputError, match="cannot be copied onto itself"):
            run(source, same)
    open_for_copying(tmp_path / "begun", make=True).close()  # as one that is killed there
    with pytest.raises(InputError, match=r"begun.*was interrupted before it began"):
        run(tmp_path / "begun", tmp_path / "target")


class Overtaken(StoreCopy):
    """Somebody copies another store to the target at the last moment."""

    def begin(self, mark: Mark, header: Header) -> None:
        theirs = self.backend.folder.parent / "theirs"
        with sqlite_store(theirs) as store:
            store.save(make_entry("theirs", "Their text."))
        run(theirs, self.backend.folder)
        super().begin(mark, header)


def test_what_is_written_at_the_last_moment_is_not_thrown_away(
    source: Path, tmp_path: Path
) -> None:
    with (
        sqlite_copy(source) as read,
        closing(Overtaken(open_for_copying(tmp_path / "target", make=True))) as written,
        pytest.raises(StoreError, match="something else has just written"),
    ):
        copy_store(read, written)
    with sqlite_store(tmp_path / "target") as store:
        assert [d.source for d in store.documents()] == ["theirs"]


class Forgetful(StoreCopy):
    """Loses a row of one table."""

    loses: Table

    def write_rows(self, table: Table, rows: Sequence[Row], *, before: Mark, after: Mark) -> None:
        kept = rows[1:] if table == self.loses else rows
        super().write_rows(table, kept, before=before, after=after)


@pytest.mark.parametrize("table", ["times", "rules", "extraction_log", "partition"])
def test_a_row_that_is_lost_is_told(source: Path, tmp_path: Path, table: Table) -> None:
    target = Forgetful(open_for_copying(tmp_path / "target", make=True))
    target.loses = table
    with (
        sqlite_copy(source) as read,
        closing(target),
        pytest.raises(StoreError, match=f"the tables {table} of .*--anew"),
    ):
        copy_store(read, target)
    with pytest.raises(StoreError, match="unfinished copy"):
        SqliteStore(tmp_path / "target")


# --- To and from a real Neo4j server.


_PROCESS = """
import json, sys, time
from pathlib import Path
import clew.engine.maintenance as copying
from clew.settings import Neo4jSettings
from clew.stores.store import StoreCopy
from clew.plugins.neo4j import store as on_server
from clew.stores.sqlite import store as in_file

copying._ROWS = copying._ROWS_WITH_VECTORS = 3

def progress(step, done, total):
    print(step, done, flush=True)

folder, address, namespace, local, waits = sys.argv[1:]
settings = Neo4jSettings.model_validate(json.load(sys.stdin))
source = StoreCopy(in_file.open_for_copying(Path(folder)))
backend = on_server.open_backend(address, settings, namespace, Path(local), make=True)
print("opened", flush=True)
if waits == "waits":
    time.sleep(600)
copying.copy_store(source, StoreCopy(backend), progress=progress)
"""


@pytest.fixture(scope="module")
def neo4j_made(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Place]:
    with new_place(neo4j_address, neo4j_settings) as place:
        yield place


@pytest.fixture
def place(neo4j_made: Place) -> Iterator[Place]:
    """An empty namespace on the server."""
    try:
        yield neo4j_made
    finally:
        neo4j_made.empty()


def to_server(source: Path, place: Place) -> CopyReport:
    with sqlite_copy(source) as read, place.copy(source.parent / "here") as written:
        return copy_store(read, written)


def from_server(place: Place, target: Path) -> CopyReport:
    with (
        place.copy(target.parent / "here", make=False) as read,
        sqlite_copy(target) as written,
    ):
        return copy_store(read, written)


def test_there_and_back_is_equal(place: Place, source: Path, tmp_path: Path) -> None:
    there = to_server(source, place)
    back = from_server(place, tmp_path / "back")
    assert there.tables == back.tables
    assert tables_of(tmp_path / "back") == tables_of(source)
    with sqlite_copy(source) as old, place.copy(tmp_path / "here") as new:
        assert rows_of(new) == rows_of(old)
        assert remembered(new.header()) == remembered(old.header())
        assert new.header().communities == new.header().generation > old.header().generation
    with sqlite_store(source) as first, sqlite_store(tmp_path / "back") as last:
        assert_same_answers(first, last)
        assert last.check().problems == ()


def test_the_copy_on_the_server_answers_the_same_and_goes_on_the_same_way(
    place: Place, source: Path, tmp_path: Path
) -> None:
    to_server(source, place)
    with sqlite_store(source) as old, place.store(tmp_path / "here") as new:
        assert_same_answers(old, new)
        before, after = Communities(old.backend), Communities(new.backend)
        assert after.communities() == before.communities()
        assert after.report_bases() == before.report_bases()
        assert after.topics() == before.topics()
        assert after.topic_chunks([1, 2, 3]).tolist() == before.topic_chunks([1, 2, 3]).tolist()
        for store in (old, new):
            store.save(make_entry("more", "Gil Ruud met Ada Morn.", names=["Gil Ruud", "Ada Morn"]))
            store.delete([d.id for d in store.documents() if d.source == "letter 2021"])
        assert new.check().problems == ()
        assert new.chunk_ids().tolist() == old.chunk_ids().tolist()
        assert new.aliases() == old.aliases()


def kill_copy(source: Path, place: Place, local: Path, *, lines: int) -> None:
    """Copy in a process that is killed after so many batches; with 0, before it begins."""
    login = {"user": place.settings.user, "password": place.settings.password.get_secret_value()}
    command = [str(source), place.address, place.namespace, str(local), "" if lines else "waits"]
    with subprocess.Popen(
        [sys.executable, "-c", _PROCESS, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(login))
        process.stdin.close()
        assert process.stdout.readline() == "opened\n"
        for _ in range(lines):
            assert process.stdout.readline().startswith("copy")
        process.send_signal(signal.SIGKILL)


def test_killed_before_it_began_the_target_says_that_it_is_unfinished(
    place: Place, source: Path, tmp_path: Path
) -> None:
    kill_copy(source, place, tmp_path / "here", lines=0)
    with (
        pytest.raises(StoreError, match="a copy that was interrupted before it began; repeat"),
        place.store(tmp_path / "here"),
    ):
        pass
    assert to_server(source, place).written > 90
    with place.store(tmp_path / "here") as store:
        assert store.check().problems == ()


def test_killed_in_the_middle_it_is_no_store_and_goes_on_where_it_was(
    place: Place, source: Path, tmp_path: Path
) -> None:
    for lines in (5, 9):
        kill_copy(source, place, tmp_path / "here", lines=lines)
    unfinished = r"is an unfinished copy of .*finish it with `clew copy"
    with pytest.raises(StoreError, match=unfinished), place.store(tmp_path / "here"):
        pass
    report = to_server(source, place)
    assert report.resumed
    assert 0 < report.written < sum(table.rows for table in report.tables)
    with sqlite_copy(source) as old, place.copy(tmp_path / "here") as new:
        assert rows_of(new) == rows_of(old)


def test_there_must_be_something_to_copy(place: Place, tmp_path: Path) -> None:
    place.empty()
    with pytest.raises(InputError, match=r"there is no store .*--namespace"):
        from_server(place, tmp_path / "target")


def test_who_writes_to_a_server_waits_while_it_is_read(
    place: Place, source: Path, tmp_path: Path
) -> None:
    to_server(source, place)
    with (
        place.store(tmp_path / "there") as store,
        place.copy(tmp_path / "here") as read,
        sqlite_copy(tmp_path / "target") as written,
    ):
        writer = Thread(target=store.save, args=[make_entry("more", "Text.")])
        waiting = []

        def write(step: str, done: int, total: int | None) -> None:
            if writer.ident is None:
                writer.start()
            waiting.append(writer.is_alive())

        copy_store(read, written, progress=write)
        assert all(waiting)
        writer.join()
        assert [d.source for d in store.documents(origin="more")] == ["more"]
    assert tables_of(tmp_path / "target") == tables_of(source)


def test_settings_name_the_places(place: Place, source: Path, tmp_path: Path) -> None:
    logs_in = {"neo4j": {**place.settings.model_dump(), "local": tmp_path / "local"}}
    here = load_settings(store=source.parent, namespace=source.name, **logs_in)
    there = load_settings(store=place.address, namespace=place.namespace, **logs_in)
    edited = {"entity_id": 1, "was": {"name": "Bo", "entity_type": "person"}}
    kept = []
    # What is the same already stays as it is, with its ways back.
    for is_new in (True, False):
        with closing(open_journal(there.folder, 1)) as journal:
            log = SqliteAudit(journal)
            log.keep_undo(log.record("local", "edit_entity", {}), edited)
        assert (copy(here, there).written > 90) == is_new
        with closing(open_journal(there.folder, 1)) as journal:
            kept.append([entry.undo is not None for entry in SqliteAudit(journal).entries()])
    assert kept == [[False], [True, False]]
    assert copy(there, here).written == 0


def test_a_page_is_read_in_the_order_of_an_index(place: Place, source: Path) -> None:
    to_server(source, place)
    password = place.settings.password.get_secret_value()
    auth = (place.settings.user, password) if password else None
    with GraphDatabase.driver(place.address, auth=auth) as driver:
        for table, first in product(SHAPES.keys() - {"rules", "partition"}, (True, False)):
            after = None if first else (1,) * len(SHAPES[table].key)
            done = driver.execute_query(
                f"EXPLAIN {page_query(table, after)}", namespace=place.namespace, key=after, limit=9
            )
            steps = _steps(done.summary.plan or {})
            assert any("IndexSeek" in step for step in steps), (table, steps)
            assert not {"Top", "Sort"} & set(steps) or table == "aliases", (table, steps)
            assert not any("Scan" in step for step in steps), (table, steps)


def _steps(plan: dict[str, Any]) -> list[str]:
    below = [step for child in plan.get("children", ()) for step in _steps(child)]
    return [plan["operatorType"].partition("@")[0], *below]


def test_a_process_of_an_older_version_writes_nothing_into_a_newer_schema(
    place: Place, tmp_path: Path
) -> None:
    def move(by: int) -> None:
        with place.database() as newer:
            query = "MATCH (v:ClewSchema) SET v.version = v.version + $by"
            newer.write(lambda: newer.rows(query, by=by))

    one, two = make_entry("one", "Ada Morn sings."), make_entry("two", "Brida Kall sails.")
    refused = rf"{SCHEMA_VERSION + 1}.*{SCHEMA_VERSION}.*another version of Clew"
    with place.store(tmp_path) as store:
        store.save(one)
        move(1)
        try:
            for saving in (nullcontext(), store.batch(), store.beside_others(1)):
                with pytest.raises(StoreMismatchError, match=refused), saving:
                    store.save(two)
        finally:
            move(-1)
        assert [document.source for document in store.documents()] == ["one"]
        store.save(two)
        assert len(store.documents()) == 2
