"""Documents with their sections and chunks."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import NamedTuple

from clew.filters import FIELDS, OF_METADATA, Values, fields
from clew.stores.backend import Statement
from clew.stores.statements import AMONG, AMONG_KEYS
from clew.stores.statements.relations import described
from clew.text import cached, one_line
from clew.types import DatePrecision, Filter, Metadata, partial_date

# What filters ask a document about: its fields, its metadata, those of its chunks.


COLUMNS = (
    *("title", "source", "media_type", "origin", "created_at", "date_precision", "updated_at"),
    "language",
)
"""Columns of a document that its fields are made of."""
_NEAR, _TOLD = 3, 3
"""Names near to one that no document has, and notes, at most."""
_NAMED_METADATA, _LISTED = 40, 200
"""Characters of a name, and of all names, in a note."""


class DocumentValues(NamedTuple):
    """What filters may ask of a document."""

    columns: Sequence[str | None]
    """What it holds of `COLUMNS`, in that order, as it is stored."""
    metadata: Metadata

    def of(self, own: Metadata | None = None) -> Values:
        """The values of the document, or of a chunk of it with metadata of its own."""

        def value(name: str) -> object:
            of_metadata = OF_METADATA.get(name, name)
            if own and own.get(of_metadata) is not None:
                return own[of_metadata]
            field = field_value((name, *self.columns)) if name in FIELDS else None
            return self.metadata.get(of_metadata) if field is None else field

        return value


@cached(16, longest=200)
def field_value(asked: tuple[str | None, ...]) -> str | list[str] | None:
    """A field of a document: given are its name and the values of `COLUMNS`, in that order."""
    name, *columns = asked
    stored = dict(zip(COLUMNS, columns, strict=True))
    if name == "path":
        return stored["origin"] or None
    if name == "type":
        # Whatever a user calls it: `text/x-python`, `x-python`, `python`, `.py` and `py`.
        media_type = stored["media_type"] or ""
        kind = media_type.rpartition("/")[2]
        ending = PurePosixPath(stored["origin"] or "").suffix.lower()
        return [media_type, kind, kind.removeprefix("x-"), ending, ending.removeprefix(".")]
    if name == "language":
        return stored["language"] or "unknown"
    if name in ("date", "created_at") and stored["created_at"]:
        known: Mapping[str, DatePrecision] = {"year": "year", "month": "month", "day": "day"}
        precision = known.get(stored["date_precision"] or "", "time")
        date = partial_date(datetime.fromisoformat(stored["created_at"]), precision)
        return (date.iso or None) if date else None
    return stored.get(name or "") or None


def unknown_fields(where: Sequence[Filter], names: Iterable[str]) -> list[str]:
    """What to say of the fields that no document has; `names` are those of all metadata."""
    known = sorted({*FIELDS, *names})
    unknown = {name: None for one in where for name in fields(one) if name not in known}
    listed = ", ".join(one_line(name)[:_NAMED_METADATA] for name in known)
    there_are = listed if len(listed) <= _LISTED else f"{listed[:_LISTED]}…"
    notes = []
    for name in list(unknown)[:_TOLD]:
        near = " or ".join(map(_named, difflib.get_close_matches(name, known, _NEAR)))
        guess = f"did you mean {near}?" if near else f"there are {there_are}"
        notes.append(f"no document has the field {_named(name)}; {guess}")
    return notes


def _named(name: str) -> str:
    return repr(one_line(name)[:_NAMED_METADATA])


_LONGEST_KEY = 60
"""Characters of what descriptions are looked up by; types and times are shorter."""


def description_keys(metadata: Metadata) -> dict[str, str]:
    """What a document that describes an entity is looked up by: its type, and when it holds."""
    names = ("entity_type", "start", "last", "end")
    kind, begins, last, end = (str(metadata.get(name) or "")[:_LONGEST_KEY] for name in names)
    return {"describes": kind, "begins": begins, "ends": last or end or begins}


DOCUMENT = (
    "id source origin title sha256 media_type language created_at date_source date_precision"
    " updated_at indexed_at metadata recipe characters version derived_from read_from"
).split()
"""Columns of a document; then the numbers of its sections and chunks, and its description."""
_DOCUMENT = ", ".join(f"d.{name}" for name in DOCUMENT)
_SAID = described("'document:' || d.id", "'document:' + d.id")
_SQL_DOCUMENT = f"""
SELECT {_DOCUMENT},
    (SELECT count(*) FROM sections s WHERE s.document_id = d.id),
    (SELECT count(*) FROM chunks c WHERE c.document_id = d.id), {_SAID[0]}
