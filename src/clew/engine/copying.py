"""Copying a whole store to another place: in batches, resumable, compared at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from clew.errors import InputError, StoreError
from clew.ports.copying import SHAPES, CopyReport, Mark, Table, TableCopy
from clew.wiring import forget_undos, open_for_copying

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.engine.state import Progress
    from clew.ports.copying import Header, Key, Row
    from clew.settings import Settings
    from clew.stores.copy import StoreCopy

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
    with source.reading():
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
        if mark is None and not _is_empty(self.target):
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
        return self.target.header().generation

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
            self.source.count_rows(table) == self.target.count_rows(table) for table in SHAPES
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
        total += sum(_row_hash(table, row) for row in page)
        rows += len(page)
        advance(len(page))
    width = 2 * _DIGEST_BYTES
    return TableCopy(name=table, rows=rows, digest=f"{total % 16**width:0{width}x}")


def _row_hash(table: Table, row: Row) -> int:
    text = repr([row[name] for name in SHAPES[table].columns])
    return int.from_bytes(blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest())


def _pages(source: StoreCopy, table: Table, after: Key | None) -> Iterator[list[Row]]:
    """The rows of a table after a key, in batches."""
    limit = _ROWS_WITH_VECTORS if table == "chunks" else _ROWS
    while rows := source.read_rows(table, after, limit):
        yield rows
        after = SHAPES[table].key_of(rows[-1])


def _count(store: StoreCopy) -> int:
    return sum(store.count_rows(table) for table in SHAPES)


def _is_empty(store: StoreCopy) -> bool:
    return not any(store.count_rows(table) for table in SHAPES)
