"""Writing and deleting documents in Neo4j; nothing is left without a source."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from clew.stores.lineage import FIRST, HeldVersion, Version, extractor_of, version_after
from clew.stores.naming import keys_asked, plan_names
from clew.stores.neo4j_naming import CALL_KNOWN, KNOWN, known_names, move_names, name_rows
from clew.stores.neo4j_numbers import NUMBERS, Numbers, count_change, read_numbers, to_numbers
from clew.stores.neo4j_rows import Row, Rows, insert_rows
from clew.stores.neo4j_sweep import sweep
from clew.stores.neo4j_validity import heads_around, heads_of_documents, settle
from clew.stores.prepare import NumberedRows, PreparedDocument, mention_rows, number_rows
from clew.stores.relations import History, RelationRow, count_by_entity, document_rows, heads_of
from clew.stores.values import now

if TYPE_CHECKING:
    from clew.stores.neo4j_connection import Neo4jDatabase

# The text is read only where it may be the same.
_HELD = f"""
MATCH (s:ClewStore {{namespace: $namespace}})
OPTIONAL MATCH (d:ClewDocument {{namespace: $namespace, id: $document_id}})
CALL (d) {{
    MATCH (n:ClewSection {{namespace: $namespace, document_id: d.id}})
    WHERE d.sha256 = $sha256
    WITH n ORDER BY n.ordinal
    RETURN collect(n.text) AS texts
}}
{CALL_KNOWN}
RETURN d.version, d.derived_from, d.sha256, texts, {KNOWN}, {NUMBERS}
"""
_CLOSE_VERSION = """
MATCH (v:ClewVersion {namespace: $namespace, document_id: $document_id})
WHERE v.replaced_at IS NULL SET v.replaced_at = $moment
"""
_HISTORY = """
MATCH (c:ClewChunk {namespace: $namespace, document_id: $document_id})
MATCH ()-[r:RELATES {namespace: $namespace, chunk_id: c.id}]->()
MATCH (h:ClewAlias {namespace: $namespace, id: r.from_alias_id})
MATCH (t:ClewAlias {namespace: $namespace, id: r.to_alias_id})
RETURN h.key, r.relation_type, t.key, min(r.recorded_at),
    CASE WHEN count(r.retracted_at) = count(*) THEN max(r.retracted_at) END
"""
_TOUCHED = """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, document_id: id})
CALL (c) {
    MATCH (c)-[:MENTIONS {namespace: $namespace}]->(e:ClewEntity) RETURN e
    UNION
    MATCH (h)-[:RELATES {namespace: $namespace, chunk_id: c.id}]->(t)
    UNWIND [h, t] AS e
    RETURN e
}
RETURN DISTINCT e.id
"""
_FORGET = """
UNWIND $ids AS id
MATCH (d:ClewDocument {namespace: $namespace, id: id})
CALL (d) {
    MATCH (c:ClewChunk {namespace: $namespace, document_id: d.id})
    MATCH ()-[r:RELATES {namespace: $namespace, chunk_id: c.id}]->()
    DELETE r
}
CALL (d) {
    MATCH (c:ClewChunk {namespace: $namespace, document_id: d.id})
    OPTIONAL MATCH (c)-[:AT {namespace: $namespace}]->(t:ClewTime)
    DETACH DELETE t, c
}
CALL (d) {
    MATCH (n:ClewSection {namespace: $namespace, document_id: d.id})
    DETACH DELETE n
}
DETACH DELETE d
RETURN id
"""
_FORGET_VERSIONS = """
UNWIND $ids AS id
MATCH (v:ClewVersion {namespace: $namespace, document_id: id}) DELETE v
"""


class _Held(NamedTuple):
    """What a save begins with."""

    version: Version
    names: Sequence[Any]
    """What `known_names` takes."""
    numbers: Numbers


class _Former(NamedTuple):
    """What a document's former self leaves behind."""

    touched: Set[int]
    """Its entities."""
    heads: Set[int]
    """Those of which it stated functional relations."""
    history: History


_NOTHING = _Former(frozenset(), frozenset(), {})