FROM documents d
"""
_CYPHER_DOCUMENT = f"""
RETURN [{_DOCUMENT},
    COUNT {{ (d)<-[:PART_OF {{namespace: $namespace}}]-(:ClewSection) }},
    COUNT {{ (d)<-[:PART_OF {{namespace: $namespace}}]-(:ClewChunk) }}, {_SAID[1]}] AS row
"""
_DOCUMENTS_OF_IDS = """
UNWIND $ids AS id
MATCH (d:ClewDocument {namespace: $namespace, id: id})
"""

DOCUMENTS = Statement(
    _SQL_DOCUMENT,
    f"""
MATCH (d:ClewDocument {{namespace: $namespace}}) WHERE d.source >= ''
{_CYPHER_DOCUMENT}
""",
)
# Those whose sources come next, in their order.
DOCUMENTS_AFTER = Statement(
    f"{_SQL_DOCUMENT} WHERE d.source > :after ORDER BY d.source LIMIT :limit",
    f"""
MATCH (d:ClewDocument {{namespace: $namespace}}) WHERE d.source > $after
WITH d ORDER BY d.source LIMIT $limit
{_CYPHER_DOCUMENT}
""",
)
DOCUMENTS_BY_ORIGIN = Statement(
    f"{_SQL_DOCUMENT} WHERE d.origin = :origin",
    f"MATCH (d:ClewDocument {{namespace: $namespace, origin: $origin}}) {_CYPHER_DOCUMENT}",
)
DOCUMENTS_BY_ID = Statement(
    f"{_SQL_DOCUMENT} WHERE d.id {AMONG}", f"{_DOCUMENTS_OF_IDS} {_CYPHER_DOCUMENT}"
)
DESCRIBED = Statement(
    f"{_SQL_DOCUMENT} WHERE d.describes = :type AND d.ends >= :since AND d.begins < :until",
    f"""
MATCH (d:ClewDocument {{namespace: $namespace, describes: $type}})
USING INDEX d:ClewDocument(namespace, describes, ends)
WHERE d.ends >= $since AND d.begins < $until
{_CYPHER_DOCUMENT}
""",
)
# Each language once, read from an index.
LANGUAGES = Statement(
    """
WITH RECURSIVE found (language) AS (
    SELECT min(language) FROM documents WHERE language > ''
    UNION ALL
    SELECT (SELECT min(language) FROM documents d WHERE d.language > found.language)
    FROM found WHERE found.language IS NOT NULL
)
SELECT language FROM found WHERE language IS NOT NULL
""",
    """
MATCH (d:ClewDocument {namespace: $namespace}) WHERE d.language > ''
RETURN DISTINCT [d.language] AS row
""",
)
KNOWN_DOCUMENTS = Statement(
    f"SELECT d.id FROM documents d WHERE d.id {AMONG}",
    f"{_DOCUMENTS_OF_IDS} RETURN [d.id] AS row",
)
_NAMED = 200
# At most `_NAMED` documents. Columns: id, source, title_key, file_key and the chunk's id.
NAMED_CHUNKS = Statement(
    f"""
SELECT d.id, d.source, d.title_key, d.file_key, c.id FROM (
    SELECT id, source, title_key, file_key FROM documents
    WHERE title_key IN (SELECT value FROM json_each(:keys))
        OR file_key IN (SELECT value FROM json_each(:keys))
    ORDER BY source LIMIT {_NAMED}
) d JOIN chunks c ON c.document_id = d.id ORDER BY d.source, c.ordinal
""",
    f"""
CALL () {{
    UNWIND $keys AS key
    MATCH (d:ClewDocument {{namespace: $namespace, title_key: key}}) RETURN d
    UNION
    UNWIND $keys AS key
    MATCH (d:ClewDocument {{namespace: $namespace, file_key: key}}) RETURN d
}}
WITH DISTINCT d ORDER BY d.source LIMIT {_NAMED}
MATCH (c:ClewChunk {{namespace: $namespace, document_id: d.id}})
RETURN [d.id, d.source, d.title_key, d.file_key, c.id] AS row ORDER BY d.source, c.ordinal
""",
)
# What filters ask about: columns and metadata of documents, and what chunks have of their own.
ASKED_DOCUMENTS = Statement(
    f"SELECT id, metadata, {', '.join(COLUMNS)} FROM documents",
    f"""
