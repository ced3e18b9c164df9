"""The Neo4j database that the settings name, without a store of Clew's in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.settings import Settings
    from clew.stores.neo4j.connection import Neo4jDatabase


@contextmanager
def open_database(settings: Settings) -> Iterator[Neo4jDatabase]:
    """The database; raises `InputError` where the store is a folder."""
    from clew.stores.neo4j.connection import Neo4jDatabase

    if not isinstance(settings.store, str):
        raise InputError(
            f"the store {str(settings.store)!r} is a folder; give the address of a Neo4j server,"
            " such as --store neo4j://localhost:7687"
        )
    with closing(Neo4jDatabase(settings.store, settings.neo4j, settings.namespace)) as database:
        yield database
