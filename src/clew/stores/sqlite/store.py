"""The default store: one SQLite file, which is the whole truth of a namespace."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import StoreError, StoreMismatchError
from clew.ports import PassageRow, RelationRows
from clew.stores.copy_marks import folder_place, refuse_unfinished
from clew.stores.derived import folder_size
from clew.stores.records import read_records
from clew.stores.sqlite import documents as sqlite_documents
from clew.stores.sqlite import filters as sqlite_filters
from clew.stores.sqlite import keywords as sqlite_keywords
from clew.stores.sqlite import lineage as sqlite_lineage
from clew.stores.sqlite import save as sqlite_save
from clew.stores.sqlite import snapshot as sqlite_snapshot
from clew.stores.sqlite import statistics as sqlite_statistics
from clew.stores.sqlite import validity as sqlite_validity
from clew.stores.sqlite.connection import Database
from clew.stores.sqlite.copy import read_mark
from clew.stores.sqlite.graph_store import SqliteGraphStore
from clew.stores.sqlite.graph_writer import SqliteGraphWriter
from clew.stores.sqlite.migrations import open_database
from clew.stores.sqlite.time_index import SqliteTimeIndex
from clew.types import (
    CheckReport,
    Condition,
    DocumentInfo,
    DocumentVersion,
    IndexedDocument,
    PassageRecords,
    Provenance,
    StoredChunk,
    StoredSection,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import Ids, Scores, Vectors

_BATCH = 1000


class SqliteStore(SqliteGraphStore, SqliteGraphWriter, SqliteTimeIndex):
    """`ports.Store` on `folder/clew.db`; threads may share one, processes may open their own.

    Raises `StoreMismatchError` for a store of another embedder or of a newer Clew,
    `StoreCorruptError` for a damaged file, and `StoreBusyError` where another process keeps the
    store locked for longer than `busy_seconds`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        busy_seconds: float = 30.0,
        embedder: tuple[str, int] | None = None,
        functional: Collection[str] | None = None,
    ) -> None:
        """Open the store in `folder`, made where it does not exist.

        `embedder` is (name, dimension); the first one given is remembered, and every later one
        must be the same. Without one the store can do all but save into a new store.

        `functional` are the relation types of which a later fact ends an earlier one, see
        `validity`; they are remembered, and every end is derived anew where they change.
        """
        self.folder = folder
        self._database = open_database(folder, busy_seconds, sqlite_filters.define_functions)
        self._embedder = embedder
        try:
            self._refuse_unfinished()
            if embedder is not None:
                self.claim(*embedder)
            if functional is not None:
                self._declare(functional)
        except BaseException:
            self._database.close()
            raise

    def _refuse_unfinished(self) -> None:
        with self._database.read() as connection:
            refuse_unfinished(read_mark(connection), folder_place(self.folder))

    def _declare(self, functional: Collection[str]) -> None:
        with self._database.read() as connection:
            known = sqlite_validity.read_functional(connection)
        if set(functional) != set(known):
            with self._database.write() as connection:
                sqlite_validity.declare_functional(connection, functional)
                sqlite_save.count_change(connection)

    def claim(self, embedder: str, dimension: int) -> None:
        """Make sure that the store's vectors are this embedder's; the first one is remembered.

        Raises `StoreMismatchError` where they are another's.
        """
        if self.embedder() != (embedder, dimension):
            with self._database.write() as connection:
                _remember_embedder(connection, (embedder, dimension))
        self._embedder = (embedder, dimension)

    @property
    def database(self) -> Database:
        """The file, for what else is kept in it."""
        return self._database

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""
        self._database.close()

    def embedder(self) -> tuple[str, int] | None:
        """Name and dimension of the embedder that the store was built with."""
        with self._database.read() as connection:
            return sqlite_statistics.read_embedder(connection)

    # --- documents

    def save(self, entry: IndexedDocument) -> None:
        """See `ports.DocumentStore`. Raises `InputError` where the entry's parts do not fit."""
        from clew.stores.row_builder import prepare

        embedder = self._embedder or self.embedder()
        if embedder is None:
            raise StoreError(
                f"the store in {str(self.folder)!r} has no embedder yet; open it with"
                " embedder=(name, dimension) before saving"
            )
        prepared = prepare(entry, embedder[1])
        with self._database.write() as connection:
            _remember_embedder(connection, embedder)  # another process may have changed it since
            sqlite_save.write_document(connection, prepared)

    def batch(self) -> AbstractContextManager[None]:
        """A context whose saves and deletions share one commit, which is faster.

        Each of them still happens whole or not at all, and what was done before an exception
        lasts; this thread sees it at once, others after the end. Other writers wait meanwhile.
        """
        return self._database.batch()

    def delete(self, document_ids: Sequence[str]) -> int:
        """See `ports.DocumentStore`."""
        with self._database.write() as connection:
            return sqlite_save.delete_documents(connection, document_ids)

    def documents(
        self,
        *,
        ids: Sequence[str] | None = None,
        origin: str | None = None,
        where: Sequence[Condition] = (),
    ) -> list[DocumentInfo]:
        """See `ports.DocumentStore`."""
        with self._database.read() as connection:
            return sqlite_documents.read_documents(connection, ids, origin, where)

    def document_digests(self) -> dict[str, tuple[str, str, str]]:
        """(origin, sha256, recipe) by source, of every document."""
        with self._database.read() as connection:
            return sqlite_documents.read_digests(connection)

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        """See `ports.DocumentStore`."""
        with self._database.read() as connection:
            return sqlite_documents.read_chunks(connection, chunk_ids)

    def document_chunks(self, *document_ids: str) -> list[StoredChunk]:
        """See `ports.DocumentStore`."""
        with self._database.read() as connection:
            return sqlite_documents.read_document_chunks(connection, document_ids)

    def sections(self, section_ids: Sequence[int]) -> list[StoredSection]:
        """See `ports.DocumentStore`."""
        with self._database.read() as connection:
            return sqlite_documents.read_sections(connection, section_ids)

    def document_sections(self, *document_ids: str) -> list[StoredSection]:
        """See `ports.DocumentStore`."""
        with self._database.read() as connection:
            return sqlite_documents.read_document_sections(connection, document_ids)

    def matching_chunks(self, where: Sequence[Condition]) -> Ids:
        """See `ports.DocumentStore`."""
        with self._database.read() as connection:
            found = sqlite_filters.read_matching_chunks(connection, where)
        return np.array(found, dtype=np.int64)

    def sentences(self, chunk_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """See `ports.DocumentStore`."""
        with self._database.read() as connection:
            return sqlite_documents.read_sentences(connection, chunk_ids)

    def sentence_ranges(self, chunk_ids: Sequence[int]) -> dict[int, tuple[tuple[int, int], ...]]:
        """See `ports.DocumentStore`."""
        with self._database.read() as connection:
            return sqlite_documents.read_sentence_ranges(connection, chunk_ids)

    def lineage(self, document_id: str) -> list[DocumentVersion]:
        """See `ports.DocumentStore`."""
        with self._database.read() as connection:
            return sqlite_lineage.read_lineage(connection, document_id)

    def provenance(self, chunk_ids: Sequence[int]) -> dict[int, Provenance]:
        """See `ports.DocumentStore`."""
        with self._database.read() as connection:
            return sqlite_lineage.read_provenance(connection, chunk_ids)

    def passage_records(
        self,
        chunk_ids: Sequence[int],
        entity_ids: Sequence[int] = (),
        *,
        as_of: datetime | None = None,
    ) -> PassageRecords:
        """See `ports.PassageStore`."""
        with self._database.read():
            return read_records(self, chunk_ids, entity_ids, as_of)

    # --- keywords

    def search_keywords(
        self, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """See `ports.KeywordIndex`."""
        with self._database.read() as connection:
            return sqlite_keywords.search(connection, terms, limit, allowed)

    # --- what derived structures are built from

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See `ports.SnapshotSource`."""
        with self._database.read():
            yield

    def steady(self) -> AbstractContextManager[None]:
        """See `ports.StoreUpkeep`; here nothing is saved by it."""
        return nullcontext()

    def generation(self) -> int:
        """See `ports.SnapshotSource`."""
        with self._database.read() as connection:
            return sqlite_snapshot.read_number(connection, "generation")

    def epoch(self) -> int:
        """See `ports.SnapshotSource`."""
        with self._database.read() as connection:
            return sqlite_snapshot.read_number(connection, "epoch")

    def chunk_ids(self) -> Ids:
        """See `ports.SnapshotSource`."""
        with self._database.read() as connection:
            return sqlite_snapshot.read_chunk_ids(connection)

    def passages(self, after: int = 0) -> Iterator[PassageRow]:
        """See `ports.SnapshotSource`; read in batches, so that the caller may write meanwhile."""
        while True:
            with self._database.read() as connection:
                rows = sqlite_snapshot.read_passages(connection, after, _BATCH)
            yield from rows
            if len(rows) < _BATCH:
                return
            after = rows[-1].chunk_id

    def mention_rows(self, after: int = 0) -> NDArray[np.int64]:
        """See `ports.SnapshotSource`."""
        with self._database.read() as connection:
            return sqlite_snapshot.read_mention_rows(connection, after)

    def relation_rows(self) -> RelationRows:
        """See `ports.SnapshotSource`."""
        with self._database.read() as connection:
            return sqlite_snapshot.read_relation_rows(connection)

    def entities_of_type(self, entity_type: str) -> Ids:
        """See `ports.SnapshotSource`."""
        with self._database.read() as connection:
            return sqlite_snapshot.read_entities_of_type(connection, entity_type)

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """See `ports.SnapshotSource`."""
        with self._database.read() as connection:
            return sqlite_snapshot.read_embeddings(connection, after)

    # --- the store as a whole

    def statistics(self) -> dict[str, Any]:
        """Counts by name, `relation_types` by type, `embedder`, `generation`, `bytes` on disk."""
        with self._database.read() as connection:
            counts = sqlite_statistics.read_statistics(connection)
        return {**counts, "bytes": folder_size(self.folder)}

    def check(self, repair: bool = False) -> CheckReport:
        """Verify every invariant; with `repair`, mend whatever can be derived from the texts."""
        from clew.stores.sqlite import check as sqlite_check

        return sqlite_check.check(self._database, self.folder, repair=repair)


def _remember_embedder(connection: sqlite3.Connection, embedder: tuple[str, int]) -> None:
    known = sqlite_statistics.read_embedder(connection)
    if known is None:
        connection.executemany(
            "INSERT INTO meta VALUES (?, ?)", zip(("embedder", "dimension"), embedder, strict=True)
        )
    elif known != embedder:
        raise StoreMismatchError(
            f"the store was built with the embedder {known[0]!r} ({known[1]} dimensions), but"
            f" {embedder[0]!r} ({embedder[1]} dimensions) was asked for; choose the former, or"
            " embed all documents again with `clew reindex`"
        )