MATCH (d:ClewDocument {{namespace: $namespace}}) WHERE d.id >= ''
RETURN [d.id, d.metadata, {", ".join(f"d.{name}" for name in COLUMNS)}] AS row
""",
)
ASKED_CHUNKS = Statement(
    "SELECT id, document_id, nullif(metadata, '{}') FROM chunks",
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > 0
RETURN [c.id, c.document_id, CASE c.metadata WHEN '{}' THEN null ELSE c.metadata END] AS row
""",
)
# --- chunks and sections

CHUNK = {
    "id": "c.id",
    "document_id": "c.document_id",
    "source": "d.source",
    "title": "d.title",
    "ordinal": "c.ordinal",
    "section_id": "c.section_id",
    "start": "c.start",
    "end": "c.end",
    "page": "c.page",
    "text": "c.text",
    "context": "c.context",
    "key": "c.key",
    "document_metadata": "d.metadata",
    "metadata": "c.metadata",
    "language": "d.language",
}
"""Columns of a chunk, by name."""
SECTION = ("id", "document_id", "ordinal", "start", "end", "headings", "text")
PROVENANCE = {
    "document": "c.document_id",
    "title": "d.title",
    "source": "d.source",
    "version": "d.version",
    "sha256": "d.sha256",
    "derived_from": "d.derived_from",
    "page": "c.page",
    "start": "c.start",
    "end": "c.end",
    "indexed_at": "d.indexed_at",
    "created_at": "d.created_at",
    "date_source": "d.date_source",
    "date_precision": "d.date_precision",
    "recipe": "d.recipe",
    "document_metadata": "d.metadata",
    "metadata": "c.metadata",
}
"""Columns of a chunk's provenance, by name."""
_CHUNK = ", ".join(CHUNK.values())
_SECTION = ", ".join(f"s.{name}" for name in SECTION)
_PROVENANCE = ", ".join(PROVENANCE.values())
_SQL_CHUNKS = "FROM chunks c JOIN documents d ON d.id = c.document_id"
_CYPHER_DOCUMENT_OF = """
MATCH (c)-[:PART_OF {namespace: $namespace}]->(d:ClewDocument {namespace: $namespace})
"""
_CHUNKS_OF_IDS = """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id})
"""

CHUNKS = Statement(
    f"SELECT {_CHUNK} {_SQL_CHUNKS} WHERE c.id {AMONG}",
    f"{_CHUNKS_OF_IDS} {_CYPHER_DOCUMENT_OF} RETURN [{_CHUNK}] AS row",
)
DOCUMENT_CHUNKS = Statement(
    f"SELECT {_CHUNK} {_SQL_CHUNKS} WHERE d.id {AMONG} ORDER BY c.document_id, c.ordinal",
    f"""
UNWIND $ids AS id
MATCH (c:ClewChunk {{namespace: $namespace, document_id: id}})
{_CYPHER_DOCUMENT_OF} RETURN [{_CHUNK}] AS row ORDER BY c.document_id, c.ordinal
""",
)
SECTIONS = Statement(
    f"SELECT {_SECTION} FROM sections s WHERE s.id {AMONG}",
    f"""
UNWIND $ids AS id
MATCH (s:ClewSection {{namespace: $namespace, id: id}}) RETURN [{_SECTION}] AS row
""",
)
DOCUMENT_SECTIONS = Statement(
    f"SELECT {_SECTION} FROM sections s WHERE s.document_id {AMONG}"
    " ORDER BY s.document_id, s.ordinal",
    f"""
UNWIND $ids AS id
MATCH (s:ClewSection {{namespace: $namespace, document_id: id}})
RETURN [{_SECTION}] AS row ORDER BY s.document_id, s.ordinal
""",
)
# Columns: id, text, start, sentences.
SENTENCES = Statement(
    f"SELECT c.id, c.text, c.start, c.sentences FROM chunks c WHERE c.id {AMONG}",
    f"{_CHUNKS_OF_IDS} RETURN [c.id, c.text, c.start, c.sentences] AS row",
)
# Columns: id, then those of PROVENANCE.
PROVENANCES = Statement(
    f"SELECT c.id, {_PROVENANCE} {_SQL_CHUNKS} WHERE c.id {AMONG}",
    f"{_CHUNKS_OF_IDS} {_CYPHER_DOCUMENT_OF} RETURN [c.id, {_PROVENANCE}] AS row",
)
# Columns: CHUNK, SECTION, PROVENANCE, and the chunk's sentences.
PASSAGES = Statement(
    f"""
SELECT {_CHUNK}, {_SECTION}, {_PROVENANCE}, c.sentences
{_SQL_CHUNKS} JOIN sections s ON s.id = c.section_id WHERE c.id {AMONG}
""",
    f"""
{_CHUNKS_OF_IDS} {_CYPHER_DOCUMENT_OF}
MATCH (c)-[:IN_SECTION {{namespace: $namespace}}]->(s:ClewSection {{namespace: $namespace}})
RETURN [{_CHUNK}, {_SECTION}, {_PROVENANCE}, c.sentences] AS row
""",
)

