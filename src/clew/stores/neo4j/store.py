"""The store on Neo4j: one database holds every namespace; see `neo4j_schema` for what it holds."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import StoreMismatchError
from clew.ports.copying import Place
from clew.stores.copy_marks import refuse_unfinished
from clew.stores.neo4j.connection import Neo4jDatabase, Row
from clew.stores.neo4j.copy import read_mark
from clew.stores.neo4j.documents import Neo4jDocuments
from clew.stores.neo4j.graph import Neo4jGraph
from clew.stores.neo4j.records import read_records
from clew.stores.neo4j.schema import define_vectors, migrate
from clew.stores.neo4j.search import Neo4jSearch
from clew.stores.neo4j.snapshot import Neo4jSnapshot
from clew.stores.neo4j.times import Neo4jTimes
from clew.stores.neo4j.writer import Neo4jWriter
from clew.types import PassageRecords

if TYPE_CHECKING:
    from clew.settings import Neo4jSettings

_NUMBERS = """
MATCH (s:ClewStore {namespace: $namespace}) RETURN s.generation, s.epoch, s.embedder, s.dimension
"""
_REMEMBER = """
MATCH (s:ClewStore {namespace: $namespace}) SET s.embedder = $embedder, s.dimension = $dimension
"""


class Neo4jStore(Neo4jDocuments, Neo4jTimes, Neo4jGraph, Neo4jWriter, Neo4jSearch, Neo4jSnapshot):
    """`ports.Store` on a namespace of a Neo4j database; threads and machines may share one.

    Raises `StoreUnavailableError` where the server cannot be reached, `StoreMismatchError` for a
    store of another embedder or of a newer Clew.
    """

    def __init__(
        self,
        address: str,
        settings: Neo4jSettings,
        namespace: str,
        folder: Path,
        *,
        embedder: tuple[str, int] | None = None,
        functional: Collection[str] | None = None,
    ) -> None:
        """Open the store of a namespace, made where it does not exist.

        `folder` is on this machine and holds what is derived. `embedder` and `functional` as in
        `sqlite.SqliteStore`.
        """
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self._here = threading.local()
        self._database = Neo4jDatabase(address, settings, namespace)
        try:
            self._database.connect()
            migrate(self._database)
            refuse_unfinished(read_mark(self._database), Place(address, namespace))
            if embedder is not None:
                self.claim(*embedder)
            if functional is not None:
                self._declare(functional)
        except BaseException:
            self._database.close()
            raise

    @property
    def database(self) -> Neo4jDatabase:
        """The connection, for what else is kept on the server."""
        return self._database

    def close(self) -> None:
        """Let go of connections; may be called twice."""
        self._database.close()

    def passage_records(
        self,
        chunk_ids: Sequence[int],
        entity_ids: Sequence[int] = (),
        *,
        as_of: datetime | None = None,
    ) -> PassageRecords:
        """See `ports.PassageStore`."""
        return read_records(self._database, chunk_ids, entity_ids, as_of)

    # --- the numbers of the whole

    @contextmanager
    def steady(self) -> Iterator[None]:
        """See `ports.StoreUpkeep`: they are asked for once."""
        if getattr(self._here, "numbers", None) is not None:
            yield
            return
        self._here.numbers = self._numbers()
        try:
            yield
        finally:
            self._here.numbers = None

    def _numbers(self) -> Row:
        """Generation, epoch, embedder's name and dimension."""
        known: Row | None = getattr(self._here, "numbers", None)
        return known or self._database.rows(_NUMBERS)[0]

    def generation(self) -> int:
        """See `ports.SnapshotSource`."""
        return int(self._numbers()[0])

    def epoch(self) -> int:
        """See `ports.SnapshotSource`."""
        return int(self._numbers()[1])

    def embedder(self) -> tuple[str, int] | None:
        """Name and dimension of the embedder that the store was built with."""
        name, dimension = self._numbers()[2:]
        return None if name is None else (str(name), int(dimension))

    def claim(self, embedder: str, dimension: int) -> None:
        """Make sure that the store's vectors are this embedder's; the first one is remembered.

        Raises `StoreMismatchError` where they are another's.
        """
        if self.embedder() != (embedder, dimension):
            self._database.write(lambda: self._remember(embedder, dimension))
            define_vectors(self._database, dimension)

    def _remember(self, embedder: str, dimension: int) -> None:
        known = self.embedder()
        if known is None:
            self._database.rows(_REMEMBER, embedder=embedder, dimension=dimension)
        elif known != (embedder, dimension):
            raise StoreMismatchError(
                f"the store was built with the embedder {known[0]!r} ({known[1]} dimensions), but"
                f" {embedder!r} ({dimension} dimensions) was asked for; choose the former, or embed"
                " all documents again with `clew reindex`"
            )

    def batch(self) -> AbstractContextManager[None]:
        """A context whose saves and deletions share one commit, which is faster.

        What was done before an exception lasts; this thread sees it at once, others after the end.
        Other writers wait meanwhile.
        """
        return self._database.batch()

    def _declare(self, functional: Collection[str]) -> None:
        """Remember the functional relation types and derive every end anew where they changed."""
        from clew.stores.neo4j.validity import declare_functional

        text = json.dumps(sorted(functional))
        known = self._database.value(
            "MATCH (s:ClewStore {namespace: $namespace}) RETURN s.functional"
        )
        if known != text:
            self._database.write(lambda: declare_functional(self._database, functional))
