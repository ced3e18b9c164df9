"""What a Neo4j database holds: labels, types, properties and indexes, read within bounds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from clew.attach.names import IndexInfo, quoted, read_names

if TYPE_CHECKING:
    from clew.attach.names import Names
    from clew.stores.neo4j.connection import Neo4jDatabase, Row

SAMPLE = 1000
"""Nodes of a label, or relationships of a type, whose properties are looked at."""

# Counts come from the database's own counters; nothing is read for them.
_LABEL = """
CALL () {{ MATCH (n:{label}) RETURN count(n) AS count }}
CALL () {{
  MATCH (n:{label}) WITH n LIMIT $sample
  UNWIND keys(n) AS key
  WITH key, collect(DISTINCT valueType(n[key])) AS types
  RETURN collect([key, types]) AS properties
}}
RETURN count, properties
"""
_TYPE = """
CALL () {{ MATCH ()-[r:{type}]->() RETURN count(r) AS count }}
CALL () {{
  MATCH (a)-[r:{type}]->(b) WITH a, r, b LIMIT $sample
  RETURN collect(r) AS found, collect(DISTINCT [labels(a), labels(b)]) AS ends
}}
CALL (found) {{
  UNWIND found AS r
  UNWIND keys(r) AS key
  WITH key, collect(DISTINCT valueType(r[key])) AS types
  RETURN collect([key, types]) AS properties
}}
RETURN count, properties, ends
"""
# A node is found by such a property without reading all nodes of its label.
_LOOKUPS = """
SHOW INDEXES YIELD type, entityType, labelsOrTypes, properties
WHERE type IN ['RANGE', 'TEXT'] AND entityType = 'NODE'
RETURN DISTINCT labelsOrTypes[0], properties[0]
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PropertyInfo:
    """A property as it was seen."""

    name: str
    types: tuple[str, ...]
    """As Cypher names them: `STRING`, `LIST<FLOAT>`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelInfo:
    """A label and what its nodes hold."""

    name: str
    count: int
    """All nodes that have it."""
    properties: tuple[PropertyInfo, ...]
    """Of the first `SAMPLE` nodes, by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TypeInfo:
    """A relationship type and the labels at its ends."""

    name: str
    count: int
    """All relationships of it."""
    properties: tuple[PropertyInfo, ...]
    """Of the first `SAMPLE` relationships, by name."""
    ends: tuple[tuple[str, str], ...]
    """(label, label) pairs that those lead from and to, sorted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphSchema:
    """What `clew schema` prints."""

    labels: tuple[LabelInfo, ...]
    types: tuple[TypeInfo, ...]
    indexes: tuple[IndexInfo, ...]
    """Those for vectors and for full text."""
    lookups: frozenset[tuple[str, str]]
    """(label, property) pairs by which nodes are found without reading all."""

    def label(self, name: str) -> LabelInfo | None:
        """What is known of a label, if there is one of that name."""
        return next((label for label in self.labels if label.name == name), None)

    def type(self, name: str) -> TypeInfo | None:
        """What is known of a relationship type, if there is one of that name."""
        return next((type_ for type_ in self.types if type_.name == name), None)


def read_schema(database: Neo4jDatabase) -> GraphSchema:
    """Everything, in a query for each label and each type; reads at most `SAMPLE` of any."""
    names = read_names(database)
    return GraphSchema(
        labels=tuple(_label(database, names, label) for label in sorted(names.labels)),
        types=tuple(_type(database, names, type_) for type_ in sorted(names.types)),
        indexes=names.indexes,
        lookups=frozenset((label, name) for label, name in database.rows(_LOOKUPS)),
    )


def _label(database: Neo4jDatabase, names: Names, label: str) -> LabelInfo:
    query = _LABEL.format(label=quoted(label, names.labels, "label"))
    count, properties = database.rows(query, sample=SAMPLE)[0]
    return LabelInfo(name=label, count=count, properties=_properties(properties))


def _type(database: Neo4jDatabase, names: Names, type_: str) -> TypeInfo:
    query = _TYPE.format(type=quoted(type_, names.types, "relationship type"))
    count, properties, found = database.rows(query, sample=SAMPLE)[0]
    ends = {pair for start, end in found for pair in product(start, end)}
    return TypeInfo(
        name=type_, count=count, properties=_properties(properties), ends=tuple(sorted(ends))
    )


def _properties(rows: list[Row]) -> tuple[PropertyInfo, ...]:
    return tuple(
        PropertyInfo(name=name, types=tuple(sorted({t.replace(" NOT NULL", "") for t in types})))
        for name, types in sorted(rows)
    )
