"""Relations: as they are, as they stood once, and where functional ones end."""

from __future__ import annotations

from clew.stores.backend import Statement
from clew.stores.statements import AMONG

_OWN = """
r.from_alias_id, r.to_alias_id, r.relation_type, r.weight, r.is_causal, r.confidence, r.context,
r.valid_from, r.valid_until, r.stated_until, r.recorded_at, r.retracted_at, r.chunk_id, r.sentence,
r.extractor
"""
SQL_ENDS = """
FROM relations r
JOIN aliases h ON h.id = r.from_alias_id
JOIN aliases t ON t.id = r.to_alias_id
"""
# Columns: those of `relations.RelationRow`.
_SQL_ROWS = f"SELECT r.id, h.entity_id, t.entity_id, {_OWN} {SQL_ENDS}"
_CYPHER_ROW = f"RETURN [r.id, h.id, t.id, {_OWN}] AS row"
# `known`: only what was recorded by then and not yet retracted. `held`: only what held then, as
# far as the text says; what it does not say, only where it had been said; null for whenever.
_SQL_WHEN = """
r.recorded_at <= :known AND coalesce(r.retracted_at, '~') > :known
AND (:held IS NULL OR coalesce(r.stated_until, '~') > :held AND CASE
    WHEN r.valid_from IS NOT NULL THEN r.valid_from <= :held
    ELSE NOT EXISTS (SELECT 1 FROM chunk_times said WHERE said.chunk_id = r.chunk_id
        AND said.said = 1 AND said.start > CAST(strftime('%s', :held) AS INTEGER)) END)
"""
_CYPHER_WHEN = """
WHERE r.recorded_at <= $known AND coalesce(r.retracted_at, '~') > $known
    AND ($held IS NULL OR coalesce(r.stated_until, '~') > $held AND CASE
        WHEN r.valid_from IS NOT NULL THEN r.valid_from <= $held
        ELSE NOT EXISTS {
            MATCH (said:ClewTime {namespace: $namespace, chunk_id: r.chunk_id})
            WHERE said.said = 1 AND said.start > datetime($held).epochSeconds
        } END)
"""
SQL_OF_ENTITIES = f"""
r.id IN (
    SELECT r.id FROM relations r JOIN aliases a ON a.id = r.from_alias_id WHERE a.entity_id {AMONG}
    UNION
    SELECT r.id FROM relations r JOIN aliases a ON a.id = r.to_alias_id WHERE a.entity_id {AMONG})
"""
CYPHER_OF_ENTITIES = """
UNWIND $ids AS id
MATCH (:ClewEntity {namespace: $namespace, id: id})-[r:RELATES {namespace: $namespace}]-()
WITH DISTINCT r
"""

# --- reading

