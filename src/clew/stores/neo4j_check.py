"""Stub."""
from __future__ import annotations
from pathlib import Path
from clew.stores.neo4j_connection import Neo4jDatabase
from clew.types import CheckReport
def check(database: Neo4jDatabase, folder: Path, *, repair: bool) -> CheckReport:
    """Stub."""
    return CheckReport(checked=(), problems=())
