"""Entities, their names, and the rules that remember what was done to names by hand."""

from __future__ import annotations

from clew.stores.backend import Statement
from clew.stores.state import CHANGES
from clew.stores.statements import AMONG, AMONG_KEYS
from clew.stores.statements.relations import described

# --- entities

_SAID = described("'entity:' || e.id", "'entity:' + toString(e.id)")
# Mentions that say what a document is about, in sentence -1, count as none.
# Columns: generation, then those of `entities.EntityRow`.
ENTITIES = Statement(
    f"""
SELECT (SELECT value FROM meta WHERE name = 'generation'),
    e.id, e.name, e.key, e.entity_type, e.content, e.tier,
    (SELECT coalesce(sum(count), 0) FROM entity_mentions m
        WHERE m.entity_id = e.id AND m.sentence >= 0),
    (SELECT count(DISTINCT c.document_id) FROM entity_mentions m JOIN chunks c ON c.id = m.chunk_id
        WHERE m.entity_id = e.id),
    {_SAID[0]}
FROM entities e WHERE e.id {AMONG}
""",
    f"""{CHANGES}
UNWIND $ids AS id
MATCH (e:ClewEntity {{namespace: $namespace, id: id}})
CALL (e) {{
    MATCH (e)<-[m:MENTIONS {{namespace: $namespace}}]-(c:ClewChunk)
    RETURN sum(CASE WHEN m.sentence >= 0 THEN m.count ELSE 0 END) AS mentions,
        count(DISTINCT c.document_id) AS documents
}}
RETURN [generation, e.id, e.name, e.key, e.entity_type, e.content, e.tier, mentions, documents,
    {_SAID[1]}] AS row
""",
)
# How often the most mentioned entity is mentioned; reads all mentions.
MOST_MENTIONED = Statement(
    """
SELECT coalesce(max(mentions), 0) FROM (
    SELECT sum(mentions) AS mentions FROM (
        SELECT alias_id, sum(count) AS mentions FROM mentions WHERE sentence >= 0
        GROUP BY alias_id) AS m JOIN aliases a ON a.id = m.alias_id GROUP BY a.entity_id)
""",
    """
MATCH ()-[m:MENTIONS {namespace: $namespace}]->(e)
WHERE m.chunk_id IS NOT NULL AND m.sentence >= 0
WITH e, sum(m.count) AS mentions
RETURN [coalesce(max(mentions), 0)] AS row
""",
)
ENTITY_NAMES = Statement(
    "SELECT id, name FROM entities WHERE id IN (SELECT value FROM json_each(:entities))",
    """
UNWIND $entities AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id}) RETURN [e.id, e.name] AS row
""",
)
ENTITY_CHUNKS = Statement(
    "SELECT DISTINCT chunk_id FROM entity_mentions WHERE entity_id = :id",
    """
MATCH (:ClewEntity {namespace: $namespace, id: $id})<-[m:MENTIONS {namespace: $namespace}]-()
RETURN collect(DISTINCT m.chunk_id)
""",
)
# An entity takes the place of its nearest name, whichever of its names was found first.
_SQL_NEAREST = """
SELECT entity_id FROM (
    SELECT entity_id, length(key) AS length,
        CASE WHEN key = :key THEN 0 WHEN substr(key, 1, length(:key)) = :key THEN 1 ELSE 2 END
        AS step
    FROM aliases WHERE instr(key, :key) > 0 {among})
GROUP BY entity_id ORDER BY min(step), min(length), entity_id LIMIT :limit
"""
_CYPHER_NEAREST = """
WITH e.id AS id,
    min(CASE WHEN a.key = $key THEN 0 WHEN a.key STARTS WITH $key THEN 1 ELSE 2 END) AS step,
    min(size(a.key)) AS length
RETURN [id] AS row ORDER BY step, length, id LIMIT $limit
"""
NAMES_BEGINNING = Statement(
    _SQL_NEAREST.format(
        among="""AND entity_id IN (
        SELECT entity_id FROM aliases WHERE key >= :key AND key < :key || char(1114111))"""
    ),
    f"""
MATCH (b:ClewAlias {{namespace: $namespace}}) WHERE b.key STARTS WITH $key
MATCH (b)-[:NAMES {{namespace: $namespace}}]->(e)
WITH DISTINCT e
MATCH (e)<-[:NAMES {{namespace: $namespace}}]-(a) WHERE a.key CONTAINS $key
{_CYPHER_NEAREST}
""",
)
NAMES_HOLDING = Statement(
    _SQL_NEAREST.format(among=""),
    f"""
MATCH (a:ClewAlias {{namespace: $namespace}}) WHERE a.key CONTAINS $key
MATCH (a)-[:NAMES {{namespace: $namespace}}]->(e)
{_CYPHER_NEAREST}
""",
)