RELATIONS = Statement(
    f"""
{_SQL_ROWS} WHERE {SQL_OF_ENTITIES} AND {_SQL_WHEN} ORDER BY r.weight DESC, r.id LIMIT :limit
""",
    f"""
{CYPHER_OF_ENTITIES} {_CYPHER_WHEN}
WITH r ORDER BY r.weight DESC, r.id LIMIT $limit
WITH r, startNode(r) AS h, endNode(r) AS t
{_CYPHER_ROW} ORDER BY r.weight DESC, r.id
""",
)
# Of those that both start and end at one of the entities.
RELATIONS_AMONG = Statement(
    f"""
{_SQL_ROWS} WHERE h.entity_id {AMONG} AND t.entity_id {AMONG} AND {_SQL_WHEN}
ORDER BY r.weight DESC, r.id LIMIT :limit
""",
    f"""
UNWIND $ids AS id
MATCH (h:ClewEntity {{namespace: $namespace, id: id}})-[r:RELATES {{namespace: $namespace}}]->(t)
{_CYPHER_WHEN} AND t.id IN $ids
WITH DISTINCT r, h, t ORDER BY r.weight DESC, r.id LIMIT $limit
{_CYPHER_ROW} ORDER BY r.weight DESC, r.id
""",
)
CHUNK_RELATIONS = Statement(
    f"""
{_SQL_ROWS} JOIN json_each(:ids) AS wanted ON wanted.value = r.chunk_id
WHERE {_SQL_WHEN} ORDER BY wanted.key, r.id LIMIT :limit
""",
    f"""
UNWIND range(0, size($ids) - 1) AS place
MATCH (h)-[r:RELATES {{namespace: $namespace, chunk_id: $ids[place]}}]->(t)
{_CYPHER_WHEN}
{_CYPHER_ROW} ORDER BY place, r.id LIMIT $limit
""",
)
RELATIONS_BY_ID = Statement(
    f"""
{_SQL_ROWS} JOIN json_each(:ids) AS wanted ON wanted.value = r.id
WHERE {_SQL_WHEN} ORDER BY wanted.key LIMIT :limit
""",
    f"""
UNWIND range(0, size($ids) - 1) AS place
MATCH (h)-[r:RELATES {{namespace: $namespace, id: $ids[place]}}]->(t)
{_CYPHER_WHEN}
{_CYPHER_ROW} ORDER BY place LIMIT $limit
""",
)
# Not retracted. Columns: a relation's, and the names of its ends.
NAMED_CHUNK_RELATIONS = Statement(
    f"""
SELECT r.id, h.entity_id, t.entity_id, {_OWN}, head.name, tail.name {SQL_ENDS}
JOIN entities head ON head.id = h.entity_id
JOIN entities tail ON tail.id = t.entity_id
WHERE r.chunk_id IN (SELECT value FROM json_each(:stating)) AND r.retracted_at IS NULL
""",
    f"""
UNWIND $stating AS id
MATCH (h)-[r:RELATES {{namespace: $namespace, chunk_id: id}}]->(t) WHERE r.retracted_at IS NULL
RETURN [r.id, h.id, t.id, {_OWN}, h.name, t.name] AS row
""",
)
UNSTATED_RELATIONS = Statement(
    f"""
{_SQL_ROWS} WHERE {SQL_OF_ENTITIES} AND r.chunk_id IS NULL AND r.retracted_at IS NULL
ORDER BY r.id
""",
    f"""
{CYPHER_OF_ENTITIES} WHERE r.chunk_id IS NULL AND r.retracted_at IS NULL
WITH r, startNode(r) AS h, endNode(r) AS t
{_CYPHER_ROW} ORDER BY r.id
""",
)
# Retracted ones among them.
STATED_BY_CHUNKS = Statement(
    f"{_SQL_ROWS} WHERE r.chunk_id {AMONG} ORDER BY r.id",
    f"""
UNWIND $ids AS id
MATCH (h)-[r:RELATES {{namespace: $namespace, chunk_id: id}}]->(t)
{_CYPHER_ROW} ORDER BY r.id
""",
)
# Facts that are not retracted. Columns: type, facts, causal ones among them.
RELATION_COUNTS = Statement(
    """
SELECT relation_type, count(*) AS facts, sum(is_causal) FROM (
    SELECT relation_type, max(is_causal) AS is_causal FROM entity_relations
    WHERE retracted_at IS NULL GROUP BY relation_type, from_entity_id, to_entity_id)
GROUP BY 1 ORDER BY facts DESC, 1
""",
    """
MATCH (h)-[r:RELATES {namespace: $namespace}]->(t)
WHERE r.id IS NOT NULL AND r.retracted_at IS NULL
WITH r.relation_type AS relation_type, h, t, max(CASE WHEN r.is_causal THEN 1 ELSE 0 END) AS causal
WITH relation_type, count(*) AS facts, sum(causal) AS causal
RETURN [relation_type, facts, causal] AS row ORDER BY facts DESC, relation_type
""",
)

# --- functional relations: their ends, and which a change concerns

