"""How a store on a Neo4j server is reached: a `clew.hookspecs.StoreKind`."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from clew.errors import NoLanguageModelError
from clew.plugins.neo4j import store as on_server
from clew.plugins.neo4j.connection import Neo4jDatabase, holds_namespace
from clew.stores.backend import check_characters
from clew.wiring import server_kind

if TYPE_CHECKING:
    from pathlib import Path

    from clew.engine import Engine
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


def by_cypher(engine: Engine, question: str, *, limit: int = 50, run: bool = True) -> CypherAnswer:
    """The rows of a query that the language model writes for the store's graph on a server.

    Without `run` the query is only shown. Raises `InputError` for a store that is a folder and
    where no query that only reads was written, `NoLanguageModelError`, `ModelError`.
    """
    from clew.plugins.neo4j.cypher import ask_by_cypher, read_examples

    state = engine.state
    state.check_length("question", question)
    check_characters(question)
    server_kind(state.settings)
    if state.language_model is None:
        raise NoLanguageModelError
    address, login, namespace, _ = _place(state.settings)
    examples = read_examples(login.examples) if login.examples else ()
    with closing(Neo4jDatabase(address, login, namespace)) as database:
        return ask_by_cypher(
            database,
            state.language_model,
            question,
            embedder=state.embedder,
            examples=examples,
            limit=limit,
            run=run,
        )
