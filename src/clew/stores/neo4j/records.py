"""All that an answer shows of passages and entities, in one round trip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from clew.stores.documents import (
    sentence_places,
    sentence_texts,
    stored_chunk,
    stored_section,
)
from clew.stores.lineage import provenance
from clew.stores.neo4j.connection import Neo4jDatabase, Row
from clew.stores.neo4j.relations import read_chunk_relations
from clew.stores.relations import RelationRow, to_relation
from clew.stores.times import period_of
from clew.types import PassageRecord, PassageRecords, Period, Relation

_PASSAGES = """
UNWIND $chunks AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id})
MATCH (c)-[:PART_OF {namespace: $namespace}]->(d:ClewDocument {namespace: $namespace})
MATCH (c)-[:IN_SECTION {namespace: $namespace}]->(s:ClewSection {namespace: $namespace})
RETURN 'passage' AS kind, [
    [c.id, d.id, d.source, d.title, c.ordinal, s.id, c.start, c.end, c.page, c.text, c.context,
        c.key, d.metadata, c.metadata],
    [s.id, d.id, s.ordinal, s.start, s.end, s.headings, s.text],
    {document: d.id, title: d.title, source: d.source, version: d.version, sha256: d.sha256,
        derived_from: d.derived_from, page: c.page, start: c.start, end: c.end,
        indexed_at: d.indexed_at, created_at: d.created_at, recipe: d.recipe,
        document_metadata: d.metadata, metadata: c.metadata},
    c.sentences
] AS row
"""
_TIMES = """
UNWIND $chunks AS id
MATCH (t:ClewTime {namespace: $namespace, chunk_id: id})
RETURN 'time' AS kind, [id, t.said, t.start, t.end, t.text] AS row
"""
_RELATIONS = """
UNWIND $stating AS id
MATCH (h)-[r:RELATES {namespace: $namespace, chunk_id: id}]->(t)
WHERE r.retracted_at IS NULL
RETURN 'relation' AS kind, [
    r.id, h.id, t.id, r.from_alias_id, r.to_alias_id, r.relation_type, r.weight, r.is_causal,
    r.confidence, r.context, r.valid_from, r.valid_until, r.stated_until, r.recorded_at,
    r.retracted_at, r.chunk_id, r.sentence, r.extractor, h.name, t.name
] AS row
"""
_NAMES = """
UNWIND $entities AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})
RETURN 'name' AS kind, [e.id, e.name] AS row
"""
_PARTS = " UNION ALL ".join((_PASSAGES, _TIMES, _RELATIONS, _NAMES))
_RECORDS = f"CALL () {{{_PARTS}}} RETURN kind, row"
_ROW = len(RelationRow._fields)


def read_records(
    database: Neo4jDatabase,
    chunk_ids: Sequence[int],
    entity_ids: Sequence[int],
    as_of: datetime | None,
) -> PassageRecords:
    """See `ports.PassageStore`; what held at a moment takes a look of its own."""
    chunks, entities = list(map(int, chunk_ids)), list(map(int, entity_ids))
    then = [] if as_of is None else read_chunk_relations(database, chunks, as_of)
    entities += [end for r in then for end in (r.from_entity_id, r.to_entity_id)]
    found: dict[str, list[Row]] = {"passage": [], "time": [], "relation": [], "name": []}
    stating = chunks if as_of is None else []
    for kind, row in database.rows(_RECORDS, chunks=chunks, entities=entities, stating=stating):
        found[kind].append(row)
    now = [to_relation(RelationRow(*row[:_ROW])) for row in found["relation"]]
    relations, times = _by_chunk([*then, *now]), _times(found["time"])
    passages = (_passage(row, relations, times) for row in found["passage"])
    return PassageRecords(
        passages={passage.chunk.id: passage for passage in passages},
        names={
            **{row[0]: row[1] for row in found["name"]},
            **{end: name for row in found["relation"] for end, name in _ends(row)},
        },
    )


def _ends(row: Row) -> Iterable[tuple[int, str]]:
    """(entity id, name) of the ends of a relation."""
    return (row[1], row[_ROW]), (row[2], row[_ROW + 1])


def _by_chunk(relations: Iterable[Relation]) -> dict[int, list[Relation]]:
    found: dict[int, list[Relation]] = {}
    for relation in sorted(relations, key=lambda relation: relation.id):
        found.setdefault(relation.chunk_id or 0, []).append(relation)
    return found


def _times(rows: Iterable[Row]) -> dict[int, list[Period]]:
    """When each chunk was said, then what it speaks of in order of time."""
    found: dict[int, list[Period]] = {}
    for chunk_id, _, start, end, text in sorted(rows, key=lambda r: (r[0], -r[1], r[2], r[3])):
        found.setdefault(chunk_id, []).append(period_of(start, end, text))
    return found


def _passage(
    row: Row, relations: Mapping[int, list[Relation]], times: Mapping[int, list[Period]]
) -> PassageRecord:
    of_chunk, of_section, origin, sentences = row
    chunk = stored_chunk(*of_chunk)
    return PassageRecord(
        chunk=chunk,
        section=stored_section(*of_section),
        provenance=provenance(origin),
        times=tuple(times.get(chunk.id, ())),
        sentences=sentence_texts(chunk.text, sentences),
        sentence_ranges=sentence_places(chunk.start, sentences),
        relations=tuple(relations.get(chunk.id, ())),
    )
