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

_SQL_FACTS = """
SELECT r.id, r.from_entity_id, r.relation_type, r.to_entity_id, r.valid_from,
    (SELECT start FROM chunk_times said WHERE said.chunk_id = r.chunk_id AND said.said = 1),
    r.recorded_at, r.stated_until, r.valid_until
FROM entity_relations r
WHERE r.recorded_at <= :known AND coalesce(r.retracted_at, '~') > :known
    AND r.relation_type IN (SELECT value FROM json_each(:types))
"""
_CYPHER_FACT = """
WHERE r.relation_type IN $types AND r.recorded_at <= $known
    AND coalesce(r.retracted_at, '~') > $known
RETURN [r.id, h.id, r.relation_type, t.id, r.valid_from, COLLECT {
        MATCH (said:ClewTime {namespace: $namespace, chunk_id: r.chunk_id}) WHERE said.said = 1
        RETURN said.start
    }[0], r.recorded_at, r.stated_until, r.valid_until] AS row
"""
# Columns: id, head, type, tail, valid_from, the second in which the passage was said, recorded_at,
# stated_until, valid_until.
FACTS_FROM = Statement(
    f"{_SQL_FACTS} AND r.from_entity_id {AMONG}",
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
