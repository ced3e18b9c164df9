"""Stores on a real Neo4j server for tests, each on a namespace of its own."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clew.settings import Neo4jSettings
from clew.stores.neo4j import Neo4jStore
from clew.stores.neo4j_connection import Neo4jDatabase
from clew.stores.neo4j_schema import keyword_index, vector_index
from clew.testing.entries import EMBEDDER, FUNCTIONAL

SETTINGS = Neo4jSettings(user="", retry_seconds=5.0)
_FORGET = "MATCH (n) WHERE n.namespace = $namespace DETACH DELETE n"


class OnNeo4j:
    """What a conformance suite runs on: `class TestGraph(OnNeo4j, GraphStoreSuite)`."""

    @pytest.fixture
    def neo4j_address(self) -> str:
        # Until the session's fixture of that name starts a server.
        address = os.environ.get("NEO4J_URI")
        if address is None:
            pytest.skip("set NEO4J_URI to the address of a Neo4j server")
        return address

    @pytest.fixture
    def neo4j_store(self, neo4j_address: str, tmp_path: Path) -> Iterator[Neo4jStore]:
        with (
            namespace_in(neo4j_address) as namespace,
            open_store(neo4j_address, namespace, tmp_path) as store,
        ):
            yield store

    @pytest.fixture
    def store(self, neo4j_store: Neo4jStore) -> Neo4jStore:
        return neo4j_store


@contextmanager
def open_store(address: str, namespace: str, folder: Path) -> Iterator[Neo4jStore]:
    """The store of a namespace, opened as the suites want it."""
    store = Neo4jStore(
        address, SETTINGS, namespace, folder, embedder=EMBEDDER, functional=FUNCTIONAL
    )
    try:
        yield store
    finally:
        store.close()


@contextmanager
def namespace_in(address: str) -> Iterator[str]:
    """A namespace that nobody else uses, of which nothing is left afterwards."""
    namespace = f"test-{secrets.token_hex(8)}"
    try:
        yield namespace
    finally:
        forget(address, namespace)


def forget(address: str, namespace: str) -> None:
    """Delete all that a server holds of a namespace."""
    database = Neo4jDatabase(address, SETTINGS, namespace)
    try:
        for index in (vector_index(namespace), keyword_index(namespace)):
            database.define(f"DROP INDEX `{index}` IF EXISTS")
        database.write(lambda: database.rows(_FORGET))
    finally:
        database.close()
