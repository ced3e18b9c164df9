"""Rows as nodes and relationships: one insert a kind, several kinds in one round trip.

A row is a map with the properties that `neo4j_schema` names, and with the ids of what it is tied
to, which must be there already or come in the same call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from clew.stores.neo4j.schema import chunk_label
from clew.stores.times import LONG

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Mapping[str, Sequence[Row]]
"""By kind: `documents`, `versions`, `sections`, `chunks`, `times`, `entities`,
`types` (of entities that there are), `aliases`, `mentions`, `relations`, `readings`, `rules`."""

_MOST = 400
"""Rows of a query: some megabytes, where they hold long vectors."""
# In this order, so that each kind finds what it is tied to.
_INSERTS = {
    "documents": """
UNWIND $rows.documents AS row
CREATE (n:ClewDocument {namespace: $namespace}) SET n += row
""",
    "versions": """
UNWIND $rows.versions AS row
CREATE (n:ClewVersion {namespace: $namespace}) SET n += row
""",
    "sections": """
UNWIND $rows.sections AS row
MATCH (d:ClewDocument {namespace: $namespace, id: row.document_id})
CREATE (n:ClewSection {namespace: $namespace})-[:PART_OF {namespace: $namespace}]->(d)
SET n += row
""",
    "chunks": """
UNWIND $rows.chunks AS row
MATCH (d:ClewDocument {namespace: $namespace, id: row.document_id})
MATCH (s:ClewSection {namespace: $namespace, id: row.section_id})
CREATE (n:ClewChunk:$($label) {namespace: $namespace})-[:PART_OF {namespace: $namespace}]->(d),
    (n)-[:IN_SECTION {namespace: $namespace}]->(s)
SET n += row
""",
    "times": f"""
UNWIND $rows.times AS row
MATCH (c:ClewChunk {{namespace: $namespace, id: row.chunk_id}})
CREATE (c)-[:AT {{namespace: $namespace}}]->(n:ClewTime {{namespace: $namespace}})
SET n += row, n.long = CASE WHEN row.start < row.end - {LONG} THEN true END
""",
    "entities": """
UNWIND $rows.entities AS row
CREATE (n:ClewEntity {namespace: $namespace, content: '', tier: 'extracted'}) SET n += row
""",
    "types": """
UNWIND $rows.types AS row
MATCH (n:ClewEntity {namespace: $namespace, id: row.id}) SET n.entity_type = row.entity_type
""",
    "aliases": """
UNWIND $rows.aliases AS row
MATCH (e:ClewEntity {namespace: $namespace, id: row.entity_id})
CREATE (:ClewAlias {
    namespace: $namespace, id: row.id, key: row.key, name: row.name, method: row.method,
    score: row.score, evidence: row.evidence
})-[:NAMES {namespace: $namespace}]->(e)
""",
    "mentions": """
UNWIND $rows.mentions AS row
MATCH (c:ClewChunk {namespace: $namespace, id: row.chunk_id})
MATCH (e:ClewEntity {namespace: $namespace, id: row.entity_id})
CREATE (c)-[:MENTIONS {
    namespace: $namespace, chunk_id: row.chunk_id, sentence: row.sentence, alias_id: row.alias_id,
    start: row.start, end: row.end, count: row.count
}]->(e)
""",
    "relations": """
UNWIND $rows.relations AS row
MATCH (h:ClewEntity {namespace: $namespace, id: row.from_entity_id})
MATCH (t:ClewEntity {namespace: $namespace, id: row.to_entity_id})
CREATE (h)-[:RELATES {
    namespace: $namespace, id: row.id, from_alias_id: row.from_alias_id,
    to_alias_id: row.to_alias_id, relation_type: row.relation_type, weight: row.weight,
    is_causal: row.is_causal, confidence: row.confidence, context: row.context,
    valid_from: row.valid_from, valid_until: row.valid_until, stated_until: row.stated_until,
    recorded_at: row.recorded_at, retracted_at: row.retracted_at, chunk_id: row.chunk_id,
    sentence: row.sentence, extractor: row.extractor
}]->(t)
""",
    "readings": """
UNWIND $rows.readings AS row
CREATE (n:ClewReading {namespace: $namespace}) SET n += row
""",
    "rules": """
UNWIND $rows.rules AS row
CREATE (n:ClewRule {namespace: $namespace}) SET n += row
""",
}

_COUNTERS = {
    "sections": "next_section",
    "chunks": "next_chunk",
    "entities": "next_entity",
    "aliases": "next_alias",
    "relations": "next_relation",
}
# One query for all kinds, though most calls bring some alone, and all of them within one map: the
# server plans a query anew for lists of other lengths.
_INSERT = (
    "".join(f"CALL () {{{insert}}}\n" for insert in _INSERTS.values())
    + """
MATCH (s:ClewStore {namespace: $namespace}) SET s += $numbers
"""
)


def insert_rows(
    database: Neo4jDatabase, rows: Rows, counts: Mapping[str, int] | None = None
) -> None:
    """Make what the rows say; call inside `write`. Small documents take one round trip.

    Ids are those free, in their order: the namespace's next ids go on behind them. `counts` are
    numbers of the namespace that change, too.
    """
    nothing: dict[str, Sequence[Row]] = dict.fromkeys(_INSERTS, ())
    label = chunk_label(database.namespace).strip("`")
    for part in _parts(rows):
        numbers = {**_next_ids(part), **(counts or {})}
        database.rows(_INSERT, rows=nothing | part, numbers=numbers, label=label)


def _parts(rows: Rows) -> Iterator[dict[str, Sequence[Row]]]:
    """The rows again, kinds in order, with a bounded number of rows each."""
    part: dict[str, Sequence[Row]] = {}
    free = _MOST
    for kind in _INSERTS:
        left = rows.get(kind, ())
        while left:
            part[kind], left = left[:free], left[free:]
            free -= len(part[kind])
            if not free:
                yield part
                part, free = {}, _MOST
    if part:
        yield part


def _next_ids(part: Rows) -> dict[str, int]:
    return {name: int(part[kind][-1]["id"]) + 1 for kind, name in _COUNTERS.items() if kind in part}
