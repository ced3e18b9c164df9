"""What matrices and other derived structures are built from, and what a question reads instead.

Batches are ranges of ids, which an index serves. A list a column: a driver's row costs many values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from clew.stores.backend import Statement
from clew.stores.statements import AMONG, AMONG_KEYS
from clew.stores.statements.relations import described

# Without ORDER BY, SQLite reads a small index in place of the table with its texts.
CHUNK_IDS = Statement(
    "SELECT id FROM chunks",
    "MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > 0 RETURN collect(c.id)",
)
CHUNK_IDS_AFTER = Statement(
    "SELECT id FROM chunks WHERE id > :after",
    "MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > $after RETURN collect(c.id)",
)
# Columns: chunk, its terms.
CHUNK_TERMS = Statement(
    f"SELECT rowid, terms FROM keywords WHERE rowid {AMONG}",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) RETURN [c.id, c.terms] AS row
""",
)
# Columns: id, document_id, ordinal, text, context, sentences, language.
PASSAGES = Statement(
    """
SELECT c.id, c.document_id, c.ordinal, c.text, c.context, c.sentences, d.language
FROM chunks c LEFT JOIN documents d ON d.id = c.document_id
WHERE c.id > :after ORDER BY c.id LIMIT :limit
""",
    # Ordered as the index is, so that it ends where there are enough.
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > $after
WITH c ORDER BY c.namespace, c.id LIMIT $limit
OPTIONAL MATCH (d:ClewDocument {namespace: $namespace, id: c.document_id})
RETURN [c.id, c.document_id, c.ordinal, c.text, c.context, c.sentences, d.language] AS row
""",
)
# Columns: chunk, sentence, entity, count.
MENTIONS = Statement(
    """
SELECT chunk_id, sentence, entity_id, count FROM entity_mentions
WHERE chunk_id > :after AND chunk_id <= :until
""",
    """
MATCH ()-[m:MENTIONS {namespace: $namespace}]->(e:ClewEntity)
WHERE $after < m.chunk_id <= $until
RETURN collect(m.chunk_id), collect(m.sentence), collect(e.id), collect(m.count)
""",
)
MENTIONS_OF = Statement(
    f"SELECT chunk_id, sentence, entity_id, count FROM entity_mentions WHERE chunk_id {AMONG}",
    """
UNWIND $ids AS id
MATCH (:ClewChunk {namespace: $namespace, id: id})-[m:MENTIONS {namespace: $namespace}]->(e)
RETURN collect(m.chunk_id), collect(m.sentence), collect(e.id), collect(m.count)
""",
)
RELATION_IDS = Statement(
    "SELECT id FROM relations",
    "MATCH ()-[r:RELATES {namespace: $namespace}]->() WHERE r.id > 0 RETURN collect(r.id)",
)
# Columns: those of `ports.RelationRows`.
RELATIONS = Statement(
    """
SELECT id, from_entity_id, to_entity_id, weight, coalesce(chunk_id, 0), coalesce(sentence, -1)
FROM entity_relations WHERE id > :after AND id <= :until AND retracted_at IS NULL ORDER BY id
""",
    """
MATCH (head:ClewEntity)-[r:RELATES {namespace: $namespace}]->(tail:ClewEntity)
WHERE $after < r.id <= $until AND r.retracted_at IS NULL
WITH r, head, tail ORDER BY r.id
RETURN collect(r.id), collect(head.id), collect(tail.id), collect(r.weight),
    collect(coalesce(r.chunk_id, 0)), collect(coalesce(r.sentence, -1))
""",
)
ENTITIES_OF_TYPE = Statement(
    "SELECT id FROM entities WHERE entity_type = :type",
    """
MATCH (e:ClewEntity {namespace: $namespace, entity_type: $type})
USING INDEX e:ClewEntity(namespace, entity_type)
RETURN collect(e.id)
""",
)

# --- around a question: what `graph` walks over where it has no snapshot

# Counted as far as it takes to tell an entity of few mentions from one of more than `most`.
_SQL_FEW = """
(SELECT count(*) FROM (
    SELECT 1 FROM aliases a JOIN mentions m ON m.alias_id = a.id
    WHERE a.entity_id = f.id LIMIT :most + 1)) <= :most
"""
# How many relationships a node has is kept with it.
_CYPHER_PASSAGES_OF = """
WITH e WHERE COUNT { (e)<-[:MENTIONS]-() } <= $most
MATCH (e)<-[m:MENTIONS {namespace: $namespace}]-(c:ClewChunk)
"""
# The chunks with the ids and those beside them, those of the entities that have few mentions, by id
# or by name, and those about the subjects; but for those that are known.
# Columns: those of `PASSAGES`, and the mentions: lists of sentence, entity and count.
NEARBY_PASSAGES = Statement(
    f"""
WITH followed (id, about) AS (
    SELECT value, 0 FROM json_each(:entities)
    UNION ALL SELECT entity_id, 0 FROM aliases WHERE key {AMONG_KEYS}
    UNION ALL SELECT value, 1 FROM json_each(:subjects)
),
near (id) AS (
    SELECT n.id FROM json_each(:ids) i JOIN chunks c ON c.id = i.value
    JOIN chunks n ON n.id BETWEEN c.id - 1 AND c.id + 1 AND n.document_id = c.document_id
    UNION
    SELECT m.chunk_id FROM followed f
    JOIN aliases a ON a.entity_id = f.id JOIN mentions m ON m.alias_id = a.id
    WHERE {_SQL_FEW} AND (f.about = 0 OR m.sentence = -1)
    EXCEPT SELECT value FROM json_each(:known)
)
SELECT c.id, c.document_id, c.ordinal, c.text, c.context, c.sentences, d.language,
    (SELECT json_group_array(json_array(m.sentence, a.entity_id, m.count))
        FROM mentions m JOIN aliases a ON a.id = m.alias_id WHERE m.chunk_id = c.id)
FROM near JOIN chunks c ON c.id = near.id JOIN documents d ON d.id = c.document_id
""",
    f"""
CALL () {{
    UNWIND $ids AS id
    MATCH (b:ClewChunk {{namespace: $namespace, id: id}})
    UNWIND [id - 1, id, id + 1] AS near
    MATCH (c:ClewChunk {{namespace: $namespace, id: near}}) WHERE c.document_id = b.document_id
    RETURN c
    UNION
    UNWIND $entities AS id
    MATCH (e:ClewEntity {{namespace: $namespace, id: id}})
    {_CYPHER_PASSAGES_OF}
    RETURN c
    UNION
    UNWIND $keys AS key
    MATCH (:ClewAlias {{namespace: $namespace, key: key}})-[:NAMES {{namespace: $namespace}}]->(e)
    {_CYPHER_PASSAGES_OF}
    RETURN c
    UNION
    UNWIND $subjects AS id
    MATCH (e:ClewEntity {{namespace: $namespace, id: id}})
    {_CYPHER_PASSAGES_OF} WHERE m.sentence = -1
    RETURN c
}}
WITH c WHERE NOT c.id IN $known
MATCH (d:ClewDocument {{namespace: $namespace, id: c.document_id}})
RETURN [c.id, c.document_id, c.ordinal, c.text, c.context, c.sentences, d.language, COLLECT {{
    MATCH (c)-[m:MENTIONS {{namespace: $namespace}}]->(e:ClewEntity)
    RETURN [m.sentence, e.id, m.count]
}}] AS row
""",
)
# Columns: entity, chunks, mentions (two of a chunk at most), chunks that are about it.
ENTITY_COUNTS = Statement(
    f"""
SELECT entity_id, count(*), sum(min(times, 2)), sum(about) FROM (
    SELECT a.entity_id, sum(CASE WHEN m.sentence = -1 THEN 0 ELSE m.count END) AS times,
        max(m.sentence = -1) AS about
    FROM aliases a JOIN mentions m ON m.alias_id = a.id
    WHERE a.entity_id IN (
        SELECT value FROM json_each(:counted)
        UNION SELECT entity_id FROM aliases WHERE key {AMONG_KEYS})
    GROUP BY a.entity_id, m.chunk_id)
GROUP BY entity_id
""",
    """
CALL () {
    UNWIND $counted AS id
    MATCH (e:ClewEntity {namespace: $namespace, id: id}) RETURN e
    UNION
    UNWIND $keys AS key
    MATCH (:ClewAlias {namespace: $namespace, key: key})-[:NAMES {namespace: $namespace}]->(e)
    RETURN e
}
MATCH (e)<-[m:MENTIONS {namespace: $namespace}]-()
WITH e.id AS id, m.chunk_id AS chunk,
    sum(CASE m.sentence WHEN -1 THEN 0 ELSE m.count END) AS times,
    max(CASE m.sentence WHEN -1 THEN 1 ELSE 0 END) AS about
WITH id, count(*) AS chunks, sum(CASE WHEN times > 2 THEN 2 ELSE times END) AS times,
    sum(about) AS about
RETURN [id, chunks, times, about] AS row
""",
)
# Columns: term, chunks that hold it.
TERM_COUNTS = Statement(
    """
SELECT t.value, (SELECT count(*) FROM keywords
    WHERE keywords MATCH '"' || replace(t.value, '"', '""') || '"')
FROM json_each(:terms) t
""",
    r"""
UNWIND $terms AS term
CALL (term) {
    WITH '"' + replace(replace(term, '\\', '\\\\'), '"', '\\"') + '"' AS phrase
    CALL db.index.fulltext.queryNodes('clew_keywords_' + $namespace, phrase) YIELD node
    RETURN count(node) AS chunks
}
RETURN [term, chunks] AS row
""",
)
CHUNK_COUNT = Statement(
    "SELECT count(*) FROM chunks",
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > 0 RETURN [count(c)] AS row
""",
)

