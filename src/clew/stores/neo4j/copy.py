"""Opening a namespace of Neo4j to copy it, or to copy into it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.stores.copy import NOT_BEGUN
from clew.stores.neo4j.backend import Neo4jBackend
from clew.stores.neo4j.connection import Neo4jDatabase
from clew.stores.neo4j.migrations import holds_namespace, migrate

if TYPE_CHECKING:
    from clew.settings import Neo4jSettings

_SECONDS = 3600.0
"""How long reading a store may take; who writes waits as long as its own settings let it."""


def open_for_copying(
    address: str, settings: Neo4jSettings, namespace: str, folder: Path, *, make: bool = False
) -> Neo4jBackend:
    """Open the store of a namespace; with `make`, one is made where there is none.

    One that is made is an unfinished copy from its first moment. `folder` is on this machine and
    holds what is derived. Raises `InputError` where there is none, else what `Neo4jStore` raises.
    """
    patient = settings.model_copy(update={"query_seconds": max(settings.query_seconds, _SECONDS)})
    backend = Neo4jBackend(Neo4jDatabase(address, patient, namespace), folder)
    try:
        backend.database.connect()
        if not make and not holds_namespace(backend.database):
            raise InputError(
                f"there is no store {backend.place}; give the one to copy with --from and"
                " --namespace"
            )
        migrate(backend.database, copying=NOT_BEGUN)
    except BaseException:
        backend.close()
        raise
    return backend
