"""Relations as people read them: who, what, and the sentence of the document that says so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clew.types import RelationEvidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.ports import Store
    from clew.types import Provenance, Relation


def read_relations(store: Store, relations: Sequence[Relation]) -> list[RelationEvidence]:
    """The relations with names, sentences and where these stand, in the order given."""
    ends = {end for r in relations for end in (r.from_entity_id, r.to_entity_id)}
    names = store.entity_names(sorted(ends))
    chunk_ids = [r.chunk_id for r in relations if r.chunk_id is not None]
    sentences, origins = store.sentences(chunk_ids), store.provenance(chunk_ids)
    ranges = store.sentence_ranges(chunk_ids)
    return [
        RelationEvidence(
            head=names.get(relation.from_entity_id, "?"),
            relation=relation.relation_type,
            tail=names.get(relation.to_entity_id, "?"),
            evidence=_stating(relation, sentences),
            valid_from=relation.valid_from,
            valid_until=relation.valid_until,
            provenance=_origin(relation, origins, ranges),
        )
        for relation in relations
    ]


def stating_sentences(store: Store, relations: Sequence[Relation]) -> dict[int, str]:
    """The sentence that states each relation, by relation id; empty where none does."""
    texts = store.sentences([r.chunk_id for r in relations if r.chunk_id is not None])
    return {relation.id: _stating(relation, texts) for relation in relations}


def _stating(relation: Relation, texts: Mapping[int, Sequence[str]]) -> str:
    of_chunk = texts.get(relation.chunk_id, ()) if relation.chunk_id is not None else ()
    position = -1 if relation.sentence is None else relation.sentence
    return of_chunk[position] if 0 <= position < len(of_chunk) else ""


def _origin(
    relation: Relation,
    origins: Mapping[int, Provenance],
    ranges: Mapping[int, Sequence[tuple[int, int]]],
) -> Provenance | None:
    """Where the passage comes from, narrowed to the sentence; None where no text states it."""
    if relation.chunk_id is None or relation.chunk_id not in origins:
        return None
    origin = replace(
        origins[relation.chunk_id], extractor=relation.extractor, confidence=relation.confidence
    )
    of_chunk = ranges.get(relation.chunk_id, ())
    position = -1 if relation.sentence is None else relation.sentence
    if not 0 <= position < len(of_chunk):
        return origin
    start, end = of_chunk[position]
    return replace(origin, start=start, end=end)
