"""Copying a store out of and into a namespace of Neo4j, row by row; see `ports.copying`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from clew.derived_files import derived_files, remove_files
from clew.errors import InputError
from clew.ports.copying import Header, Key, Mark, Place, Row, Table
from clew.stores.copy_marks import (
    built_in_copy,
    copied_twice,
    mark_from_text,
    mark_to_text,
    written_meanwhile,
)
from clew.stores.neo4j.backend import Neo4jBackend
from clew.stores.neo4j.communities_write import write_state
from clew.stores.neo4j.connection import Neo4jDatabase
from clew.stores.neo4j.copy_rows import count_rows, delete_rows, read_rows, write_rows
from clew.stores.neo4j.schema import define_vectors, migrate
from clew.stores.neo4j.tables import COUNTERS

if TYPE_CHECKING:
    from clew.settings import Neo4jSettings

_SECONDS = 3600.0
"""How long reading a store may take; who writes waits as long as its own settings let it."""
_STORE = """
MATCH (s:ClewStore {namespace: $namespace})
OPTIONAL MATCH (p:ClewPartition {namespace: $namespace})
RETURN properties(s), p.built
"""
_MARK = "MATCH (s:ClewStore {namespace: $namespace}) RETURN s.copying"
_BEGIN = """
MATCH (s:ClewStore {namespace: $namespace}) WHERE s.generation = $held
SET s.copying = $mark RETURN s.namespace
"""
_MOVE_MARK = """
MATCH (s:ClewStore {namespace: $namespace}) WHERE s.copying = $before
SET s.copying = $after RETURN s.namespace
"""
_SET = "MATCH (s:ClewStore {namespace: $namespace}) SET s += $values"


class Neo4jCopy:
    """`ports.copying.CopyTarget`, and thereby `CopySource`, on a namespace of Neo4j."""

    def __init__(
        self,
        address: str,
        settings: Neo4jSettings,
        namespace: str,
        folder: Path,
        *,
        make: bool = False,
    ) -> None:
        """Open a store; with `make`, one is made where there is none.

        `folder` is on this machine and holds what is derived. Raises `InputError` where there is
        none, else what `Neo4jStore` raises.
        """
        self._place = Place(address, namespace)
        self._folder = folder
        patient = settings.model_copy(
            update={"query_seconds": max(settings.query_seconds, _SECONDS)}
        )
        self._database = Neo4jDatabase(address, patient, namespace)
        try:
            self._database.connect()
            if not make and not self._database.rows(_MARK):
                raise InputError(
                    f"there is no store {self._place}; give the one to copy with --from and"
                    " --namespace"
                )
            migrate(self._database)
        except BaseException:
            self._database.close()
            raise

    @property
    def place(self) -> Place:
        """See `ports.copying.CopySource`."""
        return self._place

    def reading(self) -> AbstractContextManager[None]:
        """See `ports.copying.CopySource`; others wait with writing until the end."""
        return self._database.reading()

    def close(self) -> None:
        """See `ports.copying.CopySource`."""
        self._database.close()

    # --- reading

    def mark(self) -> Mark | None:
        """See `ports.copying.CopySource`."""
        return mark_from_text(read_mark(self._database))

    def header(self) -> Header:
        """See `ports.copying.CopySource`."""
        store, built = self._database.rows(_STORE)[0]
        name = store.get("embedder")
        return Header(
            embedder=None if name is None else (str(name), int(store["dimension"])),
            functional=tuple(json.loads(store.get("functional") or "[]")),
            generation=int(store["generation"]),
            epoch=int(store["epoch"]),
            communities=-1 if built is None else int(built),
            next_ids={table: int(store[counter]) for table, counter in COUNTERS.items()},
        )

    def count_rows(self, table: Table) -> int:
        """See `ports.copying.CopySource`."""
        return count_rows(self._database, table)

    def read_rows(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        """See `ports.copying.CopySource`."""
        return read_rows(self._database, table, after, limit)

    # --- writing

    def begin(self, mark: Mark, header: Header) -> None:
        """See `ports.copying.CopyTarget`; in more than one transaction, the mark first."""
        values = {"mark": mark_to_text(mark), "held": mark.held}
        if not self._database.write(lambda: self._database.rows(_BEGIN, **values)):
            raise written_meanwhile(self._place)
        delete_rows(self._database)
        if header.embedder is not None:
            define_vectors(self._database, header.embedder[1])

    def write_rows(self, table: Table, rows: Sequence[Row], *, before: Mark, after: Mark) -> None:
        """See `ports.copying.CopyTarget`."""

        def work() -> None:
            self._move_mark(before, after)
            write_rows(Neo4jBackend(self._database, self._folder), table, rows)

        self._database.write(work)

    def finish(self, mark: Mark, header: Header) -> None:
        """See `ports.copying.CopyTarget`."""
        self._database.write(lambda: self._finish(mark, header))
        if self._folder.is_dir():
            remove_files(derived_files(self._folder))

    def _finish(self, mark: Mark, header: Header) -> None:
        self._move_mark(mark, None)
        here = self.header()
        generation = 1 + max(here.generation, header.generation)
        values: dict[str, object] = {
            "generation": generation,
            "epoch": 1 + max(here.epoch, header.epoch),
            "functional": json.dumps(list(header.functional)),
        }
        if header.embedder is not None:
            values["embedder"], values["dimension"] = header.embedder
        for table, counter in COUNTERS.items():
            values[counter] = max(here.next_ids[table], header.next_ids[table])
        self._database.rows(_SET, values=values)
        built = built_in_copy(header, generation)
        if built is not None:
            write_state(self._database, {"built": built})

    def _move_mark(self, before: Mark, after: Mark | None) -> None:
        marks = {"before": mark_to_text(before), "after": after and mark_to_text(after)}
        if not self._database.rows(_MOVE_MARK, **marks):
            raise copied_twice(self._place)


def read_mark(database: Neo4jDatabase) -> str | None:
    """The mark of a store under construction, as text; None for a whole one."""
    mark = database.value(_MARK)
    return None if mark is None else str(mark)