_SQL_FACTS = f"""
SELECT r.id, h.entity_id, t.entity_id, {_OWN}, NULL,
    (SELECT start FROM chunk_times said WHERE said.chunk_id = r.chunk_id AND said.said = 1)
{SQL_ENDS}
WHERE r.recorded_at <= :known AND coalesce(r.retracted_at, '~') > :known
    AND r.relation_type IN (SELECT value FROM json_each(:types))
"""
_CYPHER_FACT = f"""
WHERE r.relation_type IN $types AND r.recorded_at <= $known
    AND coalesce(r.retracted_at, '~') > $known
RETURN [r.id, h.id, t.id, {_OWN}, null, COLLECT {{
        MATCH (said:ClewTime {{namespace: $namespace, chunk_id: r.chunk_id}}) WHERE said.said = 1
        RETURN said.start
    }}[0]] AS row
"""
# Columns: those of `relations.RelationRow`, with `said`.
FACTS_FROM = Statement(
    f"{_SQL_FACTS} AND h.entity_id {AMONG}",
    f"""
UNWIND $ids AS id
MATCH (h:ClewEntity {{namespace: $namespace, id: id}})-[r:RELATES {{namespace: $namespace}}]->(t)
{_CYPHER_FACT}
""",
)
ALL_FACTS = Statement(
    _SQL_FACTS,
    f"""
MATCH (h)-[r:RELATES {{namespace: $namespace}}]->(t) WHERE r.id IS NOT NULL
WITH h, r, t {_CYPHER_FACT}
""",
)
FORGET_ENDS = Statement(
    "UPDATE relations SET valid_until = stated_until WHERE valid_until IS NOT stated_until",
    """
MATCH ()-[r:RELATES {namespace: $namespace}]->()
WHERE r.id IS NOT NULL AND coalesce(r.valid_until, '') <> coalesce(r.stated_until, '')
SET r.valid_until = r.stated_until
""",
)
_SQL_HEADS = """
SELECT DISTINCT r.from_entity_id FROM entity_relations r
WHERE r.relation_type IN (SELECT value FROM json_each(:types))
"""
HEADS_OF_TAILS = Statement(
    f"{_SQL_HEADS} AND r.to_entity_id {AMONG}",
    """
UNWIND $ids AS id
MATCH (:ClewEntity {namespace: $namespace, id: id})<-[r:RELATES {namespace: $namespace}]-(h)
WHERE r.relation_type IN $types RETURN DISTINCT [h.id] AS row
""",
)

# --- retracting, and relations written by hand

RETRACT = Statement(
    f"""
UPDATE relations SET retracted_at = :moment, valid_until = stated_until
WHERE retracted_at IS NULL AND id {AMONG}
""",
    """
UNWIND $ids AS id
MATCH ()-[r:RELATES {namespace: $namespace, id: id}]->() WHERE r.retracted_at IS NULL
SET r.retracted_at = $moment, r.valid_until = r.stated_until
""",
)
BY_HAND, BY_PRUNING = "+00:00", "Z"
"""How the moment ends at which a relation was retracted: both are UTC, and tell who did it.

So the mark goes wherever the moment goes: to other statements of the fact, copies and backups.
"""
PRUNED_IDS = Statement(
    f"SELECT id FROM relations WHERE retracted_at LIKE '%{BY_PRUNING}'",
    f"""
MATCH ()-[r:RELATES {{namespace: $namespace}}]->()
WHERE r.id IS NOT NULL AND r.retracted_at ENDS WITH '{BY_PRUNING}' RETURN [r.id] AS row
""",
)
RESTORE = Statement(
    f"UPDATE relations SET retracted_at = NULL WHERE retracted_at IS NOT NULL AND id {AMONG}",
    """
UNWIND $ids AS id
MATCH ()-[r:RELATES {namespace: $namespace, id: id}]->() WHERE r.retracted_at IS NOT NULL
REMOVE r.retracted_at
""",
)
# Columns: id, head, tail, whether a text states it, whether it is retracted, relation type.
RELATION_ENDS = Statement(
    f"""
SELECT id, from_entity_id, to_entity_id, chunk_id IS NOT NULL, retracted_at IS NOT NULL,
    relation_type
FROM entity_relations WHERE id {AMONG}
""",
    """
UNWIND $ids AS id
MATCH (h)-[r:RELATES {namespace: $namespace, id: id}]->(t)
RETURN [r.id, h.id, t.id, r.chunk_id IS NOT NULL, r.retracted_at IS NOT NULL, r.relation_type]
    AS row
""",
)
UNSTATED_IDS = Statement(
    f"""
SELECT id FROM entity_relations
WHERE chunk_id IS NULL AND (from_entity_id {AMONG} OR to_entity_id {AMONG})
""",
    """
UNWIND $ids AS id
MATCH (:ClewEntity {namespace: $namespace, id: id})-[r:RELATES {namespace: $namespace}]-()
WHERE r.chunk_id IS NULL
RETURN DISTINCT [r.id] AS row
""",
)
# The alias that each entity is shown under. Columns: entity id, alias id.
SHOWN_ALIASES = Statement(
    f"""
SELECT e.id, a.id FROM entities e JOIN aliases a ON a.entity_id = e.id AND a.key = e.key
WHERE e.id {AMONG}
""",
    """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})<-[:NAMES {namespace: $namespace}]-(a)
WHERE a.key = e.key
RETURN [e.id, a.id] AS row
""",
)