# --- saving and deleting

# Columns: version, derived_from, sha256.
HELD_VERSION = Statement(
    "SELECT version, derived_from, sha256 FROM documents WHERE id = :id",
    """
MATCH (d:ClewDocument {namespace: $namespace, id: $id})
RETURN [d.version, d.derived_from, d.sha256] AS row
""",
)
# The text is read only where it may be the same. Columns: ordinal, text.
HELD_TEXT = Statement(
    """
SELECT s.ordinal, s.text FROM documents d JOIN sections s ON s.document_id = d.id
WHERE d.id = :id AND d.sha256 = :sha256
""",
    """
MATCH (d:ClewDocument {namespace: $namespace, id: $id}) WHERE d.sha256 = $sha256
MATCH (s:ClewSection {namespace: $namespace, document_id: d.id})
RETURN [s.ordinal, s.text] AS row
""",
)
CLOSE_VERSION = Statement(
    """
UPDATE document_versions SET replaced_at = :moment
WHERE document_id = :id AND version = :version
""",
    """
MATCH (v:ClewVersion {namespace: $namespace, document_id: $id, version: $version})
SET v.replaced_at = $moment
""",
)
_SQL_CHUNKS_OF = f"SELECT id FROM chunks WHERE document_id {AMONG}"
# Entities that the documents mention or state relations of.
TOUCHED_ENTITIES = Statement(
    f"""
SELECT entity_id FROM entity_mentions WHERE chunk_id IN ({_SQL_CHUNKS_OF})
UNION SELECT from_entity_id FROM entity_relations WHERE chunk_id IN ({_SQL_CHUNKS_OF})
UNION SELECT to_entity_id FROM entity_relations WHERE chunk_id IN ({_SQL_CHUNKS_OF})
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, document_id: id})
CALL (c) {
    MATCH (c)-[:MENTIONS {namespace: $namespace}]->(e:ClewEntity) RETURN e
    UNION
    MATCH (h)-[:RELATES {namespace: $namespace, chunk_id: c.id}]->(t)
    UNWIND [h, t] AS e
    RETURN e
}
RETURN DISTINCT [e.id] AS row
""",
)
# What documents state now: a later version that still does states nothing new.
# Columns: id and key of the head, type, key of the tail, recorded_at, retracted_at.
STATED_HISTORY = Statement(
    f"""
SELECT h.entity_id, h.key, r.relation_type, t.key, min(r.recorded_at),
    CASE WHEN count(r.retracted_at) = count(*) THEN max(r.retracted_at) END, t.entity_id
FROM relations r
JOIN aliases h ON h.id = r.from_alias_id
JOIN aliases t ON t.id = r.to_alias_id
WHERE r.chunk_id IN ({_SQL_CHUNKS_OF})
GROUP BY 1, 2, 3, 4
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, document_id: id})
MATCH (head)-[r:RELATES {namespace: $namespace, chunk_id: c.id}]->(tail)
MATCH (h:ClewAlias {namespace: $namespace, id: r.from_alias_id})
MATCH (t:ClewAlias {namespace: $namespace, id: r.to_alias_id})
WITH head.id AS head, h.key AS from, r.relation_type AS type, t.key AS to,
    min(r.recorded_at) AS since,
    CASE WHEN count(r.retracted_at) = count(*) THEN max(r.retracted_at) END AS until,
    tail.id AS tail
RETURN [head, from, type, to, since, until, tail] AS row
""",
)


