"""Stub."""

from __future__ import annotations

from clew.stores.neo4j_connection import Neo4jDatabase


class Neo4jWriter:
    """Stub."""

    _database: Neo4jDatabase