def write_document(database: Neo4jDatabase, prepared: PreparedDocument) -> None:
    """Write a document in place of its former self; call inside `write`."""
    entry, moment = prepared.entry, now()
    held = _read_held(database, prepared)
    version, numbers = held.version, held.numbers
    former = (
        _NOTHING
        if version.is_first
        else _forget_former(database, entry.document.id, numbers.functional)
    )
    known = known_names(database, prepared.names, held.names)
    plan = plan_names(
        prepared.names,
        entry.links,
        known,
        next_entity=numbers.entity,
        next_alias=numbers.alias,
    )
    text = number_rows(
        prepared, version, moment, first_section=numbers.section, first_chunk=numbers.chunk
    )
    relations = document_rows(
        entry,
        text.chunk_ids,
        plan.resolved,
        first_id=numbers.relation,
        history=former.history,
        moment=moment,
        extractor=extractor_of(entry.recipe),
    )
    moved = plan.resolved.moved
    insert_rows(
        database,
        {
            **_text_rows(prepared, text, version, moment),
            **name_rows(plan),
            "mentions": mention_rows(entry, text.chunk_ids, plan.resolved),
            **_relation_rows(relations, moment),
        },
        counts=numbers.after_change(entities_moved=bool(moved)),
    )
    move_names(database, plan)
    sweep(database, former.touched | moved)
    functional = numbers.functional
    heads = former.heads | heads_of(relations, functional)
    settle(database, heads | heads_around(database, moved, functional), functional)


def _read_held(database: Neo4jDatabase, prepared: PreparedDocument) -> _Held:
    document = prepared.entry.document
    keys = keys_asked(prepared.names, prepared.entry.links)
    number, derived_from, sha256, texts, known, rules, *numbers = database.rows(
        _HELD, document_id=document.id, sha256=document.sha256, keys=keys
    )[0]
    version = FIRST
    if number is not None:
        held = HeldVersion(number, derived_from, sha256)
        version = version_after(held, document, "".join(texts))
    return _Held(version, (known, rules), to_numbers(numbers))


def _text_rows(
    prepared: PreparedDocument, rows: NumberedRows, version: Version, moment: str
) -> Rows:
    document = prepared.entry.document
    opened: Row = {
        "document_id": document.id,
        "version": version.number,
        "sha256": document.sha256,
        "derived_from": version.derived_from,
        "indexed_at": moment,
    }
    return {
        "documents": [rows.document],
        "versions": [opened] if version.is_new else [],
        "sections": rows.sections,
        "chunks": [
            {**row, "terms": terms, "vector": vector}
            for row, terms, vector in zip(
                rows.chunks, prepared.terms, prepared.vectors.tolist(), strict=True
            )
        ],
        "times": rows.times,
    }


def _relation_rows(relations: Sequence[RelationRow], moment: str) -> Rows:
    return {
        "relations": [row._asdict() for row in relations],
        "readings": [
            {"entity_id": entity_id, "relationships_found": count, "extracted_at": moment}
            for entity_id, count in count_by_entity(relations).items()
        ],
    }


# --- deleting ----------------------------------------------------------------------------


def _forget_former(
    database: Neo4jDatabase, document_id: str, functional: Collection[str]
) -> _Former:
    rows = database.rows(_HISTORY, document_id=document_id)
    history: History = {
        (head, kind, tail): (since, until) for head, kind, tail, since, until in rows
    }
    heads = heads_of_documents(database, [document_id], functional)
    touched = _touched(database, [document_id])
    database.rows(_FORGET, ids=[document_id])
    return _Former(touched, heads, history)


def delete_documents(database: Neo4jDatabase, document_ids: Sequence[str]) -> int:
    """Delete documents and all that only they held; the number that existed."""
    ids = list(dict.fromkeys(document_ids))
    functional = read_numbers(database).functional
    heads, touched = heads_of_documents(database, ids, functional), _touched(database, ids)
    known = len(database.rows(_FORGET, ids=ids))
    if known:
        database.rows(_FORGET_VERSIONS, ids=ids)
        sweep(database, touched)
        settle(database, heads, functional)
        count_change(database)
    return known


def _touched(database: Neo4jDatabase, document_ids: Sequence[str]) -> set[int]:
    return {row[0] for row in database.rows(_TOUCHED, ids=list(document_ids))}