# --- aliases

# Columns: key, alias id, entity id.
KEYS = Statement(
    f"SELECT key, id, entity_id FROM aliases WHERE key {AMONG_KEYS}",
    """
UNWIND $keys AS key
MATCH (a:ClewAlias {namespace: $namespace, key: key})-[:NAMES {namespace: $namespace}]->(e)
RETURN [a.key, a.id, e.id] AS row
""",
)
_SQL_ALIASES = """
SELECT id, key, name, entity_id, method, score, evidence FROM aliases WHERE id > :after
"""
_CYPHER_ALIAS = """
RETURN [a.id, a.key, a.name, e.id, a.method, a.score, a.evidence] AS row ORDER BY a.id
"""
ALIASES = Statement(
    f"{_SQL_ALIASES} ORDER BY id",
    f"""
MATCH (a:ClewAlias {{namespace: $namespace}}) WHERE a.id > $after
MATCH (a)-[:NAMES {{namespace: $namespace}}]->(e)
{_CYPHER_ALIAS}
""",
)
ALIASES_OF = Statement(
    f"{_SQL_ALIASES} AND entity_id = :id ORDER BY id",
    f"""
MATCH (e:ClewEntity {{namespace: $namespace, id: $id}})<-[:NAMES {{namespace: $namespace}}]-(a)
WHERE a.id > $after
{_CYPHER_ALIAS}
""",
)
# Columns: name, entity id, entity type, tier.
KNOWN_NAMES = Statement(
    """
SELECT a.name, e.id, e.entity_type, e.tier FROM aliases a JOIN entities e ON e.id = a.entity_id
WHERE a.id > :after ORDER BY a.id
""",
    """
MATCH (a:ClewAlias {namespace: $namespace}) WHERE a.id > $after
MATCH (a)-[:NAMES {namespace: $namespace}]->(e)
RETURN [a.name, e.id, e.entity_type, e.tier] AS row ORDER BY a.id
""",
)
# Names that another may be spelled like. Columns: block, key, name.
NAMES_OF_BLOCKS = Statement(
    """
SELECT block, key, name FROM aliases
WHERE block IN (SELECT value FROM json_each(:blocks)) AND method <> 'fuzzy'
""",
    """
UNWIND $blocks AS block
MATCH (a:ClewAlias {namespace: $namespace, block: block}) WHERE a.method <> 'fuzzy'
RETURN [block, a.key, a.name] AS row
""",
)
# Persons whose name begins and ends so. Columns: name, entity id.
PERSONS_LIKE = Statement(
    """
SELECT DISTINCT a.name, a.entity_id FROM json_each(:forms) AS f
JOIN aliases a ON a.key >= json_extract(f.value, '$[0]')
    AND a.key < json_extract(f.value, '$[0]') || char(1114111)
    AND instr(a.key, json_extract(f.value, '$[2]'))
    AND (json_extract(f.value, '$[1]') = ''
        OR substr(a.key, -length(json_extract(f.value, '$[1]'))) = json_extract(f.value, '$[1]'))
JOIN entities e ON e.id = a.entity_id WHERE e.entity_type = 'person' ORDER BY a.id
""",
    """
UNWIND $forms AS form
MATCH (a:ClewAlias {namespace: $namespace})
WHERE a.key STARTS WITH form[0] AND a.key CONTAINS form[2] AND a.key ENDS WITH form[1]
MATCH (a)-[:NAMES {namespace: $namespace}]->(e:ClewEntity {entity_type: 'person'})
WITH DISTINCT a.name AS name, e.id AS id, a.id AS alias
RETURN [name, id] AS row ORDER BY alias
""",
)
# Whether an entity stands in a passage with a name that has one of some keys, or in a folder.
# Columns: 1.
STANDS_WITH = Statement(
    f"""
SELECT 1 FROM entity_mentions m WHERE m.entity_id = :id AND (EXISTS (
        SELECT 1 FROM mentions n JOIN aliases b ON b.id = n.alias_id
        WHERE n.chunk_id = m.chunk_id AND b.key {AMONG_KEYS})
    OR :folder <> '' AND EXISTS (
        SELECT 1 FROM chunks c JOIN documents d ON d.id = c.document_id
        WHERE c.id = m.chunk_id AND substr(d.source, 1, length(:folder)) = :folder))
LIMIT 1
""",
    """
MATCH (:ClewEntity {namespace: $namespace, id: $id})
    <-[:MENTIONS {namespace: $namespace}]-(c:ClewChunk)
WHERE EXISTS {
    MATCH (c)-[:MENTIONS {namespace: $namespace}]->(:ClewEntity)
        <-[:NAMES {namespace: $namespace}]-(b:ClewAlias) WHERE b.key IN $keys
} OR $folder <> '' AND EXISTS {
    MATCH (c)-[:PART_OF]->(d:ClewDocument) WHERE d.source STARTS WITH $folder
}
RETURN [1] AS row LIMIT 1
""",
)
# How many documents have a source that begins so, up to a number. Columns: 1.
COUNT_UNDER = Statement(
    """
SELECT count(*) FROM (SELECT 1 FROM documents
    WHERE source >= :beginning AND source < :beginning || char(1114111) LIMIT :most)
""",
    """
CALL () {
    MATCH (d:ClewDocument {namespace: $namespace}) WHERE d.source STARTS WITH $beginning
    RETURN d LIMIT $most
}
RETURN [count(d)] AS row
""",
)
# Columns: name, entity id, entity type, tier.
KNOWN_TERMS = Statement(
    """
SELECT a.name, e.id, e.entity_type, e.tier FROM aliases a JOIN entities e ON e.id = a.entity_id
WHERE a.term IN (SELECT value FROM json_each(:terms)) ORDER BY a.id
""",
    """
UNWIND $terms AS term
MATCH (a:ClewAlias {namespace: $namespace, term: term})-[:NAMES {namespace: $namespace}]->(e)
RETURN [a.name, e.id, e.entity_type, e.tier] AS row ORDER BY a.id
""",
)
# Columns: key, name, alias id, entity id, method, score, the entity's name and type, how many
# names it has.
KNOWN_ALIASES = Statement(
    f"""
SELECT a.key, a.name, a.id, a.entity_id, a.method, a.score, e.name, e.entity_type,
    (SELECT count(*) FROM aliases b WHERE b.entity_id = a.entity_id)
FROM aliases a JOIN entities e ON e.id = a.entity_id WHERE a.key {AMONG_KEYS}
""",
    """
UNWIND $keys AS key
MATCH (a:ClewAlias {namespace: $namespace, key: key})
    -[:NAMES {namespace: $namespace}]->(e:ClewEntity {namespace: $namespace})
RETURN [key, a.name, a.id, e.id, a.method, a.score, e.name, e.entity_type,
    COUNT { (e)<-[:NAMES {namespace: $namespace}]-() }] AS row
""",
)
CYPHER_USED = """
EXISTS { (e)<-[m:MENTIONS {namespace: $namespace}]-() WHERE m.alias_id = a.id }
OR EXISTS { (e)-[r:RELATES {namespace: $namespace}]->() WHERE r.from_alias_id = a.id }
OR EXISTS { (e)<-[r:RELATES {namespace: $namespace}]-() WHERE r.to_alias_id = a.id }
"""
# Columns: an entity's id, key, type, tier; id, key, name of an alias, and whether a text uses it.
HELD_NAMES = Statement(
    f"""
SELECT e.id, e.key, e.entity_type, e.tier, a.id, a.key, a.name,
    EXISTS (SELECT 1 FROM used_aliases u WHERE u.id = a.id)
FROM aliases a JOIN entities e ON e.id = a.entity_id WHERE e.id {AMONG} ORDER BY a.id
""",
    f"""
UNWIND $ids AS id
MATCH (e:ClewEntity {{namespace: $namespace, id: id}})<-[:NAMES {{namespace: $namespace}}]-(a)
RETURN [e.id, e.key, e.entity_type, e.tier, a.id, a.key, a.name, {CYPHER_USED}] AS row
ORDER BY a.id
""",
)
# Names that likeness alone ties to other names. Columns: entity id, key.
FUZZY_NAMES = Statement(
    f"""
SELECT a.entity_id, a.key FROM aliases a
WHERE a.key {AMONG_KEYS} AND a.method = 'fuzzy'
    AND EXISTS (SELECT 1 FROM aliases b WHERE b.entity_id = a.entity_id AND b.id <> a.id)
""",
    """
UNWIND $keys AS key
MATCH (a:ClewAlias {namespace: $namespace, key: key})-[:NAMES {namespace: $namespace}]->(e)
WHERE a.method = 'fuzzy' AND COUNT { (e)<-[:NAMES {namespace: $namespace}]-() } > 1
RETURN [e.id, a.key] AS row
""",
)
# Rows: id, entity_id, method, score, evidence. What texts say under a name moves with it; a
# relationship of Neo4j keeps its ends, so it is made again after the one with its id is gone.
MOVE_ALIASES = Statement(
    """
UPDATE aliases SET entity_id = :entity_id, method = :method, score = :score, evidence = :evidence
WHERE id = :id
""",
    """
UNWIND $rows AS row
MATCH (a:ClewAlias {namespace: $namespace, id: row.id})
SET a.method = row.method, a.score = row.score, a.evidence = row.evidence
WITH a, row
MATCH (a)-[n:NAMES {namespace: $namespace}]->(old:ClewEntity {namespace: $namespace})
MATCH (new:ClewEntity {namespace: $namespace, id: row.entity_id}) WHERE new <> old
DELETE n
CREATE (a)-[:NAMES {namespace: $namespace}]->(new)
WITH a.id AS alias_id, old, new
CALL (alias_id, old, new) {
    MATCH (c:ClewChunk {namespace: $namespace})
        -[m:MENTIONS {namespace: $namespace, alias_id: alias_id}]->(old)
    WITH new, c, m, properties(m) AS values
    DELETE m
    CREATE (c)-[moved:MENTIONS]->(new) SET moved = values
}
CALL (alias_id, old, new) {
    MATCH (old)-[r:RELATES {namespace: $namespace, from_alias_id: alias_id}]
        ->(tail:ClewEntity {namespace: $namespace})
    WITH new, tail, r, properties(r) AS values
    DELETE r
    CREATE (new)-[moved:RELATES]->(tail) SET moved = values
}
CALL (alias_id, old, new) {
    MATCH (head:ClewEntity {namespace: $namespace})
        -[r:RELATES {namespace: $namespace, to_alias_id: alias_id}]->(old)
    WITH new, head, r, properties(r) AS values
    DELETE r
    CREATE (head)-[moved:RELATES]->(new) SET moved = values
}
""",
)


# What merging, splitting and deleting leave of names: orphans, rules by hand, heirs.


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
    content = CASE WHEN entities.content = '' THEN s.content ELSE entities.content END,
    entity_type = CASE WHEN entities.entity_type IN ('term', 'name') AND s.entity_type != 'term'
        THEN s.entity_type ELSE entities.entity_type END
FROM (SELECT tier, content, entity_type FROM entities WHERE id = :source) AS s
WHERE entities.id = :target
""",
    """
MATCH (source:ClewEntity {namespace: $namespace, id: $source})
MATCH (target:ClewEntity {namespace: $namespace, id: $target})
SET target.tier = CASE WHEN source.tier = 'manual' THEN source.tier ELSE target.tier END,
    target.content = CASE WHEN target.content = '' THEN source.content ELSE target.content END,
    target.entity_type = CASE
        WHEN target.entity_type IN ['term', 'name'] AND source.entity_type <> 'term'
        THEN source.entity_type ELSE target.entity_type END
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
