"""A store in a folder as it is merged into another: what its texts and people said, without ids.

It is read, never written to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clew.errors import InputError
from clew.stores.backend import to_time
from clew.stores.sqlite.backend import damaged_embedding, folder_place
from clew.stores.sqlite.store import SqliteStore
from clew.types import DocumentInfo, NewEntity, StoredChunk, StoredSection

if TYPE_CHECKING:
    from pathlib import Path

    from clew.types import Vectors

_DOCUMENTS = """
SELECT d.id, d.source, d.origin, d.sha256, d.recipe, d.read_from, d.indexed_at, d.updated_at,
    coalesce((SELECT min(id) FROM chunks WHERE document_id = d.id), 0)
FROM documents d
"""
_PASSAGES = """
SELECT c.id, c.metadata, e.vector, e.checksum = crc32(e.vector)
FROM chunks c LEFT JOIN embeddings e ON e.chunk_id = c.id
WHERE c.document_id = ? ORDER BY c.ordinal
"""
_ENTITIES = """
SELECT key, name, entity_type, content, tier FROM entities
WHERE tier = 'manual' OR content <> '' ORDER BY id
"""
_SAID_BY_HAND = """
SELECT h.key, r.relation_type, t.key, r.weight, r.is_causal, r.context, r.valid_from,
    r.stated_until, r.recorded_at
FROM relations r JOIN aliases h ON h.id = r.from_alias_id JOIN aliases t ON t.id = r.to_alias_id
WHERE r.chunk_id IS NULL AND r.retracted_at IS NULL ORDER BY r.id
"""
_RETRACTED = """
SELECT c.document_id, c.ordinal, h.key, r.relation_type, t.key
FROM relations r JOIN chunks c ON c.id = r.chunk_id
JOIN aliases h ON h.id = r.from_alias_id JOIN aliases t ON t.id = r.to_alias_id
WHERE r.retracted_at IS NOT NULL ORDER BY r.id
"""
# What is made again from no text, and is not merged: rows, and what they are.
_LEFT: Mapping[str, str] = {
    "enrichments": "passages read by a language model",
    "agent_extractions": "passages read by an assistant",
    "earlier_texts": "texts of earlier versions",
    "usage": "passages with a count of uses",
}


class ShardDocument(NamedTuple):
    """A document of a shard."""

    id: str
    source: str
    origin: str
    sha256: str
    pipeline_fingerprint: str
    read_from: str
    indexed_at: str
    updated_at: str | None
    first_chunk: int
    """0 where it has none; documents of one file were saved in the order of these."""

    @property
    def digests(self) -> tuple[str, str, str, str]:
        """As `DocumentStore.document_digests` has them."""
        return self.origin, self.sha256, self.pipeline_fingerprint, self.read_from


class HandRelation(NamedTuple):
    """A relation that was written by hand; its ends are keys of names."""

    head: str
    relation_type: str
    tail: str
    weight: float
    is_causal: bool
    context: str
    """JSON"""
    valid_from: datetime | None
    valid_until: datetime | None
    recorded_at: datetime | None


class RetractedRelation(NamedTuple):
    """A relation that a passage states and that was retracted."""

    document_id: str
    ordinal: int
    head: str
    relation_type: str
    tail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ByHand:
    """What people said of names and relations."""

    pruned: Mapping[str, str]
    """Names by key."""
    rules: Mapping[str, str]
    """Target key by key."""
    names: Mapping[str, str]
    """By key: how entities are to be called."""
    entities: Mapping[str, NewEntity]
    """Those made by hand, by key."""
    contents: Mapping[str, str]
    """Descriptions of other entities, by key."""
    relations: Sequence[HandRelation]
    retracted: Sequence[RetractedRelation]


class Shard(SqliteStore):
    """A store whose content is to be merged into another one."""

    def __init__(self, folder: Path, *, busy_seconds: float) -> None:
        """Raises `InputError` where there is no store, else what `SqliteStore` raises."""
        if not (folder / "clew.db").is_file():
            raise InputError(
                f"there is no store {folder_place(folder)} to merge; give folders that hold one,"
                " and their --namespace"
            )
        super().__init__(folder, busy_seconds=busy_seconds)

    def listed(self) -> list[ShardDocument]:
        """All documents, in no order."""
        return [ShardDocument(*row) for row in self._all(_DOCUMENTS)]

    def parts(
        self, document_id: str
    ) -> tuple[DocumentInfo, list[StoredSection], list[StoredChunk], Vectors]:
        """A document as it is stored: its chunks with metadata of their own alone, and vectors.

        Raises `StoreCorruptError` for a damaged vector.
        """
        with self.database.read() as connection:
            rows = connection.execute(_PASSAGES, (document_id,)).fetchall()
            for chunk_id, _, _, sound in rows:
                if not sound:
                    raise damaged_embedding(connection, chunk_id)
            (info,) = self.documents(ids=[document_id])
            sections, chunks = self.document_sections(info.id), self.document_chunks(info.id)
        own = [
            replace(chunk, metadata=json.loads(row[1]))
            for chunk, row in zip(chunks, rows, strict=True)
        ]
        vectors = np.frombuffer(b"".join(row[2] for row in rows), dtype="<f4")
        return info, sections, own, vectors.reshape(len(rows), -1 if rows else 0)

    def by_hand(self) -> ByHand:
        """What people said in this store."""
        entities = self._all(_ENTITIES)
        rules = self._all("SELECT key, target, name FROM link_rules ORDER BY key")
        return ByHand(
            pruned=self.pruned_names(),
            rules={key: target for key, target, _ in rules},
            names={key: name for key, _, name in rules if name},
            entities={
                key: NewEntity(name=name, entity_type=kind, content=content)
                for key, name, kind, content, tier in entities
                if tier == "manual"
            },
            contents={row[0]: row[3] for row in entities if row[4] != "manual"},
            relations=[_hand_relation(*row) for row in self._all(_SAID_BY_HAND)],
            retracted=[RetractedRelation(*row) for row in self._all(_RETRACTED)],
        )

    def left_behind(self) -> dict[str, int]:
        """What of the store merging cannot bring along: how many of what."""
        counts = {
            kind: self._all(f"SELECT count(*) FROM {table}")[0][0] for table, kind in _LEFT.items()
        }
        return {kind: count for kind, count in counts.items() if count}

    def _all(self, sql: str) -> list[tuple[Any, ...]]:
        with self.database.read() as connection:
            return connection.execute(sql).fetchall()


def _hand_relation(
    head: str,
    relation_type: str,
    tail: str,
    weight: float,
    is_causal: int,
    context: str,
    valid_from: str | None,
    valid_until: str | None,
    recorded_at: str,
) -> HandRelation:
    times = to_time(valid_from), to_time(valid_until), to_time(recorded_at)
    return HandRelation(head, relation_type, tail, weight, bool(is_causal), context, *times)
