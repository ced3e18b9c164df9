"""The store on Neo4j: one database holds every namespace; see `neo4j.schema` for what it holds.

A namespace is opened here, too, to copy it or to copy into it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import InputError
from clew.private_files import make_folder
from clew.stores.copy import NOT_BEGUN
from clew.stores.documents.earlier import KEEP_VERSIONS
from clew.stores.documents.row_builder import PreparedDocument
from clew.stores.neo4j.backend import Neo4jBackend
from clew.stores.neo4j.connection import Neo4jDatabase
from clew.stores.neo4j.schema import holds_namespace, prepare_database
from clew.stores.neo4j.search import Neo4jSearch
from clew.stores.neo4j.workers import WorkerSaves, read_unsettled, settle
from clew.types import AliasEvidence, CheckReport, Unsettled

if TYPE_CHECKING:
    from clew.ports.upkeep import Progress
    from clew.settings import Neo4jSettings
    from clew.types import Vectors


_LONGEST = 7000
"""Bytes of a text that is looked up; an index of Neo4j takes 8 kB, with the namespace."""


class Neo4jStore(Neo4jSearch):
    """`ports.Store` on a namespace of a Neo4j database; threads and machines may share one.

    Raises `StoreUnavailableError` where the server cannot be reached, `StoreMismatchError` for a
    store of another embedder or schema.
    """

    _worker: WorkerSaves | None = None

    def __init__(
        self,
        address: str,
        settings: Neo4jSettings,
        namespace: str,
        folder: Path,
        *,
        embedder: tuple[str, int] | None = None,
        functional: Collection[str] | None = None,
        keep_versions: int = KEEP_VERSIONS,
    ) -> None:
        """Open the store of a namespace, made where it does not exist; the rest as in `Store`.

        `folder` is on this machine and holds what is derived.
        """
        make_folder(folder)
        database = Neo4jDatabase(address, settings, namespace)
        try:
            database.connect()
            prepare_database(database)
        except BaseException:
            database.close()
            raise
        super().__init__(
            Neo4jBackend(database, folder),
            embedder=embedder,
            functional=functional,
            keep_versions=keep_versions,
        )

    @property
    def database(self) -> Neo4jDatabase:
        """The connection, for what else is kept on the server."""
        return self.backend.database

    def write_prepared(self, prepared: PreparedDocument, embedder: tuple[str, int]) -> None:
        """See `Documents`; a worker writes beside others."""
        if self._worker is None:
            super().write_prepared(prepared, embedder)
        else:
            self._worker.write(prepared, embedder, self.keep_versions)

    @contextmanager
    def beside_others(self, worker: int) -> Iterator[None]:
        """See `ports.StoreUpkeep`."""
        self._worker = WorkerSaves(self.backend, worker)
        try:
            yield
        finally:
            self._worker = None

    def batch(self) -> AbstractContextManager[None]:
        """See `ports.DocumentStore`; a worker's saves each have a commit of their own."""
        return super().batch() if self._worker is None else nullcontext()

    def unsettled(self, worker: int) -> Unsettled | None:
        """See `ports.StoreUpkeep`."""
        return read_unsettled(self.backend, worker)

    def settle(self, unsettled: Unsettled, links: Sequence[AliasEvidence]) -> None:
        """See `ports.StoreUpkeep`."""
        self.backend.write(lambda: settle(self.backend, unsettled, links))

    def check_lengths(self, prepared: PreparedDocument) -> None:
        """See `Documents`."""
        document = prepared.entry.document
        for text in (document.source, document.origin, *prepared.names):
            if len(text.encode()) > _LONGEST:
                raise InputError(
                    f"{text[:60]!r}… is {len(text.encode())} bytes long; expected names and sources"
                    f" of {_LONGEST} bytes at most, which is what Neo4j can look up: shorten it"
                )

    def publish(
        self,
        labels: Mapping[str, str],
        properties: Sequence[tuple[str, str, str, Mapping[str, Any]]],
        embed: Callable[[Sequence[str]], Vectors] | None,
    ) -> None:
        """See `ports.StoreUpkeep`."""
        from clew.stores.neo4j.published import publish

        publish(self.database, labels, properties, embed, self.state().dimension)

    def check(self, repair: bool = False, progress: Progress | None = None) -> CheckReport:
        """See `ports.StoreUpkeep`."""
        from clew.stores.neo4j.check import Neo4jCheck

        return Neo4jCheck(self.backend, progress).run(repair=repair)


_COPY_SECONDS = 3600.0
"""How long reading a store may take; who writes waits as long as its own settings let it."""


def open_for_copying(
    address: str, settings: Neo4jSettings, namespace: str, folder: Path, *, make: bool = False
) -> Neo4jBackend:
    """Open the store of a namespace; with `make`, one is made where there is none.

    One that is made is an unfinished copy from its first moment. `folder` is on this machine and
    holds what is derived. Raises `InputError` where there is none, else what `Neo4jStore` raises.
    """
    patient = settings.model_copy(
        update={"query_seconds": max(settings.query_seconds, _COPY_SECONDS)}
    )
    backend = Neo4jBackend(Neo4jDatabase(address, patient, namespace), folder)
    try:
        backend.database.connect()
        if not make and not holds_namespace(backend.database):
            raise InputError(
                f"there is no store {backend.place}; give the one to copy with --from and"
                " --namespace"
            )
        prepare_database(backend.database, copying=NOT_BEGUN)
    except BaseException:
        backend.close()
        raise
    return backend
