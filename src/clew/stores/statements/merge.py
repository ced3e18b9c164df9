"""What merging, splitting and deleting leave of names: orphans, rules by hand, heirs."""

from __future__ import annotations

from clew.stores.backend import Statement
from clew.stores.statements import AMONG, AMONG_KEYS
from clew.stores.statements.names import CYPHER_USED

# --- what has no source is deleted

# A name given by hand stays without a text: that of an entity made by hand by itself, that of
# another as long as a text has another name of it (view `orphan_aliases` in SQLite).
DELETE_ORPHAN_ALIASES = Statement(
    f"DELETE FROM aliases WHERE id IN (SELECT id FROM orphan_aliases WHERE entity_id {AMONG})",
    f"""
UNWIND $ids AS id
MATCH (e:ClewEntity {{namespace: $namespace, id: id}})
MATCH (a:ClewAlias {{namespace: $namespace}})-[:NAMES {{namespace: $namespace}}]->(e)
WITH e, a, {CYPHER_USED} AS used
WITH e, collect({{alias: a, used: used}}) AS names
WITH e, names, any(name IN names WHERE name.used) AS is_used
UNWIND names AS name
WITH e, is_used, name.alias AS a, name.used AS used
WHERE NOT used AND NOT (a.method = 'manual' AND e.tier = 'manual')
    AND NOT (is_used AND EXISTS {{
        (r:ClewRule {{namespace: $namespace, key: a.key}}) WHERE r.name <> ''
    }})
DETACH DELETE a
""",
)
# An entity whose shown name is no longer its own takes its oldest one.
SHOW_LIVING_NAMES = Statement(
    f"""
UPDATE entities SET (name, key) = (
    SELECT a.name, a.key FROM aliases a WHERE a.entity_id = entities.id ORDER BY a.id LIMIT 1)
WHERE id {AMONG}
    AND EXISTS (SELECT 1 FROM aliases a WHERE a.entity_id = entities.id)
    AND NOT EXISTS (
        SELECT 1 FROM aliases a WHERE a.entity_id = entities.id AND a.key = entities.key)
""",
    """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id}) WHERE NOT EXISTS {
    (e)<-[:NAMES {namespace: $namespace}]-(a:ClewAlias) WHERE a.key = e.key
}
MATCH (a:ClewAlias {namespace: $namespace})-[:NAMES {namespace: $namespace}]->(e)
WITH e, a ORDER BY a.id
WITH e, head(collect(a)) AS oldest
SET e.name = oldest.name, e.key = oldest.key
""",
)
DELETE_NAMELESS_ENTITIES = Statement(
    f"""
DELETE FROM entities WHERE id {AMONG}
    AND NOT EXISTS (SELECT 1 FROM aliases a WHERE a.entity_id = entities.id)
""",
    """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})
WHERE NOT EXISTS { (e)<-[:NAMES {namespace: $namespace}]-(:ClewAlias) }
CALL (e) {
    MATCH (l:ClewExtractionLog {namespace: $namespace, entity_id: e.id})
    DELETE l
}
DETACH DELETE e
""",
)

# --- rules: a key belongs to the group that its target names

