"""Writing and deleting documents in Neo4j; nothing is left without a source."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from clew.errors import StoreMismatchError
from clew.stores.lineage import FIRST, HeldVersion, Version, extractor_of, version_after
from clew.stores.naming import NamePlan, keys_asked, plan_names
from clew.stores.neo4j.batches import send_rows
from clew.stores.neo4j.naming import CALL_KNOWN, KNOWN, known_names, move_names, name_rows
from clew.stores.neo4j.numbers import NUMBERS, Numbers, count_change, read_numbers, to_numbers
from clew.stores.neo4j.rows import Row, Rows, insert_rows
from clew.stores.neo4j.sweep import sweep
from clew.stores.neo4j.validity import heads_around, heads_of_documents, settle
from clew.stores.relations import History, RelationRow, count_by_entity, document_rows, heads_of
from clew.stores.row_builder import NumberedRows, PreparedDocument, mention_rows, number_rows
from clew.stores.values import now
from clew.types import Document

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

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
RETURN s.dimension, d.version, d.derived_from, d.sha256, texts, {KNOWN}, {NUMBERS}
"""
_CLOSE_VERSION = """
MATCH (v:ClewVersion {namespace: $namespace, document_id: $document_id, version: $version})
SET v.replaced_at = $moment
"""
_TOUCHED = """
UNWIND $rows AS id
MATCH (c:ClewChunk {namespace: $namespace, document_id: id})
CALL (c) {
    MATCH (c)-[:MENTIONS {namespace: $namespace}]->(e:ClewEntity) RETURN e
    UNION
    MATCH (h)-[:RELATES {namespace: $namespace, chunk_id: c.id}]->(t)
    UNWIND [h, t] AS e
    RETURN e
}
RETURN collect(DISTINCT e.id) AS touched
"""
_FORMER = f"""
CALL () {{
    MATCH (c:ClewChunk {{namespace: $namespace, document_id: $rows[0]}})
    MATCH (head)-[r:RELATES {{namespace: $namespace, chunk_id: c.id}}]->()
    MATCH (h:ClewAlias {{namespace: $namespace, id: r.from_alias_id}})
    MATCH (t:ClewAlias {{namespace: $namespace, id: r.to_alias_id}})
    WITH head.id AS head, h.key AS from, r.relation_type AS type, t.key AS to,
        min(r.recorded_at) AS since,
        CASE WHEN count(r.retracted_at) = count(*) THEN max(r.retracted_at) END AS until
    RETURN collect([head, from, type, to, since, until]) AS history
}}
CALL () {{{_TOUCHED}}}
RETURN history, touched
"""
_FORGET = """
UNWIND $rows AS id
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
UNWIND $rows AS id
MATCH (v:ClewVersion {namespace: $namespace, document_id: id}) WHERE v.version > 0 DELETE v
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
    held = _read_held(database, prepared)
    functional, former = held.numbers.functional, _NOTHING
    if not held.version.is_first:
        former = _forget_former(database, prepared.entry.document.id, functional)
    plan = plan_names(
        prepared.names,
        prepared.entry.links,
        known_names(database, prepared.names, held.names),
        next_entity=held.numbers.entity,
        next_alias=held.numbers.alias,
    )
    relations = _insert(database, prepared, held, plan, former.history)
    move_names(database, plan)
    moved = plan.resolved.moved
    sweep(database, former.touched | moved)
    heads = former.heads | heads_of(relations, functional)
    settle(database, heads | heads_around(database, moved, functional), functional)


def _read_held(database: Neo4jDatabase, prepared: PreparedDocument) -> _Held:
    document = prepared.entry.document
    keys = keys_asked(prepared.names, prepared.entry.links)
    dimension, number, derived_from, sha256, texts, known, rules, *numbers = database.rows(
        _HELD, document_id=document.id, sha256=document.sha256, keys=keys
    )[0]
    if prepared.chunks and prepared.vectors.shape[1] != dimension:
        raise StoreMismatchError(
            f"the store {database.address!r} was embedded again meanwhile: its vectors have"
            f" {dimension} dimensions by now, those of {document.source!r} have"
            f" {prepared.vectors.shape[1]}; open it again, with its embedder"
        )
    version = FIRST
    if number is not None:
        held = HeldVersion(number, derived_from, sha256)
        version = version_after(held, document, "".join(texts))
    return _Held(version, (known, rules), to_numbers(numbers))


def _insert(
    database: Neo4jDatabase,
    prepared: PreparedDocument,
    held: _Held,
    plan: NamePlan,
    history: History,
) -> list[RelationRow]:
    """Write all that is new; the relations that the document states."""
    entry, version, numbers, moment = prepared.entry, held.version, held.numbers, now()
    text = number_rows(
        prepared, version, moment, first_section=numbers.section, first_chunk=numbers.chunk
    )
    relations = document_rows(
        entry,
        text.chunk_ids,
        plan.resolved,
        first_id=numbers.relation,
        history=history,
        moment=moment,
        extractor=extractor_of(entry.recipe),
    )
    rows = {
        **_text_rows(prepared, text),
        **name_rows(plan),
        "versions": _open_version(database, entry.document, version, moment),
        "mentions": mention_rows(entry, text.chunk_ids, plan.resolved),
        **_relation_rows(relations, moment),
    }
    counts = numbers.after_change(entities_moved=bool(plan.resolved.moved))
    insert_rows(database, rows, counts)
    return relations


def _open_version(
    database: Neo4jDatabase, document: Document, version: Version, moment: str
) -> list[Row]:
    """Close the version before; the row of a new one, none where the version is kept."""
    if not version.is_new:
        return []
    if not version.is_first:
        former = {"document_id": document.id, "version": version.number - 1}
        database.rows(_CLOSE_VERSION, **former, moment=moment)
    return [
        {
            "document_id": document.id,
            "version": version.number,
            "sha256": document.sha256,
            "derived_from": version.derived_from,
            "indexed_at": moment,
        }
    ]


def _text_rows(prepared: PreparedDocument, rows: NumberedRows) -> Rows:
    vectors = prepared.vectors.tolist()
    return {
        "documents": [rows.document],
        "sections": rows.sections,
        "chunks": [
            {**row, "terms": terms, "vector": vector}
            for row, terms, vector in zip(rows.chunks, prepared.terms, vectors, strict=True)
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
    history, touched = database.rows(_FORMER, rows=[document_id])[0]
    database.rows(_FORGET, rows=[document_id])
    return _Former(
        touched=set(touched),
        heads={head for head, _, kind, *_ in history if kind in functional},
        history={
            (start, kind, end): (since, until) for _, start, kind, end, since, until in history
        },
    )


def delete_documents(database: Neo4jDatabase, document_ids: Sequence[str]) -> int:
    """Delete documents and all that only they held; the number that existed."""
    ids = list(dict.fromkeys(document_ids))
    functional = read_numbers(database).functional
    heads = heads_of_documents(database, ids, functional)
    touched = {e for found, *_ in send_rows(database, _TOUCHED, ids) for e in found}
    known = len(send_rows(database, _FORGET, ids))
    if known:
        send_rows(database, _FORGET_VERSIONS, ids)
        sweep(database, touched)
        settle(database, heads, functional)
        count_change(database)
    return known