# Documents by their digests, which tell what is new, changed or moved.


DIGESTS = Statement(
    "SELECT source, origin, sha256, recipe, read_from FROM documents",
    """
MATCH (d:ClewDocument {namespace: $namespace}) WHERE d.source >= ''
RETURN [d.source, d.origin, d.sha256, d.recipe, d.read_from] AS row
""",
)
# Of documents by their source, by what they were read from, or by how that begins. Columns as in
# `DIGESTS`. The cross join makes SQLite look each beginning up in the index.
DIGESTS_OF = Statement(
    f"""
SELECT source, origin, sha256, recipe, read_from FROM documents WHERE source {AMONG_KEYS}
UNION SELECT source, origin, sha256, recipe, read_from FROM documents WHERE origin {AMONG_KEYS}
UNION SELECT source, origin, sha256, recipe, read_from
FROM json_each(:below) AS b CROSS JOIN documents
    ON origin >= b.value AND origin < b.value || char(0x10ffff)
""",
    """
CALL () {
    UNWIND $keys AS key
    MATCH (d:ClewDocument {namespace: $namespace, source: key}) RETURN d
    UNION
    UNWIND $keys AS key
    MATCH (d:ClewDocument {namespace: $namespace, origin: key}) RETURN d
    UNION
    UNWIND $below AS folder
    MATCH (d:ClewDocument {namespace: $namespace}) WHERE d.origin STARTS WITH folder RETURN d
}
RETURN DISTINCT [d.source, d.origin, d.sha256, d.recipe, d.read_from] AS row
""",
)
# Of what was read from files. Columns: source, origin, sha256.
SAME_DIGESTS = Statement(
    f"""
SELECT source, origin, sha256 FROM documents WHERE read_from = 'file' AND sha256 {AMONG_KEYS}
""",
    """
UNWIND $keys AS key
MATCH (d:ClewDocument {namespace: $namespace, sha256: key}) WHERE d.read_from = 'file'
RETURN [d.source, d.origin, d.sha256] AS row
""",
)


# Versions of documents, and the texts of earlier ones.


VERSIONS = Statement(
    """
SELECT version, sha256, derived_from, indexed_at, replaced_at,
    replaced_at IS NULL OR EXISTS (SELECT 1 FROM earlier_texts e
        WHERE e.document_id = v.document_id AND e.version = v.version)
FROM document_versions v WHERE document_id = :id ORDER BY version
""",
    """
MATCH (v:ClewVersion {namespace: $namespace, document_id: $id}) WHERE v.version > 0
RETURN [v.version, v.sha256, v.derived_from, v.indexed_at, v.replaced_at,
    v.replaced_at IS NULL OR EXISTS {
        (:ClewEarlierText {namespace: $namespace, document_id: $id, version: v.version}) }] AS row
ORDER BY v.version
""",
)

OF_CHUNK = {
    "id": "c.id",
    "ordinal": "c.ordinal",
    "section_id": "c.section_id",
    "start": "c.start",
    "end": "c.end",
    "page": "c.page",
    "key": "c.key",
    "context": "c.context",
    "metadata": "c.metadata",
    "sentences": "c.sentences",
    "terms": "k.terms",
}
"""What is kept of a chunk, by name, beside its text and its vector."""
_SQL_CHUNK = ", ".join(OF_CHUNK.values())
_CYPHER_CHUNK = _SQL_CHUNK.replace("k.terms", "c.terms")

