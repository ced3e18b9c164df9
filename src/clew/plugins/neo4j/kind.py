"""How a store on a Neo4j server is reached: a `clew.hookspecs.StoreKind`."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from clew.plugins.neo4j import store as on_server
from clew.plugins.neo4j.connection import Neo4jDatabase
from clew.plugins.neo4j.schema import holds_namespace

if TYPE_CHECKING:
    from pathlib import Path

    from clew.ports import LanguageModel
    from clew.settings import Neo4jSettings, Settings
    from clew.stores.backend import Backend
    from clew.types import CypherAnswer


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


def ask(
    settings: Settings,
    model: LanguageModel,
    question: str,
    **asked: Any,  # noqa: ANN401 - as the engine says it
) -> CypherAnswer:
    """See `StoreKind`."""
    from clew.plugins.neo4j.cypher import ask_by_cypher, read_examples

    address, login, namespace, _ = _place(settings)
    examples = read_examples(login.examples) if login.examples else ()
    with closing(Neo4jDatabase(address, login, namespace)) as database:
        return ask_by_cypher(database, model, question, examples=examples, **asked)
