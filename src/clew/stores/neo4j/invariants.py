"""What must hold in a namespace: a rule says what breaks it, and how that is mended where it can.

A query returns one text for each thing that breaks its rule. A composite index finds only nodes
that have every property that it is made of, hence `n.id > 0`.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """Something that holds in every sound namespace."""

    invariant: str
    broken: str
    """Cypher that returns what breaks it."""
    mend: str | None = None
    """Cypher that mends it from what is sound; later rules may have work left by earlier ones."""


def _rule(invariant: str, match: str, detail: str, mend: str | None = None) -> Rule:
    """A rule whose mending begins with what its query finds."""
    return Rule(
        invariant, f"{match} RETURN {detail}", None if mend is None else f"{match} WITH * {mend}"
    )


def _belongs(label: str, name: str) -> Rule:
    """Parts of a document are tied to it; those of one that is gone belong to nothing."""
    return _rule(
        "references",
        f"""
MATCH (n:{label} {{namespace: $namespace}}) WHERE n.id > 0 AND NOT EXISTS {{
    (n)-[:PART_OF {{namespace: $namespace}}]->
        (:ClewDocument {{namespace: $namespace, id: n.document_id}}) }}
""",
        f"'{name} ' + n.id + ' is no part of its document'",
        """
OPTIONAL MATCH (d:ClewDocument {namespace: $namespace, id: n.document_id})
FOREACH (_ IN CASE WHEN d IS NULL THEN [1] ELSE [] END | DETACH DELETE n)
FOREACH (_ IN CASE WHEN d IS NULL THEN [] ELSE [1] END |
    CREATE (n)-[:PART_OF {namespace: $namespace}]->(d))
""",
    )


_SENTENCES = "size(split(c.sentences, '[')) - 2"  # the inner brackets of JSON
_USED = """
EXISTS { (:ClewChunk)-[m:MENTIONS {namespace: $namespace}]->(e) WHERE m.alias_id = a.id }
OR EXISTS { (e)-[r:RELATES {namespace: $namespace}]->() WHERE r.from_alias_id = a.id }
OR EXISTS { (e)<-[r:RELATES {namespace: $namespace}]-() WHERE r.to_alias_id = a.id }
"""
_HAS_SOURCE = """
EXISTS { (e)<-[:MENTIONS {namespace: $namespace}]-() }
OR EXISTS { (e)-[:RELATES {namespace: $namespace}]-() }
"""
_LAST_IDS = " UNION ALL ".join(
    [
        f"MATCH (n:{label} {{namespace: $namespace}}) WHERE n.id > 0"
        f" RETURN 'next_{name}' AS name, max(n.id) AS last"
        for name, label in (
            ("section", "ClewSection"),
            ("chunk", "ClewChunk"),
            ("entity", "ClewEntity"),
            ("alias", "ClewAlias"),
        )
    ]
    + [
        "MATCH ()-[r:RELATES {namespace: $namespace}]->() WHERE r.id > 0"
        " RETURN 'next_relation' AS name, max(r.id) AS last"
    ]
)

RULES = (
    _rule(
        "references",
        """
CALL () {
    MATCH (n:ClewChunk {namespace: $namespace}) WHERE n.id > 0 RETURN n
    UNION ALL MATCH (n:ClewSection {namespace: $namespace}) WHERE n.id > 0 RETURN n
    UNION ALL MATCH (n:ClewEntity {namespace: $namespace}) WHERE n.id > 0 RETURN n
}
MATCH (n)-[r:PART_OF|IN_SECTION|AT|MENTIONS|NAMES|RELATES]-(other)
WHERE coalesce(r.namespace, '') <> $namespace OR coalesce(other.namespace, '') <> $namespace
""",
        "'a relationship ' + type(r) + ' is in another namespace than both of its ends'",
        """
FOREACH (_ IN CASE WHEN other.namespace = $namespace THEN [1] ELSE [] END |
    SET r.namespace = $namespace)
FOREACH (_ IN CASE WHEN other.namespace = $namespace THEN [] ELSE [1] END | DELETE r)
""",
    ),
    _belongs("ClewSection", "section"),
    _belongs("ClewChunk", "chunk"),
    _rule(
        "references",
        """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > 0 AND NOT EXISTS {
    (c)-[:IN_SECTION {namespace: $namespace}]->
        (:ClewSection {namespace: $namespace, id: c.section_id}) }
