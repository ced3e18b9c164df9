"""What only a namespace of Neo4j can break: its relationships, its counters and its indexes.

A rule says what breaks it, and how that is mended where it can. Its query returns one text for each
thing that breaks it. A composite index finds only nodes that have every property that it is made
of, hence `n.id > 0`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from clew.plugins.neo4j.backend import Neo4jBackend
from clew.plugins.neo4j.connection import (
    SHARED_INDEXES,
    define_keywords,
    define_shared,
    define_vectors,
    keyword_index,
    vector_index,
)
from clew.stores.backend import Backend
from clew.stores.check import Invariant, StoreCheck
from clew.stores.state import StoreState
from clew.types import Problem


class Rule(NamedTuple):
    """Something that holds in every sound namespace."""

    invariant: str
    broken: str
    """Cypher that returns what breaks it."""
    mend: str
    """Cypher that mends it from what is sound; later rules may have work left by earlier ones."""


def _rule(invariant: str, match: str, detail: str, mend: str) -> Rule:
    """A rule whose mending begins with what its query finds."""
    return Rule(invariant, f"{match} RETURN {detail}", f"{match} WITH * {mend}")


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
MATCH (e:ClewEarlierText {namespace: $namespace})
WHERE e.document_id IS NOT NULL AND e.version > 0 AND NOT EXISTS {
    (:ClewDocument {namespace: $namespace, id: e.document_id}) }
""",
        "'the earlier text ' + e.version + ' of ' + e.document_id + ' belongs to no document'",
        "DETACH DELETE e",
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


_INDEXES = "SHOW INDEXES YIELD name, state WHERE name IN $names RETURN name, state"


class Neo4jCheck(StoreCheck[Neo4jBackend]):
    """`StoreCheck` of a namespace; writers wait meanwhile."""

    derived = frozenset({"references", "ids", "indexes"})

    def own(self) -> Mapping[str, Invariant]:
        """See `StoreCheck`."""
        return {name: partial(self._broken, name) for name in ("references", "ids")}

    def _broken(self, invariant: str, _: Backend) -> Iterator[str]:
        for rule in RULES:
            if rule.invariant == invariant:
                for (detail,) in self.backend.database.rows(rule.broken):
                    yield detail

    def checked(self) -> tuple[str, ...]:
        """See `StoreCheck`."""
        return (*super().checked(), "indexes")

    def find(self) -> list[Problem]:
        """See `StoreCheck`."""
        found = super().find()
        indexes = self.problem("indexes", self._broken_indexes())
        return [*found, indexes] if indexes else found

    def _broken_indexes(self) -> Iterator[str]:
        database = self.backend.database
        names = [*SHARED_INDEXES, keyword_index(database.namespace)]
        if StoreState(self.backend).state().dimension:
            names.append(vector_index(database.namespace))
        states = dict(database.rows(_INDEXES, names=names))
        for name in names:
            if states.get(name) in (None, "FAILED"):
                yield f"the index {name!r} {'failed' if name in states else 'is missing'}"

    def mend(self) -> None:
        """See `StoreCheck`; indexes cannot be defined inside `write`.

        What is missing is made; of what failed, the namespace's own, which nothing depends on.
        """
        database = self.backend.database
        own = [keyword_index(database.namespace), vector_index(database.namespace)]
        for name, state in database.rows(_INDEXES, names=own):
            if state == "FAILED":
                database.define(f"DROP INDEX `{name}` IF EXISTS")
        define_shared(database)
        define_keywords(database)
        if dimension := StoreState(self.backend).state().dimension:
            define_vectors(database, dimension)
        super().mend()

    def mend_references(self) -> None:
        """Tie again what is known, delete the rest."""
        for rule in RULES:
            self.backend.database.rows(rule.mend)
