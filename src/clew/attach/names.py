"""The names that queries may be made of: those that the database has, quoted in one place."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
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