# --- figures

# The number of sentences is that of the inner brackets of their JSON.
# Columns: documents, sections, chunks, entities, aliases, sentences, mentions.
COUNTS = Statement(
    """
SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM sections),
    (SELECT count(*) FROM chunks), (SELECT count(*) FROM entities),
    (SELECT count(*) FROM aliases),
    (SELECT coalesce(sum(json_array_length(sentences)), 0) FROM chunks),
    (SELECT coalesce(sum(count), 0) FROM mentions WHERE sentence >= 0)
""",
    """
CALL () {
    MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > 0
    RETURN count(c) AS chunks, sum(size(split(c.sentences, '[')) - 2) AS sentences
}
CALL () {
    MATCH ()-[m:MENTIONS {namespace: $namespace}]->() WHERE m.chunk_id > 0 AND m.sentence >= 0
    RETURN sum(m.count) AS mentions
}
RETURN [
    COUNT { (d:ClewDocument {namespace: $namespace}) WHERE d.id IS NOT NULL },
    COUNT { (n:ClewSection {namespace: $namespace}) WHERE n.id > 0 },
    chunks,
    COUNT { (e:ClewEntity {namespace: $namespace}) WHERE e.id > 0 },
    COUNT { (a:ClewAlias {namespace: $namespace}) WHERE a.id > 0 },
    sentences, mentions
] AS row
""",
)
# Columns: type, relations, those that ended or were retracted.
RELATION_TYPES = Statement(
    """
SELECT relation_type, count(*) AS number,
    sum(CASE WHEN retracted_at IS NOT NULL OR valid_until <= :now THEN 1 ELSE 0 END)
FROM relations GROUP BY 1 ORDER BY number DESC, 1
""",
    """
MATCH ()-[r:RELATES {namespace: $namespace}]->() WHERE r.id > 0
WITH r.relation_type AS type, count(*) AS number,
    sum(CASE WHEN r.retracted_at IS NOT NULL OR r.valid_until <= $now THEN 1 ELSE 0 END) AS ended
RETURN [type, number, ended] AS row ORDER BY number DESC, type
""",
)