# The statements of a fact: what its weight is derived from, and what stays retracted.


# Columns: those of `relations.RelationRow`, with `document_id`.
_SQL_EVIDENCE = f"SELECT DISTINCT r.id, h.entity_id, t.entity_id, {_OWN}, c.document_id"
_CYPHER_EVIDENCE = f"""
MATCH (h)-[r:RELATES {{namespace: $namespace, relation_type: f[1]}}]->(t)
OPTIONAL MATCH (c:ClewChunk {{namespace: $namespace, id: r.chunk_id}})
RETURN DISTINCT [r.id, h.id, t.id, {_OWN}, c.document_id] AS row
"""
# `facts`: lists of head, relation type and tail.
EVIDENCE = Statement(
    f"""
{_SQL_EVIDENCE} FROM json_each(:facts) AS f
JOIN aliases h ON h.entity_id = json_extract(f.value, '$[0]')
JOIN relations r ON r.from_alias_id = h.id AND r.relation_type = json_extract(f.value, '$[1]')
JOIN aliases t ON t.id = r.to_alias_id AND t.entity_id = json_extract(f.value, '$[2]')
LEFT JOIN chunks c ON c.id = r.chunk_id
""",
    f"""
UNWIND $facts AS f
MATCH (h:ClewEntity {{namespace: $namespace, id: f[0]}})
MATCH (t:ClewEntity {{namespace: $namespace, id: f[2]}})
{_CYPHER_EVIDENCE}
""",
)
# The same of what names state, before ids are known. `stated`: lists of the head's key, relation
# type and the tail's key.
EVIDENCE_BY_KEYS = Statement(
    f"""
{_SQL_EVIDENCE} FROM json_each(:stated) AS f
JOIN aliases hk ON hk.key = json_extract(f.value, '$[0]')
JOIN aliases tk ON tk.key = json_extract(f.value, '$[2]')
JOIN aliases h ON h.entity_id = hk.entity_id
JOIN relations r ON r.from_alias_id = h.id AND r.relation_type = json_extract(f.value, '$[1]')
JOIN aliases t ON t.id = r.to_alias_id AND t.entity_id = tk.entity_id
LEFT JOIN chunks c ON c.id = r.chunk_id
""",
    f"""
UNWIND $stated AS f
MATCH (:ClewAlias {{namespace: $namespace, key: f[0]}})-[:NAMES {{namespace: $namespace}}]->(h)
MATCH (:ClewAlias {{namespace: $namespace, key: f[2]}})-[:NAMES {{namespace: $namespace}}]->(t)
{_CYPHER_EVIDENCE}
""",
)
# Columns: head, relation type, tail.
RELATIONS_AROUND = Statement(
    f"""
SELECT DISTINCT h.entity_id, r.relation_type, t.entity_id {SQL_ENDS}
WHERE {SQL_OF_ENTITIES} AND r.chunk_id IS NOT NULL
""",
    f"""
{CYPHER_OF_ENTITIES} WHERE r.chunk_id IS NOT NULL
WITH r, startNode(r) AS h, endNode(r) AS t
RETURN DISTINCT [h.id, r.relation_type, t.id] AS row
""",
)
# Of the same period: what nobody dated may belong to any that it does not end before. Columns: id.
STATEMENTS_OF_FACT = Statement(
    """
SELECT r.id FROM relations q
JOIN aliases qh ON qh.id = q.from_alias_id JOIN aliases qt ON qt.id = q.to_alias_id
JOIN aliases h ON h.entity_id = qh.entity_id
JOIN relations r ON r.from_alias_id = h.id AND r.relation_type = q.relation_type
JOIN aliases t ON t.id = r.to_alias_id AND t.entity_id = qt.entity_id
WHERE q.id = :id AND coalesce(r.valid_from, '') < coalesce(q.valid_until, '~')
    AND coalesce(q.valid_from, '') < coalesce(r.valid_until, '~')
""",
    """
MATCH (h)-[q:RELATES {namespace: $namespace, id: $id}]->(t)
MATCH (h)-[r:RELATES {namespace: $namespace, relation_type: q.relation_type}]->(t)
WHERE coalesce(r.valid_from, '') < coalesce(q.valid_until, '~')
    AND coalesce(q.valid_from, '') < coalesce(r.valid_until, '~')
RETURN [r.id] AS row
""",
)


