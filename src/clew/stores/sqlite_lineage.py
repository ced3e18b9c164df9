"""Where what is stored comes from: versions of documents, and the provenance of chunks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from clew.stores.sqlite_documents import id_list, to_time
from clew.times import written_at
from clew.types import Document, DocumentVersion, Metadata, Provenance

_AUTHOR_NAMES = ("author", "authors", "speaker", "from", "by", "creator")
_PROVENANCE = """
SELECT c.id, c.document_id AS document, d.title, d.source, d.version, d.sha256, d.derived_from,
    c.page, c.start, c."end", d.indexed_at, d.created_at, d.recipe,
    d.metadata AS document_metadata, c.metadata
FROM chunks c JOIN documents d ON d.id = c.document_id
WHERE c.id IN (SELECT value FROM json_each(?))
"""


class Version(NamedTuple):
    """A text's place among those that its source has had."""

    number: int
    derived_from: str
    is_new: bool
    """Whether the store does not hold it yet."""

    @property
    def is_first(self) -> bool:
        """Whether the store holds nothing of this source yet."""
        return self.is_new and self.number == 1


def next_version(connection: sqlite3.Connection, document: Document) -> Version:
    """The version that saving the document makes, or keeps where its text is the one held."""
    row = connection.execute(
        "SELECT version, derived_from, sha256 FROM documents WHERE id = ?", (document.id,)
    ).fetchone()
    if row is None:
        return Version(1, "", True)
    number, derived_from, sha256 = row
    if sha256 == document.sha256 and _stored_text(connection, document.id) == document.text:
        return Version(number, derived_from, False)
    return Version(number + 1, sha256, True)


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
    return [
        DocumentVersion(
            version=version,
            sha256=sha256,
            derived_from=derived_from,
            indexed_at=datetime.fromisoformat(indexed_at),
            replaced_at=to_time(replaced_at),
        )
        for version, sha256, derived_from, indexed_at, replaced_at in rows
    ]


def read_provenance(
    connection: sqlite3.Connection, chunk_ids: Sequence[int]
) -> dict[int, Provenance]:
    """Where each chunk comes from, by chunk id; unknown ids are left out."""
    rows = connection.execute(_PROVENANCE, (id_list(chunk_ids),))
    names = [column[0] for column in rows.description]
    found = (dict(zip(names, row, strict=True)) for row in rows)
    return {row.pop("id"): _provenance(row) for row in found}


def _provenance(row: dict[str, Any]) -> Provenance:
    of_document = json.loads(row.pop("document_metadata"))
    own = json.loads(row.pop("metadata"))
    whole = written_at(of_document, to_time(row.pop("created_at")))
    return Provenance(
        indexed_at=datetime.fromisoformat(row.pop("indexed_at")),
        extractor=extractor_of(row.pop("recipe")),
        author=_author(own) or _author(of_document),
        written_at=written_at(own, whole),
        **row,
    )


def _author(metadata: Metadata) -> str:
    """Who the metadata say wrote or said it; empty where they say nothing."""
    folded = {name.casefold(): value for name, value in metadata.items()}
    for name in _AUTHOR_NAMES:
        value = folded.get(name)
        names = value if isinstance(value, list) else [value]
        if found := ", ".join(n.strip() for n in names if isinstance(n, str) and n.strip()):
            return found
    return ""


def extractor_of(recipe: str) -> str:
    """The extractor that a recipe names; empty where it names none."""
    try:
        values = json.loads(recipe)
    except ValueError:
        return ""
    return str(values.get("extractor", "")) if isinstance(values, Mapping) else ""