""",
        "'chunk ' + c.id + ' is not in its section'",
        """
MATCH (s:ClewSection {namespace: $namespace, id: c.section_id})
CREATE (c)-[:IN_SECTION {namespace: $namespace}]->(s)
""",
    ),
    _rule(
        "references",
        """
MATCH (t:ClewTime {namespace: $namespace}) WHERE t.chunk_id > 0 AND NOT EXISTS {
    (:ClewChunk {namespace: $namespace, id: t.chunk_id})-[:AT {namespace: $namespace}]->(t) }
""",
        "'a time of chunk ' + t.chunk_id + ' belongs to no chunk'",
        "DETACH DELETE t",
    ),
    _rule(
        "references",
        """
MATCH (v:ClewVersion {namespace: $namespace})
WHERE v.document_id IS NOT NULL AND v.version > 0 AND NOT EXISTS {
    (:ClewDocument {namespace: $namespace, id: v.document_id}) }
""",
        "'version ' + v.version + ' of ' + v.document_id + ' belongs to no document'",
        "DETACH DELETE v",
    ),
    _rule(
        "references",
        """
MATCH (a:ClewAlias {namespace: $namespace}) WHERE a.id > 0 AND NOT EXISTS {
    (a)-[:NAMES {namespace: $namespace}]->(:ClewEntity {namespace: $namespace}) }
""",
        '''"the alias '" + a.name + "' names no entity"''',
        "DETACH DELETE a",
    ),
    _rule(
        "references",
        """
MATCH (c:ClewChunk {namespace: $namespace})-[m:MENTIONS {namespace: $namespace}]->()
WHERE c.id > 0 AND coalesce(m.chunk_id, 0) <> c.id
""",
        "'a mention of chunk ' + c.id + ' is kept as one of another chunk'",
        "SET m.chunk_id = c.id",
    ),
    _rule(
        "references",
        """
MATCH (c)-[m:MENTIONS {namespace: $namespace}]->(e) WHERE m.chunk_id > 0 AND NOT EXISTS {
    (:ClewAlias {namespace: $namespace, id: m.alias_id})-[:NAMES {namespace: $namespace}]->(e) }
""",
        "'a mention in chunk ' + m.chunk_id + ' is of an entity without that alias'",
        """
OPTIONAL MATCH (:ClewAlias {namespace: $namespace, id: m.alias_id})
    -[:NAMES {namespace: $namespace}]->(right:ClewEntity {namespace: $namespace})
WITH c, m, properties(m) AS values, right
DELETE m
FOREACH (_ IN CASE WHEN right IS NULL THEN [] ELSE [1] END |
    CREATE (c)-[n:MENTIONS]->(right) SET n = values)
""",
    ),
    _rule(
        "references",
        """
MATCH (h)-[r:RELATES {namespace: $namespace}]->(t) WHERE r.id > 0 AND (NOT EXISTS {
    (:ClewAlias {namespace: $namespace, id: r.from_alias_id})
        -[:NAMES {namespace: $namespace}]->(h) }
OR NOT EXISTS {
    (:ClewAlias {namespace: $namespace, id: r.to_alias_id})-[:NAMES {namespace: $namespace}]->(t)
})
""",
        "'relation ' + r.id + ' leads from or to an entity without that alias'",
        """
OPTIONAL MATCH (:ClewAlias {namespace: $namespace, id: r.from_alias_id})
    -[:NAMES {namespace: $namespace}]->(head:ClewEntity {namespace: $namespace})
OPTIONAL MATCH (:ClewAlias {namespace: $namespace, id: r.to_alias_id})
    -[:NAMES {namespace: $namespace}]->(tail:ClewEntity {namespace: $namespace})
WITH r, properties(r) AS values, head, tail
DELETE r
FOREACH (_ IN CASE WHEN head IS NULL OR tail IS NULL THEN [] ELSE [1] END |
    CREATE (head)-[n:RELATES]->(tail) SET n = values)
""",
    ),
    _rule(
        "references",
        """
MATCH ()-[r:RELATES {namespace: $namespace}]->() WHERE r.chunk_id > 0 AND NOT EXISTS {
    (:ClewChunk {namespace: $namespace, id: r.chunk_id}) }