# What was extracted after indexing: relations found by reading again, and what agents found.


# --- the log of reading the passages of entities for relations

# Rows: entity_id, relationships_found, extracted_at; entities that are gone are left out.
LOG_EXTRACTION = Statement(
    """
INSERT INTO relationship_extraction_log
SELECT id, :relationships_found, :extracted_at FROM entities WHERE id = :entity_id
""",
    """
UNWIND $rows AS row
MATCH (e:ClewEntity {namespace: $namespace, id: row.entity_id})
CREATE (l:ClewExtractionLog {namespace: $namespace}) SET l += row
""",
)
# Entities without an entry.
UNREAD_ENTITIES = Statement(
    """
SELECT id FROM entities e WHERE NOT EXISTS (
    SELECT 1 FROM relationship_extraction_log l WHERE l.entity_id = e.id)
ORDER BY id LIMIT :limit
""",
    # Ordered as the index is, so that it ends where there are enough.
    """
MATCH (e:ClewEntity {namespace: $namespace})
WHERE e.id IS NOT NULL AND NOT EXISTS {
    MATCH (:ClewExtractionLog {namespace: $namespace, entity_id: e.id})
}
RETURN [e.id] AS row ORDER BY e.namespace, e.id LIMIT $limit
""",
)
# Columns: id of a document that mentions the entity, entity id.
# Those that mention an entity, or state a relation to it without naming it: "is a lighthouse".
ENTITY_DOCUMENTS = Statement(
    f"""
SELECT c.document_id, m.entity_id FROM entity_mentions m JOIN chunks c ON c.id = m.chunk_id
WHERE m.entity_id {AMONG}
UNION
SELECT c.document_id, a.entity_id FROM aliases a
JOIN relations r ON r.to_alias_id = a.id JOIN chunks c ON c.id = r.chunk_id
WHERE a.entity_id {AMONG} ORDER BY 1, 2
""",
    """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})
CALL (e) {
    MATCH (e)<-[:MENTIONS {namespace: $namespace}]-(c:ClewChunk) RETURN c
    UNION
    MATCH (e)<-[r:RELATES {namespace: $namespace}]-()
    MATCH (c:ClewChunk {namespace: $namespace, id: r.chunk_id}) RETURN c
}
WITH DISTINCT c.document_id AS document_id, id
RETURN [document_id, id] AS row ORDER BY document_id, id
""",
)
LIVING_CHUNKS = Statement(
    f"SELECT id FROM chunks WHERE id {AMONG}",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) RETURN [c.id] AS row
""",
)

# --- what agents found in passages, and which ones they have read

UNREAD_CHUNKS = Statement(
    """
SELECT c.id FROM chunks c
WHERE c.id > :after AND NOT EXISTS (SELECT 1 FROM agent_extractions r WHERE r.chunk_id = c.id)
ORDER BY c.id LIMIT :limit
""",
    # Ordered as the index is, so that it ends where there are enough.
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > $after AND c.read_at IS NULL
RETURN [c.id] AS row ORDER BY c.namespace, c.id LIMIT $limit
""",
)
COUNT_UNREAD_CHUNKS = Statement(
    "SELECT (SELECT count(*) FROM chunks) - (SELECT count(*) FROM agent_extractions)",
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id IS NOT NULL AND c.read_at IS NULL
RETURN [count(*)] AS row
""",
)
MARK_AS_READ = Statement(
    """
INSERT OR REPLACE INTO agent_extractions
SELECT value, :moment FROM json_each(:ids)
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) SET c.read_at = $moment
""",
)
MENTION_KEYS = Statement(
    f"SELECT chunk_id, sentence, alias_id FROM mentions WHERE chunk_id {AMONG}",
    """
