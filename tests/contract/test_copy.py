from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from clew.engine.maintenance import copy, copy_store
from clew.errors import InputError, StoreError
from clew.settings import load_settings
from clew.stores.backend import CopyReport, Header, Mark, Table
from clew.stores.backend import WholeRow as Row
from clew.stores.communities import Communities
from clew.stores.sqlite.journal import SqliteAudit, SqliteJobs
from clew.stores.sqlite.store import SqliteStore, open_for_copying
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
    sqlite_copy,
    sqlite_store,
    tables_of,
)
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