# Communities, topics, and what the partition knows beside them.
#
# What SQL keeps as JSON or as bytes (names, ids, members), Cypher keeps as lists. Embeddings and
# the arrays of the partition are little-endian bytes in both.


_COMMUNITIES = "MATCH (c:ClewCommunity {namespace: $namespace})"


def _kept(names: Sequence[str]) -> Statement:
    """One row with the values of those names, null where there is none."""
    values = ", ".join(f"(SELECT value FROM partition_state WHERE name = '{n}')" for n in names)
    return Statement(
        f"SELECT {values}",
        f"""
OPTIONAL MATCH (p:ClewPartition {{namespace: $namespace}})
RETURN [{", ".join(f"p.{n}" for n in names)}] AS row
""",
    )


BUILT = _kept(("built", "next_topic"))
PARTITION = _kept(("entity_ids", "neighbourhoods", "strengths", "moved", "next_id"))
# In place of those of that name. Rows: name, value.
KEEP = Statement(
    "INSERT OR REPLACE INTO partition_state VALUES (:name, :value)",
    """
UNWIND $rows AS row
MERGE (p:ClewPartition {namespace: $namespace}) SET p[row.name] = row.value
""",
)


_TABLES = {
    "communities": ("ClewCommunity", "id"),
    "topics": ("ClewTopic", "id"),
    "themes": ("ClewTheme", "number"),
}
"""Label and key of the nodes that hold the rows of a table."""