UNWIND $ids AS id
MATCH ()-[m:MENTIONS {namespace: $namespace, chunk_id: id}]->()
RETURN [m.chunk_id, m.sentence, m.alias_id] AS row
""",
)
# Rows: a mention's columns and entity_id. Those that are new, or of which there are more now.
ADD_MENTIONS = Statement(
    """
INSERT INTO mentions VALUES (:chunk_id, :sentence, :alias_id, :start, :end, :count)
ON CONFLICT DO UPDATE SET count = excluded.count WHERE excluded.count > mentions.count
""",
    """
UNWIND $rows AS row
MATCH (c:ClewChunk {namespace: $namespace, id: row.chunk_id})
MATCH (e:ClewEntity {namespace: $namespace, id: row.entity_id})
MERGE (c)-[m:MENTIONS {namespace: $namespace, chunk_id: row.chunk_id, sentence: row.sentence,
    alias_id: row.alias_id}]->(e)
ON CREATE SET m.start = row.start, m.end = row.end, m.count = 0
WITH m, row WHERE row.count > m.count
SET m.count = row.count
RETURN count(*)
""",
)
# Rows: id, content; for entities that have no description.
DESCRIBE_ENTITIES = Statement(
    "UPDATE entities SET content = :content WHERE id = :id AND content = ''",
    """
UNWIND $rows AS row
MATCH (e:ClewEntity {namespace: $namespace, id: row.id}) WHERE e.content = ''
SET e.content = row.content
""",
)


# What a language model made of passages, and what it says of other things.


# Columns: chunk id, JSON by kind of enrichment.
ENRICHED = Statement(
    "SELECT chunk_id, enriched FROM enrichments",
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id IS NOT NULL AND c.enriched IS NOT NULL
RETURN [c.id, c.enriched] AS row
""",
)
ENRICHED_AMONG = Statement(
    f"SELECT chunk_id, enriched FROM enrichments WHERE chunk_id {AMONG}",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) WHERE c.enriched IS NOT NULL
RETURN [c.id, c.enriched] AS row
""",
)
# Rows: id, enriched (null for nothing); chunks that are gone are left out.
FORGET_ENRICHED = Statement(
    f"DELETE FROM enrichments WHERE chunk_id {AMONG}",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) SET c.enriched = null
""",
)
SET_ENRICHED = Statement(
    """
INSERT OR REPLACE INTO enrichments
SELECT id, :enriched FROM chunks WHERE id = :id
""",
    """
UNWIND $rows AS row
MATCH (c:ClewChunk {namespace: $namespace, id: row.id}) SET c.enriched = row.enriched
""",
)
# Rows: chunk_id, sentence, alias_id.
DELETE_MENTIONS = Statement(
    """
DELETE FROM mentions
WHERE chunk_id = :chunk_id AND sentence = :sentence AND alias_id = :alias_id
""",
    """
UNWIND $rows AS row
MATCH ()-[m:MENTIONS {namespace: $namespace, chunk_id: row.chunk_id, sentence: row.sentence,
    alias_id: row.alias_id}]->()
DELETE m
""",
)
ENTITIES_OF_ALIASES = Statement(
    f"SELECT DISTINCT entity_id FROM aliases WHERE id {AMONG}",
    """
UNWIND $ids AS id
MATCH (:ClewAlias {namespace: $namespace, id: id})-[:NAMES {namespace: $namespace}]->(e)
RETURN DISTINCT [e.id] AS row
""",
)
# Columns: id, context, text, the document's language, the vector.
PASSAGES = Statement(
    f"""
SELECT c.id, c.context, c.text, d.language, e.vector
FROM chunks c JOIN documents d ON d.id = c.document_id JOIN embeddings e ON e.chunk_id = c.id
WHERE c.id {AMONG} ORDER BY c.id
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id})-[:PART_OF {namespace: $namespace}]->(d)
WHERE d:ClewDocument
RETURN [c.id, c.context, c.text, d.language, c.vector] AS row ORDER BY c.id
""",
)

# --- descriptions

