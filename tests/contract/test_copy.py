from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

import clew
from clew.engine.maintenance import copy, copy_store
from clew.errors import InputError, StoreError
from clew.settings import load_settings
from clew.stores.backend import CopyReport, Header, Mark, Place, Table
from clew.stores.backend import WholeRow as Row
from clew.stores.communities import Communities
from clew.stores.copy import StoreCopy
from clew.stores.sqlite.journal import SqliteAudit, SqliteJobs
from clew.stores.sqlite.store import SqliteStore, open_for_copying
from clew.stores.vectors.matrix import VectorMatrix
from clew.testing.entries import make_entry
from clew.testing.fakes import HashEmbedder
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


def test_every_row_of_every_table_of_the_file_is_copied(source: Path, tmp_path: Path) -> None:
    report = run(source, tmp_path / "target")
    before, after = tables_of(source), tables_of(tmp_path / "target")
    assert [name for name, rows in before.items() if not rows] == []  # each says something
    assert before == after
    assert report.written == sum(t.rows for t in report.tables) > 90
    assert not report.resumed


def test_the_copy_is_a_sound_store_that_answers_the_same(source: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "target")
    with sqlite_store(source) as old, sqlite_store(tmp_path / "target") as new:
        assert new.check().problems == ()
        assert_same_answers(old, new)
        found = [
            VectorMatrix(s, s.folder).search_vector(old.embeddings()[1][0], 5) for s in (old, new)
        ]
        assert [x.tolist() for x in found[0]] == [x.tolist() for x in found[1]]


def test_what_the_store_remembers_of_itself_is_copied(source: Path, tmp_path: Path) -> None:
    with sqlite_store(tmp_path / "target"):  # with the same embedder, and of a lower generation
        pass
    run(source, tmp_path / "target")
    with sqlite_copy(source) as old, sqlite_copy(tmp_path / "target") as new:
        before, after = old.header(), new.header()
    assert remembered(after) == remembered(before)
    assert (after.generation, after.mentions_version) == (
        before.generation + 1,
        before.mentions_version + 1,
    )
    # Up to date before, up to date afterwards: nothing has to be made again.
    assert (before.communities, after.communities) == (before.generation, after.generation)


def test_communities_that_were_out_of_date_still_are(source: Path, tmp_path: Path) -> None:
    with sqlite_store(source) as store:
        store.save(make_entry("more", "Text."))
    run(source, tmp_path / "target")
    with sqlite_store(tmp_path / "target") as store:
        keeper = Communities(store.backend)
        assert 0 <= keeper.generation() < store.generation()
        assert keeper.write(make_changes(keeper.generation(), store.generation()))


def test_an_empty_store_is_copied(tmp_path: Path) -> None:
    with sqlite_store(tmp_path / "source"):
        pass
    report = run(tmp_path / "source", tmp_path / "target")
    assert (report.written, {t.rows for t in report.tables}) == (0, {0})
    with sqlite_copy(tmp_path / "target") as target:
        assert target.mark() is None
        assert target.header().embedder == ("test-embedder", 8)


def test_questions_are_answered_the_same_from_another_namespace(tmp_path: Path) -> None:
    texts = {
        "tower": "The Tower of Vell was finished in 1820. Ada Morn built its great clock.",
        "morn": "Ada Morn came from Lisse. She was an apprentice of Piet Oss.",
        "oss": "Piet Oss kept a workshop by the canal for thirty years.",
    }
    question = "Whose apprentice built the clock of the Tower of Vell?"
    with clew.open(tmp_path / "a", embedder=HashEmbedder()) as engine:
        for name, text in texts.items():
            engine.add(text, source=name, title=name.title())
        wanted = {s: engine.search(question, strategy=s).hits for s in ("hybrid", "graph")}
    here, there = load_settings(store=tmp_path / "a"), load_settings(store=tmp_path / "b")
    copy(here, there.model_copy(update={"namespace": "other"}))
    with clew.open(tmp_path / "b", namespace="other", embedder=HashEmbedder()) as engine:
        assert {s: engine.search(question, strategy=s).hits for s in wanted} == wanted
        assert engine.maintenance.check().problems == ()


def test_jobs_and_the_audit_log_stay_where_they_are(source: Path, tmp_path: Path) -> None:
    with sqlite_store(source) as store:
        SqliteAudit(store.database).record("ann", "left", {})
    with sqlite_store(tmp_path / "target") as store:
        SqliteAudit(store.database).record("bob", "stays", {})
        job, _ = SqliteJobs(store.database).submit("read", {}, description="", lease_seconds=60)
    run(source, tmp_path / "target")
    with sqlite_store(tmp_path / "target") as store:
        entries = SqliteAudit(store.database).entries()
        assert [entry.tool for entry in entries] == ["stays"]
        assert SqliteJobs(store.database).job(job.id) is not None