def _all(table: str, *columns: str) -> Statement:
    """Those columns of every row of a table."""
    label, key = _TABLES[table]
    # A composite index finds only nodes that have every property that it is made of.
    return Statement(
        f"SELECT {', '.join(columns)} FROM {table}",
        f"MATCH (n:{label} {{namespace: $namespace}}) WHERE n.{key} IS NOT NULL"
        f" RETURN [{', '.join(f'n.{name}' for name in columns)}] AS row",
    )


PLACES = _all("communities", "id", "level", "parent")
MEMBERS = _all("communities", "id", "level", "parent", "members", "embedding IS NOT NULL")
REPORT_BASES = Statement(
    "SELECT id, entity_ids, entities, sources FROM communities WHERE embedding IS NOT NULL",
    f"""
{_COMMUNITIES} WHERE c.id IS NOT NULL AND c.embedding IS NOT NULL
RETURN [c.id, c.entity_ids, c.entities, c.sources] AS row
""",
)


_SAID = described("'community:' || communities.id", "'community:' + toString(c.id)")


@cache
def reported(columns: tuple[str, ...], *, among: bool, at_level: bool) -> Statement:
    """Those columns of communities that have a report: of `ids`, or as one sees them at `level`.

    Last comes what a language model says of each, see `described`.
    """
    sql = ["embedding IS NOT NULL"]
    cypher = ["c.id IS NOT NULL", "c.embedding IS NOT NULL"]
    if among:
        sql.append("id IN (SELECT value FROM json_each(:ids))")
        cypher.append("c.id IN $ids")
    if at_level:
        sql.append(
            """
(level = :level OR level < :level AND NOT EXISTS (
    SELECT 1 FROM communities p WHERE p.parent = communities.id AND p.embedding IS NOT NULL))
"""
        )
        cypher.append(
            """
(c.level = $level OR c.level < $level AND NOT EXISTS {
    MATCH (part:ClewCommunity {namespace: $namespace, parent: c.id})
    WHERE part.embedding IS NOT NULL})
"""
        )
    return Statement(
        f"SELECT {', '.join(columns)}, {_SAID[0]} FROM communities WHERE {' AND '.join(sql)}",
        f"{_COMMUNITIES} WHERE {' AND '.join(cypher)}"
        f" RETURN [{', '.join(f'c.{name}' for name in columns)}, {_SAID[1]}] AS row",
    )


_SAID_OF_TOPIC = described("'topic:' || t.id", "'topic:' + toString(t.id)")
_SAID_OF_THEME = described("'theme:' || h.title", "'theme:' + h.title")


def _topics(sql: str, cypher: str) -> Statement:
    return Statement(
        f"""
SELECT t.id, t.name, h.title, t.passages, t.documents, {_SAID_OF_TOPIC[0]}, {_SAID_OF_THEME[0]}
FROM topics t JOIN themes h ON h.number = t.theme WHERE {sql}
""",
        f"""
MATCH (t:ClewTopic {{namespace: $namespace}}) WHERE {cypher}
MATCH (h:ClewTheme {{namespace: $namespace, number: t.theme}})
RETURN [t.id, t.name, h.title, t.passages, t.documents, {_SAID_OF_TOPIC[1]}, {_SAID_OF_THEME[1]}]
    AS row
""",
    )


TOPICS = _topics("true", "t.id IS NOT NULL")
TOPICS_AMONG = _topics("t.id IN (SELECT value FROM json_each(:ids))", "t.id IN $ids")
TOPIC_KEYS = _all("topics", "key", "id")
TOPIC_VECTORS = _all("topics", "id", "embedding")
TOPIC_THEMES = _all("topics", "id", "theme")
TOPIC_CHUNKS = Statement(
    "SELECT topic_id, chunk_id FROM topic_chunks"
    " WHERE topic_id IN (SELECT value FROM json_each(:ids))",
    """
MATCH (t:ClewTopic {namespace: $namespace}) WHERE t.id IN $ids
UNWIND t.chunks AS chunk
RETURN [t.id, chunk] AS row
""",
)
THEMES = _all("themes", "number", "title")
THEME_VECTORS = _all("themes", "number", "embedding")
