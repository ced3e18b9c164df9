"""Filters on metadata over Neo4j: what they need is read once a generation, and kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from clew.stores.documents.metadata import COLUMNS, DocumentValues, meets_all
from clew.types import Condition, Metadata

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

# The generation comes first: what is committed meanwhile makes the rows newer, never older.
_ROWS = f"""
MATCH (s:ClewStore {{namespace: $namespace}})
WITH s.generation AS generation
CALL (generation) {{
    WITH generation WHERE generation <> $kept
    MATCH (d:ClewDocument {{namespace: $namespace}}) WHERE d.id >= ''
    RETURN collect([d.id, d.metadata, {", ".join(f"d.{name}" for name in COLUMNS)}]) AS documents
}}
CALL (generation) {{
    WITH generation WHERE generation <> $kept
    MATCH (c:ClewChunk {{namespace: $namespace}}) WHERE c.id > 0
    RETURN collect([c.id, c.document_id, CASE c.metadata WHEN '{{}}' THEN null ELSE c.metadata END])
        AS chunks
}}
RETURN generation, documents, chunks
"""


class _Rows(NamedTuple):
    """What conditions may ask about, as of a generation of the store."""

    generation: int
    documents: dict[str, DocumentValues]
    chunks: list[tuple[int, str, Metadata]]
    """(id, id of the document, own metadata)"""


class MetadataFilter:
    """Finds the chunks that meet conditions; threads may share one."""

    def __init__(self, database: Neo4jDatabase) -> None:
        self._database = database
        self._kept: _Rows | None = None

    def matching_chunks(self, where: Sequence[Condition]) -> list[int]:
        """Ids of the chunks that meet every condition."""
        rows = self._rows()
        verdicts = {id_: meets_all(where, of, {}) for id_, of in rows.documents.items()}
        return [
            chunk_id
            for chunk_id, document_id, own in rows.chunks
            # A document that was deleted while the rows were read has no verdict.
            if verdicts.get(document_id) is not None
            and (
                meets_all(where, rows.documents[document_id], own) if own else verdicts[document_id]
            )
        ]

    def matching_documents(self, where: Sequence[Condition]) -> list[str]:
        """Ids of the documents that meet every condition."""
        documents = self._rows().documents
        return [id_ for id_, of in documents.items() if meets_all(where, of, {})]

    def metadata_names(self) -> set[str]:
        """Names of all metadata, of documents and of chunks."""
        rows = self._rows()
        values = [
            *(of.metadata for of in rows.documents.values()),
            *(own for *_, own in rows.chunks),
        ]
        return {name for metadata in values for name in metadata}

    def _rows(self) -> _Rows:
        kept = self._kept
        known = -1 if kept is None else kept.generation
        generation, documents, chunks = self._database.rows(_ROWS, kept=known)[0]
        if kept is not None and generation == known:
            return kept
        found = _to_rows(generation, documents, chunks)
        # What a transaction under way has written may never be committed.
        self._kept = None if self._database.in_transaction else found
        return found


def _to_rows(
    generation: int,
    documents: list[list[str]],
    chunks: list[tuple[int, str, str | None]],
) -> _Rows:
    return _Rows(
        generation,
        {
            id_: DocumentValues(columns, json.loads(metadata))
            for id_, metadata, *columns in documents
        },
        [(id_, document_id, json.loads(own or "{}")) for id_, document_id, own in chunks],
    )
