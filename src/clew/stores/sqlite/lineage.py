"""Versions of documents, and the provenance of chunks, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from clew.stores.lineage import (
    FIRST,
    HeldVersion,
    Version,
    document_version,
    provenance,
    version_after,
)
from clew.stores.sqlite.documents import id_list
from clew.types import Document, DocumentVersion, Provenance

_PROVENANCE = """
SELECT c.id, c.document_id AS document, d.title, d.source, d.version, d.sha256, d.derived_from,
    c.page, c.start, c."end", d.indexed_at, d.created_at, d.recipe,
    d.metadata AS document_metadata, c.metadata
FROM chunks c JOIN documents d ON d.id = c.document_id
WHERE c.id IN (SELECT value FROM json_each(?))
"""


def next_version(connection: sqlite3.Connection, document: Document) -> Version:
    """The version that saving the document makes, or keeps where its text is the one held."""
    row = connection.execute(
        "SELECT version, derived_from, sha256 FROM documents WHERE id = ?", (document.id,)
    ).fetchone()
    if row is None:
        return FIRST
    held = HeldVersion(*row)
    # The text is read only where it may be the same.
    text = _stored_text(connection, document.id) if held.sha256 == document.sha256 else ""
    return version_after(held, document, text)


def _stored_text(connection: sqlite3.Connection, document_id: str) -> str:
    rows = connection.execute(
        "SELECT text FROM sections WHERE document_id = ? ORDER BY ordinal", (document_id,)
    )
    return "".join(row[0] for row in rows)


def write_version(
    connection: sqlite3.Connection, document: Document, version: Version, moment: str
) -> None:
    """Close the version before, and open a new one; nothing where the version is kept."""
    if not version.is_new:
        return
    if version.number > 1:
        connection.execute(
            "UPDATE document_versions SET replaced_at = ?"
            " WHERE document_id = ? AND replaced_at IS NULL",
            (moment, document.id),
        )
    connection.execute(
        "INSERT INTO document_versions VALUES (?, ?, ?, ?, ?, NULL)",
        (document.id, version.number, document.sha256, version.derived_from, moment),
    )


def forget_versions(connection: sqlite3.Connection, document_ids: Sequence[str]) -> None:
    """Delete the lineage of documents that are deleted for good."""
    connection.execute(
        "DELETE FROM document_versions WHERE document_id IN (SELECT value FROM json_each(?))",
        (id_list(document_ids),),
    )


def read_lineage(connection: sqlite3.Connection, document_id: str) -> list[DocumentVersion]:
    """The versions of a document, oldest first."""
    rows = connection.execute(
        "SELECT version, sha256, derived_from, indexed_at, replaced_at FROM document_versions"
        " WHERE document_id = ? ORDER BY version",
        (document_id,),
    )
    return [document_version(*row) for row in rows]


def read_provenance(
    connection: sqlite3.Connection, chunk_ids: Sequence[int]
) -> dict[int, Provenance]:
    """Where each chunk comes from, by chunk id; unknown ids are left out."""
    rows = connection.execute(_PROVENANCE, (id_list(chunk_ids),))
    names = [column[0] for column in rows.description]
    found = (dict(zip(names, row, strict=True)) for row in rows)
    return {row["id"]: provenance(row) for row in found}
