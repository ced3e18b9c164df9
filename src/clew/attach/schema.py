"""What a Neo4j database holds: its names, types, properties and indexes, read within bounds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase, Row


IndexKind = Literal["vector", "fulltext"]

_NAMES = """
CALL () { CALL db.labels() YIELD label RETURN collect(label) AS labels }
CALL () { CALL db.relationshipTypes() YIELD relationshipType AS type RETURN collect(type) AS types }
CALL () { CALL db.propertyKeys() YIELD propertyKey AS key RETURN collect(key) AS properties }
RETURN labels, types, properties
"""
_INDEXES = """
SHOW INDEXES YIELD name, type, entityType, labelsOrTypes, properties, options, state
WHERE type IN ['VECTOR', 'FULLTEXT'] AND entityType = 'NODE'
RETURN name, toLower(type), labelsOrTypes, properties, options['indexConfig'], state = 'ONLINE'
ORDER BY name
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexInfo:
    """A vector index or a full-text index on nodes."""

    name: str
    kind: IndexKind
    labels: tuple[str, ...]
    properties: tuple[str, ...]
    dimension: int | None
    """Of the vectors; None for full text, and where the index takes any."""
    similarity: str
    """`cosine` or `euclidean`; empty for full text."""
    online: bool
    """False while it is being built, and where that failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Names:
    """What a database has."""

    labels: frozenset[str]
    types: frozenset[str]
    """Of relationships."""
    properties: frozenset[str]
    indexes: tuple[IndexInfo, ...]

    def index(self, name: str | None, kind: IndexKind) -> IndexInfo | None:
        """The index of that name and kind, if there is one."""
        return next((i for i in self.indexes if i.name == name and i.kind == kind), None)


def read_names(database: Neo4jDatabase) -> Names:
    """The names and the indexes of a database, in two queries."""
    labels, types, properties = database.rows(_NAMES)[0]
    return Names(
        labels=frozenset(labels),
        types=frozenset(types),
        properties=frozenset(properties),
        indexes=tuple(_index(row) for row in database.rows(_INDEXES)),
    )


def _index(row: Row) -> IndexInfo:
    name, kind, labels, properties, config, online = row
    return IndexInfo(
        name=name,
        kind=kind,
        labels=tuple(labels),
        properties=tuple(properties),
        dimension=config.get("vector.dimensions"),
        similarity=config.get("vector.similarity_function", "").lower(),
        online=online,
    )


def quoted(name: str, known: Collection[str], what: str) -> str:
    r"""A name as Cypher text that it cannot break out of; every name in a query passes here.

    Labels, types and properties cannot be parameters. Cypher reads `\u0060` as a backtick even
    between backticks, hence the care with backslashes. Raises `InputError` for a name that the
    database does not have.
    """
    if name not in known:
        raise InputError(f"the database has no {what} {name!r}; it has {shown_names(known)}")
    return "`" + name.replace("\\", "\\u005C").replace("`", "``") + "`"


def shown_names(known: Collection[str]) -> str:
    """Names for an error message; the first of many."""
    names = [repr(name) for name in sorted(known)]
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return (", ".join(names[:20]) or "none") + more


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
