"""Relations as people read them: who, what, and the sentence of the document that says so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clew.types import RelationEvidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.ports import Store
    from clew.types import PassageRecord, Provenance, Relation


def read_relations(store: Store, relations: Sequence[Relation]) -> list[RelationEvidence]:
    """The relations with names, sentences and where these stand, in the order given."""
    if not relations:
        return []
    ends = {end for r in relations for end in (r.from_entity_id, r.to_entity_id)}
    stating = list(dict.fromkeys(r.chunk_id for r in relations if r.chunk_id is not None))
    found = store.passage_records(stating, sorted(ends))
    return [evidence_of(r, found.names, found.passages.get(r.chunk_id or 0)) for r in relations]


def evidence_of(
    relation: Relation, names: Mapping[int, str], passage: PassageRecord | None
) -> RelationEvidence:
    """A relation with the names of its ends and what its passage says of it, if that is there."""
    return RelationEvidence(
        head=names.get(relation.from_entity_id, "?"),
        relation=relation.relation_type,
        tail=names.get(relation.to_entity_id, "?"),
        evidence="" if passage is None else _sentence_of(relation, passage.sentences),
        valid_from=relation.valid_from,
        valid_until=relation.valid_until,
        provenance=None if passage is None else _origin(relation, passage),
    )


def stating_sentences(store: Store, relations: Sequence[Relation]) -> dict[int, str]:
    """The sentence that states each relation, by relation id; empty where none does."""
    texts = store.sentences([r.chunk_id for r in relations if r.chunk_id is not None])
    return {r.id: _sentence_of(r, texts.get(r.chunk_id or 0, ())) for r in relations}


def _sentence_of(relation: Relation, sentences: Sequence[str]) -> str:
    position = -1 if relation.sentence is None else relation.sentence
    return sentences[position] if 0 <= position < len(sentences) else ""


def _origin(relation: Relation, passage: PassageRecord) -> Provenance:
    """Where the passage comes from, narrowed to the sentence."""
    origin = replace(
        passage.provenance, extractor=relation.extractor, confidence=relation.confidence
    )
    position = -1 if relation.sentence is None else relation.sentence
    if not 0 <= position < len(passage.sentence_ranges):
        return origin
    start, end = passage.sentence_ranges[position]
    return replace(origin, start=start, end=end)