""",
        "'relation ' + r.id + ' is stated by chunk ' + r.chunk_id + ', which does not exist'",
        "DELETE r",
    ),
    _rule(
        "references",
        """
MATCH (l:ClewExtractionLog {namespace: $namespace}) WHERE l.entity_id > 0 AND NOT EXISTS {
    (:ClewEntity {namespace: $namespace, id: l.entity_id}) }
""",
        "'a reading is of entity ' + l.entity_id + ', which does not exist'",
        "DETACH DELETE l",
    ),
    _rule(
        "memory",
        """
MATCH (d:ClewDocument {namespace: $namespace})
WHERE d.origin STARTS WITH 'memory:' AND NOT EXISTS {
    (:ClewAlias {namespace: $namespace, key: substring(d.origin, 7)})
        -[:NAMES {namespace: $namespace}]->(e:ClewEntity {namespace: $namespace})
    WHERE e.tier = 'manual' }
""",
        '''"the observation '" + d.source + "' is of no entity that was made by hand"''',
        """
MATCH (:ClewAlias {namespace: $namespace, key: substring(d.origin, 7)})
    -[:NAMES {namespace: $namespace}]->(e:ClewEntity {namespace: $namespace})
SET e.tier = 'manual'
""",
    ),
    # Names are mended by `neo4j_sweep`.
    _rule(
        "names",
        f"""
MATCH (a:ClewAlias {{namespace: $namespace}})-[:NAMES {{namespace: $namespace}}]->(e)
WHERE a.id > 0 AND NOT ({_USED})
    AND NOT (a.method = 'manual' AND e.tier = 'manual')
    AND NOT (({_HAS_SOURCE}) AND EXISTS {{
        (r:ClewRule {{namespace: $namespace, key: a.key}}) WHERE r.name <> '' }})
""",
        '''"the alias '" + a.name + "' is in no mention and no relation"''',
    ),
    _rule(
        "names",
        """
MATCH (e:ClewEntity {namespace: $namespace}) WHERE e.id > 0 AND NOT EXISTS {
    (:ClewAlias {namespace: $namespace, key: e.key})-[:NAMES {namespace: $namespace}]->(e) }
""",
        '''"the entity '" + e.name + "' has no alias of that name"''',
    ),
    _rule(
        "mentions",
        f"""
MATCH (c:ClewChunk {{namespace: $namespace}}) WHERE c.id > 0
WITH c, {_SENTENCES} AS sentences
MATCH (c)-[m:MENTIONS {{namespace: $namespace}}]->()
WHERE m.sentence < -1 OR m.sentence >= sentences OR m.count < 1 OR m.start < 0
    OR m.end < m.start OR m.end > c.end - c.start
""",
        "'chunk ' + c.id + ': mention at ' + m.start + ':' + m.end + ' of sentence ' + m.sentence"
        " + ', ' + m.count + ' times'",
    ),
    _rule(
        "mentions",
        f"""
MATCH ()-[r:RELATES {{namespace: $namespace}}]->() WHERE r.chunk_id > 0
MATCH (c:ClewChunk {{namespace: $namespace, id: r.chunk_id}})
WHERE NOT 0 <= r.sentence < {_SENTENCES}
""",
        "'relation ' + r.id + ' is from sentence ' + r.sentence + ' of chunk ' + r.chunk_id",
    ),
    _rule(
        "times",
        """
MATCH (t:ClewTime {namespace: $namespace}) WHERE t.chunk_id > 0 AND t.start >= t.end
""",
        '''"chunk " + t.chunk_id + " has the time '" + t.text + "', which ends before it starts"''',
    ),
    _rule(
        "times",
        """
MATCH (t:ClewTime {namespace: $namespace}) WHERE t.chunk_id > 0 AND t.said = 1
WITH t.chunk_id AS chunk_id, count(*) AS number WHERE number > 1
""",
        "'chunk ' + chunk_id + ' was said at more than one time'",
    ),
    _rule(
        "ids",
        f"""
MATCH (s:ClewStore {{namespace: $namespace}})
CALL () {{ {_LAST_IDS} }}
WITH s, name, last WHERE last >= s[name]
""",
        "name + ' is ' + s[name] + ', but the id ' + last + ' is used'",
        "SET s[name] = last + 1",
    ),
)
