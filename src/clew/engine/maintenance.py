"""Maintenance: figures, checks, copies, and making documents again.

What a single verb needs is imported inside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clew.derived_files import derived_files, remove_files
from clew.engine.state import EngineState
from clew.errors import InputError, NotFoundError, StoreError, check_several
from clew.ports import AuditEntry, LoggedReply
from clew.search.options import parse_hierarchy
from clew.stores.backend import SHAPES, CopyReport, Header, Key, Mark, Progress, Table, TableCopy
from clew.stores.backend import WholeRow as Row
from clew.stores.sqlite.journal import SqliteAudit
from clew.stores.state import Replies
from clew.types import CheckReport, Document, IndexedDocument, IndexReport, document_id
from clew.wiring import declare_functional, file_store, forget_undos, open_for_copying

if TYPE_CHECKING:
    from clew.hookspecs import Pack
    from clew.indexing.pipeline import IndexCounts
    from clew.indexing.processes import Prepared
    from clew.settings import Settings
    from clew.stores.sqlite.backup import Staging
    from clew.stores.sqlite.store import SqliteStore
    from clew.stores.store import StoreCopy


class Maintenance:
    """The store as a whole."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    def stats(self) -> dict[str, Any]:
        """Counts of everything in the store, its embedder, its size on disk, its vector index.

        Example:
            >>> stats = store.maintenance.stats()
            >>> stats["documents"], stats["chunks"]
            (3, 3)
        """
        state = self._state
        return {**state.store.statistics(), "vectors": state.vector_index.state()}

    def language_model(self) -> dict[str, Any]:
        """Requests to language models that the store keeps, in figures, by task too.

        Example:
            >>> store.maintenance.language_model()["requests"]
            0
        """
        return model_statistics(Replies(self._state.store.backend).entries())

    def language_model_failures(self) -> list[LoggedReply]:
        """Requests to language models that failed, the latest first.

        Example:
            >>> store.maintenance.language_model_failures()
            []
        """
        return [e for e in Replies(self._state.store.backend).entries() if e.reason]

    def check(self, repair: bool = False, *, progress: Progress | None = None) -> CheckReport:
        """Verify every invariant of the store; with `repair`, mend what is derived.

        `progress` is called with each invariant, its number from 0, and how many there are.

        Example:
            >>> store.maintenance.check().problems
            ()
        """
        return self._state.store.check(repair=repair, progress=progress)

    def export(
        self, format: Literal["graphml", "jsonl"], *, mentions: bool = False
    ) -> Iterator[str]:
        """The store as pieces of text: the graph as GraphML, or everything as JSON Lines.

        With `mentions`, GraphML has the terms of which nothing is stated, too.

        Example:
            >>> pieces = store.maintenance.export("graphml")
            >>> "".join(pieces)[:38]
            '<?xml version="1.0" encoding="UTF-8"?>'
        """
        from clew.graph.export import export

        return export(self._state.store, format, mentions=mentions)

    def audit(self, *, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """What was changed through tools, by whom: entries below the id `before`, newest first.

        Example:
            >>> store.maintenance.audit()
            []
        """
        return SqliteAudit(self._state.journal).entries(before=before, limit=limit)

    def outdated(self) -> list[str]:
        """Sources of the documents that were made with other settings or another model, sorted.

        Example:
            >>> store.maintenance.outdated()
            []
        """
        return Reindexing(self._state, _ignore).outdated()

    def reindex(self, *, progress: Progress | None = None) -> IndexReport:
        """Split, embed and extract again what was made with other settings or another model.

        It is built beside the store and switched to at once; what is written meanwhile is kept.
        Cut short, it goes on where it was when called again. `changed` of the report counts the
        documents switched to, the rest what this call did for it.

        A store on a server is changed document by document, and raises `InputError` for another
        model.

        Example:
            >>> store.maintenance.reindex().changed
            0
        """
        started = time.perf_counter()
        made = Reindexing(self._state, progress or _ignore).run()
        if made.documents:
            self._state.persist()
        return IndexReport(
            changed=made.documents,
            chunks=made.chunks,
            seconds=time.perf_counter() - started,
            embedding_seconds=made.embedding_seconds,
        )

    def reprocess(self, sources: Sequence[str], *, progress: Progress | None = None) -> None:
        """Do a part of the work of `reindex`, which is still to be called: make some documents.

        Documents that were deleted need nothing.

        Example:
            >>> store.maintenance.reprocess(store.maintenance.outdated())
        """
        check_several(sources=sources)
        Reindexing(self._state, progress or _ignore).make(sources)

    def backup(self, path: str | Path, *, progress: Progress | None = None) -> int:
        """Write the store as it is now to a new file and check that file; its bytes.

        `progress` is called with the pages written, then with the invariants checked. Raises
        `InputError` where there is such a file already, and for a store on a server.

        Example:
            >>> store.maintenance.backup("monday.db") > 0
            True
        """
        from clew.stores.sqlite.backup import back_up

        return back_up(self._file_store(), Path(path).expanduser(), progress)

    def restore(self, path: str | Path, *, own: bool = False) -> None:
        """Put a backup's content in place of the store's; jobs and the audit log stay.

        Raises `StoreError` for a backup that is not sound, of another embedder or, with `own`, of
        another store; then nothing has changed. Raises `InputError` for a store on a server.

        Example:
            >>> _ = store.maintenance.backup("monday.db")
            >>> _ = store.delete(["clock"])
            >>> store.maintenance.restore("monday.db")
            >>> "clock" in store
            True
        """
        from clew.stores.sqlite.backup import restore

        with self._state.writing:
            restore(self._file_store(), Path(path).expanduser(), own=own)

    def vacuum(self) -> None:
        """Write the store's file anew, without any trace of what was deleted.

        Raises `InputError` for a store on a server.

        Example:
            >>> _ = store.delete(["clock"])
            >>> store.maintenance.vacuum()
        """
        store = self._file_store()
        store.backend.database.vacuum()
        # Made again from what is left when they are needed.
        remove_files(derived_files(store.folder))

    def _file_store(self) -> SqliteStore:
        store = file_store(self._state.store)
        if store is not None:
            return store
        place = str(self._state.settings.store)
        raise InputError(
            f"backup and restore are for a store in a folder, not for {place!r};"
            " use the server's own backup, or `clew copy` to and from a folder"
        )


def _ignore(step: str, done: int, total: int | None) -> None:
    """Takes progress where nobody asked for it."""


# Copying a whole store to another place: in batches, resumable, compared at the end.


_ROWS = 1000
_ROWS_WITH_VECTORS = 250
_DIGEST_BYTES = 16


def copy(
    source: Settings, target: Settings, *, anew: bool = False, progress: Progress | None = None
) -> CopyReport:
    """Copy the store of one settings' namespace to that of the other's; see `copy_store`."""
    with (
        closing(open_for_copying(source, make=False)) as read,
        closing(open_for_copying(target, make=True)) as written,
    ):
        report = copy_store(read, written, anew=anew, progress=progress)
        if report.written or report.resumed:
            forget_undos(target)
    return report


def copy_store(
    source: StoreCopy,
    target: StoreCopy,
    *,
    anew: bool = False,
    progress: Progress | None = None,
) -> CopyReport:
    """Make an empty target the same as the source; go on where an earlier copy was interrupted.

    A target that is the same already is left as it is. `anew` throws away what an unfinished copy
    left there. The source is read as it is at the beginning; at the end both are read back.

    Raises `InputError` for a target that holds anything else, and `StoreError` where what was
    written is not what is read; then the target stays an unfinished copy.
    """
    started = time.monotonic()
    say = progress or (lambda step, done, total: None)
    with source.backend.reading():
        tables, written, resumed = _Copying(source, target, say).run(anew=anew)
    return CopyReport(
        source=source.place,
        target=target.place,
        tables=tables,
        written=written,
        resumed=resumed,
        seconds=time.monotonic() - started,
    )


@dataclass(frozen=True, slots=True)
class _Copying:
    """One copy, within one state of its source."""

    source: StoreCopy
    target: StoreCopy
    say: Progress

    def run(self, *, anew: bool) -> tuple[tuple[TableCopy, ...], int, bool]:
        """The tables of both, the rows written now, and whether a copy was resumed."""
        self._refuse_places()
        header, mark, held = self.source.header(), self.target.mark(), self._generation()
        if mark is None and _count(self.target):
            return self._same_already(header), 0, False
        resumed = mark is not None and not anew and self._goes_on(mark, header)
        mark = mark if mark and resumed else self._begin(header, held)
        written, mark = self._write(mark)
        tables, differing = self._compare()
        if differing and resumed and self._generation() == mark.held:
            # What no generation counts, such as uses, changed since the copy was interrupted.
            resumed = False
            written, mark = self._write(self._begin(header, mark.held))
            tables, differing = self._compare()
        if differing:
            raise StoreError(
                f"the tables {', '.join(differing)} of {self.target.place} are not those of"
                f" {self.source.place}: something else wrote to them, or a disk failed; throw away"
                " what was written with --anew, or copy to another place"
            )
        self.target.finish(mark, header)
        return tables, written, resumed

    def _generation(self) -> int:
        """The target's, which copying leaves alone: whoever else writes changes it."""
        return self.target.generation()

    # --- may it be written to

    def _refuse_places(self) -> None:
        source, mark = self.source.place, self.source.mark()
        if source == self.target.place:
            raise InputError(
                f"the store {source} cannot be copied onto itself; give another place with --to, or"
                " another name there with --to-namespace"
            )
        if not self.source.begun:
            raise InputError(
                f"the store {source} is itself a copy, which was interrupted before it began;"
                " repeat that first"
            )
        if mark is not None:
            raise InputError(
                f"the store {source} is itself an unfinished copy of {mark.source}; finish that"
                " first, or copy from there"
            )

    def _same_already(self, header: Header) -> tuple[TableCopy, ...]:
        """The tables of a target that is whole; it has to be the same."""
        tables: tuple[TableCopy, ...] = ()
        alike = self.target.header().embedder == header.embedder and all(
            self.source.backend.count_rows(table) == self.target.backend.count_rows(table)
            for table in SHAPES
        )
        if alike:
            tables, differing = self._compare()
            alike = not differing
        if not alike:
            raise InputError(
                f"the store {self.target.place} holds something else already; copy to another"
                " place, or to another name there with --to-namespace"
            )
        return tables

    def _goes_on(self, mark: Mark, header: Header) -> bool:
        """Whether an unfinished copy is worth going on with; where not, it begins again."""
        if mark.source != self.source.place:
            raise InputError(
                f"the store {self.target.place} is an unfinished copy of another one,"
                f" {mark.source}; go on with that one, or throw it away with --anew"
            )
        if self._generation() != mark.held:
            raise InputError(
                f"something else wrote to the store {self.target.place} while it was an unfinished"
                " copy; throw both away with --anew, or copy to another place"
            )
        return mark.generation == header.generation and mark.after is not None

    # --- writing

    def _begin(self, header: Header, held: int) -> Mark:
        first = next(iter(SHAPES))
        source, generation = self.source.place, header.generation
        mark = Mark(source=source, generation=generation, held=held, table=first, after=None)
        self.target.begin(mark, header)
        return mark

    def _write(self, mark: Mark) -> tuple[int, Mark]:
        """Write all rows after the mark; how many they were, and the last mark."""
        total, there = _count(self.source), _count(self.target)
        written = 0
        self.say("copy", there, total)
        tables = list(SHAPES)
        for table in tables[tables.index(mark.table) :]:
            first = mark.after if table == mark.table else None
            for rows in _pages(self.source, table, first):
                after = replace(mark, table=table, after=SHAPES[table].key_of(rows[-1]))
                self.target.write_rows(table, rows, before=mark, after=after)
                mark, written = after, written + len(rows)
                self.say("copy", there + written, total)
        return written, mark

    # --- comparing

    def _compare(self) -> tuple[tuple[TableCopy, ...], list[Table]]:
        """The source's tables, and the names of those that are others in the target."""
        done, total = 0, _count(self.source) + _count(self.target)
        tables: list[TableCopy] = []
        differing: list[Table] = []

        def advance(rows: int) -> None:
            nonlocal done
            done += rows
            self.say("check", done, total)

        for table in SHAPES:
            tables.append(digest(self.source, table, advance))
            if digest(self.target, table, advance) != tables[-1]:
                differing.append(table)
        return tuple(tables), differing


def digest(store: StoreCopy, table: Table, advance: Callable[[int], None]) -> TableCopy:
    """Count and hash of a table's rows as they are read; calls `advance` for each batch.

    The hash is the sum of the rows' hashes: back ends may order texts in different ways.
    """
    rows = total = 0
    for page in _pages(store, table, None):
        for row in page:
            text = repr([row[name] for name in SHAPES[table].columns])
            total += int.from_bytes(blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest())
        rows += len(page)
        advance(len(page))
    width = 2 * _DIGEST_BYTES
    return TableCopy(name=table, rows=rows, digest=f"{total % 16**width:0{width}x}")


def _pages(source: StoreCopy, table: Table, after: Key | None) -> Iterator[list[Row]]:
    """The rows of a table after a key, in batches."""
    limit = _ROWS_WITH_VECTORS if table == "chunks" else _ROWS
    while rows := source.backend.read_rows(table, after, limit):
        yield rows
        after = SHAPES[table].key_of(rows[-1])


def _count(store: StoreCopy) -> int:
    return sum(store.backend.count_rows(table) for table in SHAPES)


# Indexing again what was made with other settings or another model.
#
# Where the store is a file, nobody sees any of it before the end. The steps of indexing and of
# switching are imported inside the functions: opening a store needs none of them.


MAKE = "reindex"
"""The step that makes documents again."""
WAIT = "wait for another process that reindexes"
SWITCH = "switch"
"""The step that puts them in their places; others may have to wait for the store in it."""
_PATIENT = 3
"""Attempts at switching that let others write; after these, others wait."""


@dataclass(frozen=True, slots=True)
class Reindexing:
    """Making documents again, and putting them in the place of what they were."""

    state: EngineState
    progress: Progress

    def outdated(self) -> list[str]:
        """Sources of the documents that were made with other settings or another model, sorted."""
        digests = self.state.store.document_digests()
        wanted, every = self.state.ingest.pipeline_fingerprint, self._holds_other_vectors()
        return sorted(s for s, (_, _, stored, _) in digests.items() if every or stored != wanted)

    def run(self) -> IndexCounts:
        """Make all that is outdated; `documents` are those put in their places."""
        store = file_store(self.state.store)
        if store is None:
            return self._make_in_place(self.outdated())
        return self._build_and_switch(store)

    def make(self, sources: Sequence[str]) -> None:
        """Make some documents; those that were deleted need nothing."""
        store = file_store(self.state.store)
        if store is None:
            self._make_in_place(sources)
            return
        with self._staging(store) as staging:
            self._make_beside(store, staging, [document_id(source) for source in sources])

    # --- beside a store that is a file

    def _build_and_switch(self, store: SqliteStore) -> IndexCounts:
        from clew.indexing.pipeline import IndexCounts
        from clew.stores.sqlite.backup import is_switched, switch

        made, attempts = IndexCounts(), 0
        with self._staging(store) as staging:
            while not is_switched(store.database, staging.target):
                more = self._make_beside(store, staging)
                made.chunks += more.chunks
                made.embedding_seconds += more.embedding_seconds
                attempts += 1
                switched = switch(
                    store,
                    staging,
                    self._links_in,
                    lambda done, total: self.progress(SWITCH, done, total),
                    directly=attempts > _PATIENT,
                )
                made.documents += switched or 0
            staging.remove()
        return made

    def _staging(self, store: SqliteStore) -> AbstractContextManager[Staging]:
        from clew.stores.sqlite.backup import Target, open_staging

        store.database.require_writable()
        embedder = self.state.embedder
        target = Target(
            pipeline_fingerprint=self.state.ingest.pipeline_fingerprint,
            embedder=embedder.name,
            dimension=embedder.dimension,
        )
        busy_seconds = self.state.settings.busy_seconds
        return open_staging(
            store.folder, target, busy_seconds, lambda: self.progress(WAIT, 0, None)
        )

    def _make_beside(
        self, store: SqliteStore, staging: Staging, ids: Sequence[str] | None = None
    ) -> IndexCounts:
        """Make what is not ready, of the documents given or of all."""
        from clew.stores.sqlite.backup import read_outdated

        old = read_outdated(store.database, staging.target, ids)
        missing = staging.missing(old)
        written: dict[str, str] = {}
        count = _Count(self.progress, len(old) - len(missing), len(old))
        return self.state.ingest.run(
            self._read_again(missing, written, count),
            count,
            keep=lambda entry: staging.put(entry, written[entry.document.id]),
        )

    def _links_in(self, store: SqliteStore) -> Callable[[IndexedDocument], IndexedDocument]:
        # Names are looked up in the store that is written.
        return self.state.make_ingest(store).linked

    # --- within a store on a server

    def _make_in_place(self, sources: Sequence[str]) -> IndexCounts:
        state = self.state
        if self._holds_other_vectors():
            raise InputError(
                f"the store {str(state.settings.store)!r} cannot change to the model"
                f" {state.embedder.name!r} document by document; choose that of its embedder,"
                f" {state.store.embedder()!r}, or index into another namespace (--namespace NAME)"
            )
        known = state.store.documents(ids=[document_id(source) for source in sources])
        ids = [
            info.id
            for info in known
            if info.pipeline_fingerprint != state.ingest.pipeline_fingerprint
        ]
        count = _Count(self.progress, len(known) - len(ids), len(known))
        return state.ingest.run(self._read_again(ids, {}, count), count, state.writing)

    # --- both

    def _holds_other_vectors(self) -> bool:
        embedder = self.state.embedder
        return self.state.store.embedder() not in (None, (embedder.name, embedder.dimension))

    def _read_again(
        self, ids: Sequence[str], written: dict[str, str], count: _Count
    ) -> Iterator[Prepared]:
        """The documents of those that are still there; `written` learns when each was written."""
        from clew.indexing.pipeline import prepare_again

        store, settings, runner = self.state.store, self.state.settings, self.state.ingest.runner
        for id_ in ids:
            for info in store.documents(ids=[id_]):
                written[info.id] = info.indexed_at.isoformat()
                prepared = prepare_again(store, info, settings, runner, count.show)
                if prepared is not None:
                    yield prepared


class _Count:
    """Counts the documents that are done: one more each time it is called."""

    def __init__(self, progress: Progress, done: int, total: int) -> None:
        self._progress = progress
        self._done = done
        self._total = total
        self.show()

    def __call__(self, _: Document) -> None:
        self._done += 1
        self.show()

    def show(self) -> None:
        """Report the count; the function that is called may end the work."""
        self._progress(MAKE, self._done, self._total)


# Packs of a store: which there are, which are enabled, and enabling them.


class Packs:
    """What a domain adds to a store; see docs/packs.md."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    def enabled(self) -> list[str]:
        """Names of those that are enabled, in the order in which they were.

        Example:
            >>> store.packs.enable("papers")
            >>> store.packs.enabled()
            ['papers']
        """
        return list(self._state.store.packs())

    def get(self, name: str) -> Pack:
        """A pack by its name. Raises `NotFoundError`, `InputError`.

        Example:
            >>> store.packs.get("papers").name
            'papers'
        """
        from clew.packs import load

        return load(name, self._state.settings.packs.folders)

    def enable(self, name: str) -> None:
        """Enable a pack for the store, in every process.

        What was indexed before is read again by the next run of `index`, and by `reindex`. Raises
        `NotFoundError`, `InputError` for a pack whose declaration cannot have an effect.

        Example:
            >>> store.packs.enable("papers")
            >>> store.packs.enabled()
            ['papers']
        """
        _check(self.get(name))
        names = self.enabled()
        if name not in names:
            self._set([*names, name])

    def disable(self, name: str) -> None:
        """Take a pack back. Raises `NotFoundError` where it is not enabled.

        Example:
            >>> store.packs.enable("papers")
            >>> store.packs.disable("papers")
            >>> store.packs.enabled()
            []
        """
        names = self.enabled()
        if name not in names:
            known = ", ".join(names) or "none"
            raise NotFoundError(f"the pack {name!r} is not enabled; enabled: {known}")
        self._set([one for one in names if one != name])

    def _set(self, names: list[str]) -> None:
        state = self._state
        with state.writing:
            state.store.set_packs(names)
        declare_functional(state.settings, state.store)


def _check(pack: Pack) -> None:
    """Raise `InputError` for a pack that declares what the engine does not know."""
    from clew.search.pipeline import known_strategies
    from clew.search.route import RULES

    kinds = (*RULES, "fact")
    for what, given, known in (
        ("kind of question", pack.strategies, kinds),
        ("strategy", pack.strategies.values(), known_strategies()),
        ("task of a prompt", pack.prompts, ("extract",)),
    ):
        for one in given:
            if one not in known:
                raise InputError(
                    f"the pack {pack.name!r} declares the unknown {what} {one!r}; expected one of"
                    f" {', '.join(known)}"
                )
    for hierarchy in pack.hierarchies:
        parse_hierarchy(hierarchy)


# What language models were asked so far, in figures.


def model_statistics(entries: Sequence[LoggedReply]) -> dict[str, Any]:
    """Figures of all requests that the store keeps, and of each task.

    A request asked again takes the place of the earlier one; `cache_hits` counts those that did not
    have to be asked again.
    """
    tasks = sorted({entry.task for entry in entries})
    return {
        **_figures(entries),
        "tasks": {task: _figures([e for e in entries if e.task == task]) for task in tasks},
    }


def _figures(entries: Sequence[LoggedReply]) -> dict[str, Any]:
    """Seconds and rates are those of the requests that were answered."""
    done = [entry for entry in entries if not entry.reason]
    seconds = [entry.seconds for entry in done]
    costs = [entry.cost for entry in entries if entry.cost is not None]
    written = sum(entry.usage.output_tokens for entry in done)
    p50, p95 = np.percentile(seconds, [50, 95]).round(3).tolist() if seconds else (None, None)
    return {
        "requests": len(entries),
        "failures": len(entries) - len(done),
        "cache_hits": sum(entry.hits for entry in entries),
        "input_tokens": sum(entry.usage.input_tokens for entry in entries),
        "cached_tokens": sum(entry.usage.cached_tokens for entry in entries),
        "output_tokens": sum(entry.usage.output_tokens for entry in entries),
        "cost": sum(costs) if costs else None,
        "tokens_per_second": round(written / sum(seconds), 1) if sum(seconds) else None,
        "p50_seconds": p50,
        "p95_seconds": p95,
    }