COLUMNS = ("key", "name", "title", "text", "sources", "documents", "basis", "reason")
# Those whose key is between two others, the second left out.
DESCRIPTIONS = Statement(
    f"SELECT {', '.join(COLUMNS)} FROM descriptions WHERE key >= :first AND key < :after",
    f"""
MATCH (s:ClewDescription {{namespace: $namespace}}) WHERE s.key >= $first AND s.key < $after
RETURN [{", ".join(f"s.{name}" for name in COLUMNS)}] AS row
""",
)


def described(sql_key: str, cypher_key: str) -> tuple[str, str]:
    """A column with title, text and sources of what has that key, null for nothing; see `read`."""
    return (
        "(SELECT json_array(s.title, s.text, s.sources) FROM descriptions s"
        f" WHERE s.key = {sql_key})",
        "head(COLLECT { MATCH (said:ClewDescription {namespace: $namespace, key: "
        f"{cypher_key}}}) RETURN [said.title, said.text, said.sources] }})",
    )


# Entities made by hand, and observations about them.


# Rows: id, key, name, entity_type, content.
MAKE_ENTITIES = Statement(
    """
UPDATE entities SET tier = 'manual', name = :name, key = :key,
    entity_type = CASE WHEN :entity_type = 'name' AND entity_type != 'term' THEN entity_type
        ELSE :entity_type END,
    content = CASE WHEN :content = '' THEN content ELSE :content END
WHERE id = :id
""",
    """
UNWIND $rows AS row
MATCH (e:ClewEntity {namespace: $namespace, id: row.id})
SET e.tier = 'manual', e.name = row.name, e.key = row.key,
    e.entity_type = CASE WHEN row.entity_type = 'name' AND e.entity_type <> 'term'
        THEN e.entity_type ELSE row.entity_type END,
    e.content = CASE row.content WHEN '' THEN e.content ELSE row.content END
""",
)
# Rows: key, name.
NAME_BY_HAND = Statement(
    """
UPDATE aliases SET name = :name, method = 'manual', score = 1, evidence = 'made by hand'
WHERE key = :key
""",
    """
UNWIND $rows AS row
MATCH (a:ClewAlias {namespace: $namespace, key: row.key})
SET a.name = row.name, a.method = 'manual', a.score = 1.0, a.evidence = 'made by hand'
""",
)
MADE_BY_HAND = Statement(
    "SELECT id FROM entities WHERE tier = 'manual' AND id > :after ORDER BY id LIMIT :limit",
    # Few entities are made by hand: the planner takes the longer way by their ids otherwise.
    """
MATCH (e:ClewEntity {namespace: $namespace, tier: 'manual'})
USING INDEX e:ClewEntity(namespace, tier)
WHERE e.id > $after
RETURN [e.id] AS row ORDER BY e.id LIMIT $limit
""",
)
MADE_BY_HAND_AMONG = Statement(
    f"""
SELECT id FROM entities WHERE tier = 'manual' AND id > :after AND id {AMONG}
ORDER BY id LIMIT :limit
""",
    """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})
WHERE e.tier = 'manual' AND e.id > $after
WITH DISTINCT e.id AS id
RETURN [id] AS row ORDER BY id LIMIT $limit
""",
)
# One row a section, the oldest observation first. Columns: entity id, document id, text.
OBSERVATIONS = Statement(
    f"""
SELECT a.entity_id, d.id, s.text
FROM aliases a JOIN documents d ON d.origin = 'memory:' || a.key
LEFT JOIN document_versions v ON v.document_id = d.id AND v.version = 1
LEFT JOIN sections s ON s.document_id = d.id
WHERE a.entity_id {AMONG} ORDER BY v.indexed_at, s.id
""",
    """
UNWIND $ids AS id
MATCH (:ClewEntity {namespace: $namespace, id: id})<-[:NAMES {namespace: $namespace}]-(a)
MATCH (d:ClewDocument {namespace: $namespace, origin: 'memory:' + a.key})
OPTIONAL MATCH (v:ClewVersion {namespace: $namespace, document_id: d.id, version: 1})
OPTIONAL MATCH (s:ClewSection {namespace: $namespace, document_id: d.id})
RETURN [id, d.id, s.text] AS row ORDER BY v.indexed_at, s.id
""",
)
