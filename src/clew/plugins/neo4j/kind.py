"""How a store on a Neo4j server is reached: a `clew.hookspecs.StoreKind`."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from clew.stores.neo4j import store as on_server
from clew.stores.neo4j.connection import Neo4jDatabase
from clew.stores.neo4j.schema import holds_namespace

if TYPE_CHECKING:
    from pathlib import Path

    from clew.settings import Neo4jSettings, Settings
    from clew.stores.backend import Backend


def _place(settings: Settings) -> tuple[str, Neo4jSettings, str, Path]:
    return str(settings.store), settings.neo4j, settings.namespace, settings.folder


def open(settings: Settings) -> on_server.Neo4jStore:
    """See `StoreKind`."""
    return on_server.Neo4jStore(*_place(settings), keep_versions=settings.versions.keep)


def exists(settings: Settings) -> bool:
    """See `StoreKind`."""
    address, login, namespace, _ = _place(settings)
    with closing(Neo4jDatabase(address, login, namespace)) as database:
        return holds_namespace(database)


def open_for_copying(settings: Settings, *, make: bool) -> Backend:
    """See `StoreKind`."""
    return on_server.open_for_copying(*_place(settings), make=make)


def vectors(settings: Settings, store: on_server.Neo4jStore) -> on_server.Neo4jVectors:
    """See `StoreKind`."""
    return on_server.Neo4jVectors(store, settings.folder)