# Columns: key, target, name given by hand.
LINK_RULES = Statement(
    "SELECT key, target, name FROM link_rules ORDER BY key",
    """
MATCH (r:ClewRule {namespace: $namespace}) WHERE r.key IS NOT NULL
RETURN [r.key, r.target, r.name] AS row ORDER BY r.key
""",
)
# Those that lead from or to some keys. Most stores have none, and looking for these keys' costs
# more than looking for any.
RULES_AROUND = Statement(
    f"""
SELECT r.key, r.target FROM (SELECT 1 FROM link_rules LIMIT 1) CROSS JOIN link_rules r
WHERE r.key {AMONG_KEYS} OR r.target {AMONG_KEYS}
""",
    """
UNWIND $keys AS key
CALL (key) {
    MATCH (r:ClewRule {namespace: $namespace, key: key}) RETURN r
    UNION
    MATCH (r:ClewRule {namespace: $namespace, target: key}) RETURN r
}
RETURN DISTINCT [r.key, r.target] AS row
""",
)
# A group of names ruled by hand is the key that its rules point at, and may outlive its entity.
# Columns: key of the group, its entity if one of its names is known, the name given by hand.
RULED_GROUPS = Statement(
    """
SELECT g.value, (
    SELECT entity_id FROM aliases
    WHERE key = g.value OR key IN (SELECT key FROM link_rules WHERE target = g.value)
    ORDER BY id LIMIT 1), (SELECT name FROM link_rules WHERE key = g.value)
FROM json_each(:keys) AS g
""",
    """
UNWIND $keys AS group
OPTIONAL MATCH (own:ClewRule {namespace: $namespace, key: group})
CALL (group) {
    OPTIONAL MATCH (r:ClewRule {namespace: $namespace, target: group})
    WITH group, collect(r.key) AS ruled
    UNWIND ruled + group AS key
    MATCH (a:ClewAlias {namespace: $namespace, key: key})
        -[:NAMES {namespace: $namespace}]->(e:ClewEntity {namespace: $namespace})
    WITH a, e ORDER BY a.id LIMIT 1
    RETURN collect(e.id) AS members
}
RETURN [group, head(members), own.name] AS row
""",
)
# Rows: key, target.
WRITE_RULES = Statement(
    """
INSERT INTO link_rules (key, target) VALUES (:key, :target)
ON CONFLICT (key) DO UPDATE SET target = excluded.target
""",
    """
UNWIND $rows AS row
MERGE (r:ClewRule {namespace: $namespace, key: row.key}) ON CREATE SET r.name = ''
SET r.target = row.target
""",
)
# What a merged entity leaves to its heir.
TAKE_OVER = Statement(
    """
UPDATE entities SET
    tier = CASE WHEN s.tier = 'manual' THEN s.tier ELSE entities.tier END,
    content = CASE WHEN entities.content = '' THEN s.content ELSE entities.content END
FROM (SELECT tier, content FROM entities WHERE id = :source) AS s WHERE entities.id = :target
""",
    """
MATCH (source:ClewEntity {namespace: $namespace, id: $source})
MATCH (target:ClewEntity {namespace: $namespace, id: $target})
SET target.tier = CASE WHEN source.tier = 'manual' THEN source.tier ELSE target.tier END,
    target.content = CASE WHEN target.content = '' THEN source.content ELSE target.content END
""",
)
# Under the id that it had before it was merged; `next_ids` are further on.
RESTORE_ENTITY = Statement(
    """
INSERT INTO entities (id, name, key, entity_type, content, tier)
VALUES (:id, :name, :key, :entity_type, :content, :tier)
""",
    """
CREATE (:ClewEntity {namespace: $namespace, id: $id, name: $name, key: $key,
    entity_type: $entity_type, content: $content, tier: $tier})
""",
)

# --- names that were pruned

# Columns: what is remembered of them, as JSON by key; null where nothing is.
PRUNED = Statement(
    "SELECT (SELECT value FROM meta WHERE name = 'pruned')",
    "MATCH (s:ClewStore {namespace: $namespace}) RETURN [s.pruned] AS row",
)
# So that documents are due to be processed again.
FORGET_RECIPES = Statement(
    f"UPDATE documents SET recipe = '' WHERE id {AMONG}",
    """
UNWIND $ids AS id
MATCH (d:ClewDocument {namespace: $namespace, id: id}) SET d.recipe = ''
""",
)
# Columns: chunk id, document id, title, metadata (JSON), context, text.
TEXTS_AFTER = Statement(
    """
SELECT c.id, d.id, d.title, d.metadata, c.context, c.text
FROM chunks c JOIN documents d ON d.id = c.document_id
WHERE c.id > :after ORDER BY c.id LIMIT :limit
""",
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > $after
WITH c ORDER BY c.id LIMIT $limit
MATCH (d:ClewDocument {namespace: $namespace, id: c.document_id})
RETURN [c.id, d.id, d.title, d.metadata, c.context, c.text] AS row ORDER BY c.id
""",
)
# Columns: key, name, entity id.
NAMES_OF_ENTITIES = Statement(
    f"SELECT key, name, entity_id FROM aliases WHERE entity_id {AMONG} ORDER BY id",
    """
UNWIND $ids AS id
MATCH (a:ClewAlias {namespace: $namespace})
    -[:NAMES {namespace: $namespace}]->(e:ClewEntity {namespace: $namespace, id: id})
RETURN [a.key, a.name, e.id] AS row ORDER BY a.id
""",
)
FORGET_MENTIONS = Statement(
    f"DELETE FROM mentions WHERE alias_id IN (SELECT id FROM aliases WHERE entity_id {AMONG})",
    """
UNWIND $ids AS id
MATCH ()-[m:MENTIONS {namespace: $namespace}]->(:ClewEntity {namespace: $namespace, id: id})
DELETE m
""",
)
# Columns: id, head.
RELATIONS_OF_ENTITIES = Statement(
    f"""
SELECT id, from_entity_id FROM entity_relations
WHERE from_entity_id {AMONG} OR to_entity_id {AMONG}
""",
    """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})
MATCH (h)-[r:RELATES {namespace: $namespace}]->(t) WHERE h = e OR t = e
RETURN DISTINCT [r.id, h.id] AS row
""",
)