def test_files_derived_from_what_was_there_are_gone(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    with sqlite_store(target) as store:
        store.save(make_entry("old", "Old text."))
        VectorMatrix(store, target).persist()
        store.delete([d.id for d in store.documents()])
    assert list(target.glob("vectors-*.arrays"))
    run(source, target)
    assert list(target.glob("*.arrays")) == []


# --- a copy once more ----------------------------------------------------------------------


def test_copying_twice_changes_nothing(source: Path, tmp_path: Path) -> None:
    first = run(source, tmp_path / "target")
    before = (tmp_path / "target" / "clew.db").read_bytes()
    second = run(source, tmp_path / "target")
    assert (second.written, second.tables) == (0, first.tables)
    assert (tmp_path / "target" / "clew.db").read_bytes() == before


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


def test_an_interrupted_copy_goes_on_where_it_was(source: Path, tmp_path: Path) -> None:
    interrupt(source, tmp_path / "target")
    report = run(source, tmp_path / "target")
    assert report.resumed
    assert 0 < report.written <= sum(t.rows for t in report.tables) - 40
    assert tables_of(tmp_path / "target") == tables_of(source)


def test_an_unfinished_copy_is_not_opened_as_a_store(source: Path, tmp_path: Path) -> None:
    interrupt(source, tmp_path / "target")
    expected = f"unfinished copy of .*clew copy --from {tmp_path} --to {tmp_path} --namespace sou"
    with pytest.raises(StoreError, match=expected):
        SqliteStore(tmp_path / "target")
    with (
        sqlite_copy(tmp_path / "target") as read,
        sqlite_copy(tmp_path / "third") as written,
        pytest.raises(InputError, match=r"is itself an unfinished copy of .*finish that first"),
    ):
        copy_store(read, written)


def test_a_source_that_changed_meanwhile_is_copied_anew(source: Path, tmp_path: Path) -> None:
    interrupt(source, tmp_path / "target")
    with sqlite_store(source) as store:
        store.delete([d.id for d in store.documents() if d.source == "diary.md"])
        store.save(make_entry("new", "Ada Morn came back.", names=["Ada Morn"]))
    report = run(source, tmp_path / "target")
    assert not report.resumed
    assert tables_of(tmp_path / "target") == tables_of(source)


def test_changes_that_no_generation_counts_are_copied(source: Path, tmp_path: Path) -> None:
    interrupt(source, tmp_path / "target", at=90)
    with sqlite_store(source) as store:
        store.record_use(store.chunk_ids().tolist(), day(2025))
    run(source, tmp_path / "target")
    assert tables_of(tmp_path / "target") == tables_of(source)


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


def test_a_store_that_holds_something_else_is_refused(source: Path, tmp_path: Path) -> None:
    with sqlite_store(tmp_path / "target") as store:
        store.save(make_entry("mine", "My text."))
    before = tables_of(tmp_path / "target")
    for anew in (False, True):
        with pytest.raises(InputError, match=r"holds something else already; .*--to-namespace"):
            run(source, tmp_path / "target", anew=anew)
    assert tables_of(tmp_path / "target") == before


def test_a_copy_that_was_changed_since_is_refused(source: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "target")
    with sqlite_store(tmp_path / "target") as store:
        store.record_use(store.chunk_ids().tolist(), day(2025))  # as many rows as before
    with pytest.raises(InputError, match="holds something else already"):
        run(source, tmp_path / "target")


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


def test_there_must_be_something_to_copy(tmp_path: Path) -> None:
    here, there = load_settings(store=tmp_path / "none"), load_settings(store=tmp_path / "b")
    with pytest.raises(InputError, match=r"there is no store '.*none' \(namespace 'default'\)"):
        copy(here, there)
    assert list(tmp_path.iterdir()) == []


def test_a_store_is_not_copied_onto_itself(source: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(InputError, match="cannot be copied onto itself"):
        run(source, tmp_path / "link" / "source")


def test_a_copy_that_has_not_begun_is_no_source(tmp_path: Path) -> None:
    open_for_copying(tmp_path / "source", make=True).close()  # as one that is killed there
    with pytest.raises(InputError, match=r"source.*was interrupted before it began"):
        run(tmp_path / "source", tmp_path / "target")


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


def test_a_place_is_named_the_same_however_it_is_reached(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    for folder in (source, Path("source"), Path("link/source")):
        with sqlite_copy(folder) as copied:
            assert copied.place == Place(str(tmp_path.resolve()), "source")