# In any order. Columns: those of OF_CHUNK, then the vector.
HELD_CHUNKS = Statement(
    f"""
SELECT {_SQL_CHUNK}, e.vector FROM chunks c
JOIN keywords k ON k.rowid = c.id JOIN embeddings e ON e.chunk_id = c.id
WHERE c.document_id IN (SELECT value FROM json_each(:ids))
""",
    f"""
UNWIND $ids AS id
MATCH (c:ClewChunk {{namespace: $namespace, document_id: id}})
RETURN [{_CYPHER_CHUNK}, c.vector] AS row
""",
)
# In any order. Columns: chunk_id, said, start, end, text.
HELD_DATES = Statement(
    """
SELECT t.chunk_id, t.said, t.start, t."end", t.text
FROM chunks c JOIN chunk_times t ON t.chunk_id = c.id
WHERE c.document_id IN (SELECT value FROM json_each(:ids))
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, document_id: id})
MATCH (t:ClewTime {namespace: $namespace, chunk_id: c.id})
RETURN [t.chunk_id, t.said, t.start, t.end, t.text] AS row
""",
)
# Drop the texts of a document's versions up to `last`; their digests stay.
FORGET = Statement(
    "DELETE FROM earlier_texts WHERE document_id = :id AND version <= :last",
    """
MATCH (n:ClewEarlierText {namespace: $namespace, document_id: $id}) WHERE n.version <= $last
DELETE n
""",
)
DROP = Statement(
    "DELETE FROM earlier_texts WHERE document_id = :id AND version = :version",
    """
MATCH (n:ClewEarlierText {namespace: $namespace, document_id: $id, version: $version}) DELETE n
""",
)
# Of documents with a version that is kept: those and the one held, in order.
# Columns: document, version, indexed_at, the date of its text, whether it is the one held.
DATED = Statement(
    """
SELECT e.document_id, e.version, v.indexed_at, e.said_at, 0
FROM earlier_texts e
JOIN document_versions v ON v.document_id = e.document_id AND v.version = e.version
UNION ALL SELECT v.document_id, v.version, v.indexed_at, d.created_at, 1
FROM (SELECT DISTINCT document_id FROM earlier_texts) e
JOIN document_versions v ON v.document_id = e.document_id AND v.replaced_at IS NULL
JOIN documents d ON d.id = e.document_id
ORDER BY 1, 2
""",
    """
CALL () {
    MATCH (e:ClewEarlierText {namespace: $namespace}) WHERE e.document_id > '' AND e.version > 0
    MATCH (v:ClewVersion {
        namespace: $namespace, document_id: e.document_id, version: e.version})
    RETURN v, e.said_at AS said_at, false AS is_held
    UNION ALL
    MATCH (e:ClewEarlierText {namespace: $namespace}) WHERE e.document_id > '' AND e.version > 0
    WITH DISTINCT e.document_id AS id
    MATCH (d:ClewDocument {namespace: $namespace, id: id})
    MATCH (v:ClewVersion {namespace: $namespace, document_id: id, version: d.version})
    RETURN v, d.created_at AS said_at, true AS is_held
}
RETURN [v.document_id, v.version, v.indexed_at, said_at, is_held] AS row
ORDER BY v.document_id, v.version
""",
)
# By `keys`: (document, version). Columns: the version's, then passages and vectors.
KEPT = Statement(
    """
SELECT v.document_id, v.version, v.sha256, v.derived_from, v.indexed_at, v.replaced_at,
    e.passages, e.vectors
FROM json_each(:keys) k
JOIN earlier_texts e
    ON e.document_id = json_extract(k.value, '$[0]') AND e.version = json_extract(k.value, '$[1]')
JOIN document_versions v ON v.document_id = e.document_id AND v.version = e.version
""",
    """
UNWIND $keys AS key
MATCH (e:ClewEarlierText {namespace: $namespace, document_id: key[0], version: key[1]})
MATCH (v:ClewVersion {namespace: $namespace, document_id: key[0], version: key[1]})
RETURN [v.document_id, v.version, v.sha256, v.derived_from, v.indexed_at, v.replaced_at,
    e.passages, e.vectors] AS row
""",
)
# Columns: document, version; whether there is such a version, and it was replaced.
KEYS = Statement(
    """
SELECT e.document_id, e.version, v.replaced_at IS NOT NULL FROM earlier_texts e
LEFT JOIN document_versions v ON v.document_id = e.document_id AND v.version = e.version
ORDER BY 1, 2
""",
    """
MATCH (e:ClewEarlierText {namespace: $namespace}) WHERE e.document_id > '' AND e.version > 0
OPTIONAL MATCH (v:ClewVersion {
    namespace: $namespace, document_id: e.document_id, version: e.version})
RETURN [e.document_id, e.version, v.replaced_at IS NOT NULL] AS row
ORDER BY e.document_id, e.version
""",
)


# When chunks were said and the times that they speak of; how often they were used.


LONG = 366 * 24 * 60 * 60
"""Seconds of a long period: more than this is rare, and looked up apart from the others."""

