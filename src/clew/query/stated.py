"""The sentences that state relations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.ports import DocumentStore
    from clew.types import Relation


def stating_sentences(store: DocumentStore, relations: Sequence[Relation]) -> dict[int, str]:
    """The sentence that states each relation, by relation id; empty where none does."""
    texts = store.sentences([r.chunk_id for r in relations if r.chunk_id is not None])
    found: dict[int, str] = {}
    for relation in relations:
        of_chunk = texts.get(relation.chunk_id, ()) if relation.chunk_id is not None else ()
        position = -1 if relation.sentence is None else relation.sentence
        found[relation.id] = of_chunk[position] if 0 <= position < len(of_chunk) else ""
    return found