# What overlaps a period starts before its end; all that started over a year before its start can
# be left out but for the few long ones (decades, open sides), which have an index of their own.
CHUNKS_WITHIN = Statement(
    f"""
SELECT chunk_id FROM chunk_times WHERE start >= :earliest AND start < :end AND "end" > :start
UNION ALL SELECT chunk_id FROM chunk_times
    WHERE "end" - start > {LONG} AND start < :earliest AND start < :end AND "end" > :start
""",
    """
CALL () {
    UNWIND [0, 1] AS said
    MATCH (t:ClewTime {namespace: $namespace, said: said})
    USING INDEX t:ClewTime(namespace, said, start)
    WHERE t.start >= $earliest AND t.start < $end AND t.end > $start
    RETURN t.chunk_id AS id
    UNION ALL
    MATCH (t:ClewTime {namespace: $namespace, long: true})
    USING INDEX t:ClewTime(namespace, long, start)
    WHERE t.start < $earliest AND t.start < $end AND t.end > $start
    RETURN t.chunk_id AS id
}
RETURN collect(DISTINCT id)
""",
)
SAID_LATER = Statement(
    "SELECT chunk_id FROM chunk_times WHERE said = 1 AND start > :second",
    """
MATCH (t:ClewTime {namespace: $namespace, said: 1})
USING INDEX t:ClewTime(namespace, said, start)
WHERE t.start > $second
RETURN collect(t.chunk_id)
""",
)
# What came to the store later is told by its version, since the same text may be indexed again.
CAME_LATER = Statement(
    """
SELECT c.id FROM document_versions v JOIN chunks c ON c.document_id = v.document_id
WHERE v.replaced_at IS NULL AND v.indexed_at > :known
""",
    """
MATCH (v:ClewVersion {namespace: $namespace})
WHERE v.indexed_at > $known AND v.replaced_at IS NULL
MATCH (c:ClewChunk {namespace: $namespace, document_id: v.document_id})
RETURN collect(c.id)
""",
)
# Columns: chunk_id, said, start, end, text.
CHUNK_DATES = Statement(
    """
SELECT chunk_id, said, start, "end", text FROM chunk_times
WHERE chunk_id IN (SELECT value FROM json_each(:ids))
""",
    """
UNWIND $ids AS id
MATCH (t:ClewTime {namespace: $namespace, chunk_id: id})
RETURN [id, t.said, t.start, t.end, t.text] AS row
""",
)
PUBLISHED_AT = Statement(
    """
SELECT chunk_id, start FROM chunk_times
WHERE said = 1 AND chunk_id IN (SELECT value FROM json_each(:ids))
""",
    """
UNWIND $ids AS id
MATCH (t:ClewTime {namespace: $namespace, chunk_id: id}) WHERE t.said = 1
RETURN [id, t.start] AS row
""",
)
NEWEST_DATE = Statement(
    """
SELECT start FROM chunk_times WHERE said = 1 AND start <= :second ORDER BY start DESC LIMIT 1
""",
    """
MATCH (t:ClewTime {namespace: $namespace, said: 1})
USING INDEX t:ClewTime(namespace, said, start)
WHERE t.start <= $second
RETURN [t.start] AS row ORDER BY t.namespace DESC, t.said DESC, t.start DESC LIMIT 1
""",
)
FIRST_RECORDED = Statement(
    "SELECT indexed_at FROM document_versions ORDER BY indexed_at LIMIT 1",
    """
MATCH (v:ClewVersion {namespace: $namespace}) WHERE v.indexed_at IS NOT NULL
RETURN [v.indexed_at] AS row ORDER BY v.namespace, v.indexed_at LIMIT 1
""",
)
RECORD_USE = Statement(
    """
INSERT INTO usage SELECT id, 1, :moment FROM chunks
WHERE id IN (SELECT value FROM json_each(:ids))
ON CONFLICT (chunk_id) DO UPDATE SET
    uses = uses + 1, last_used = max(last_used, excluded.last_used)
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id})
SET c.uses = coalesce(c.uses, 0) + 1,
    c.last_used = CASE WHEN c.last_used > $moment THEN c.last_used ELSE $moment END
""",
)
USAGE = Statement(
    """
SELECT chunk_id, uses, last_used FROM usage
WHERE chunk_id IN (SELECT value FROM json_each(:ids))
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) WHERE c.uses IS NOT NULL
RETURN [id, c.uses, c.last_used] AS row
""",
)
