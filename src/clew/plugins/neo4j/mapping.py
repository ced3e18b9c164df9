"""What a Neo4j database holds: its names, types, properties and indexes, read within bounds."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from clew.errors import InputError
from clew.plugins.neo4j.connection import Neo4jDatabase, Row
from clew.settings import Settings
from clew.wiring import server_kind

M = TypeVar("M", bound=BaseModel)
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
        indexes=tuple(
            IndexInfo(
                name=name,
                kind=kind,
                labels=tuple(held),
                properties=tuple(of),
                dimension=config.get("vector.dimensions"),
                similarity=config.get("vector.similarity_function", "").lower(),
                online=online,
            )
            for name, kind, held, of, config, online in database.rows(_INDEXES)
        ),
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


@dataclass(frozen=True, kw_only=True)
class LabelInfo:
    """A label and what its nodes hold."""

    name: str
    count: int
    """All nodes that have it; of a type, all relationships."""
    properties: tuple[PropertyInfo, ...]
    """Of the first `SAMPLE` of them, by name."""


@dataclass(frozen=True, kw_only=True)
class TypeInfo(LabelInfo):
    """A relationship type and the labels at its ends."""

    ends: tuple[tuple[str, str], ...]
    """(label, label) pairs that the first `SAMPLE` lead from and to, sorted."""


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
    labels, types = [], []
    for label in sorted(names.labels):
        query = _LABEL.format(label=quoted(label, names.labels, "label"))
        count, properties = database.rows(query, sample=SAMPLE)[0]
        labels.append(LabelInfo(name=label, count=count, properties=_properties(properties)))
    for name in sorted(names.types):
        query = _TYPE.format(type=quoted(name, names.types, "relationship type"))
        count, properties, found = database.rows(query, sample=SAMPLE)[0]
        ends = tuple(sorted({pair for start, end in found for pair in product(start, end)}))
        held = _properties(properties)
        types.append(TypeInfo(name=name, count=count, properties=held, ends=ends))
    lookups = frozenset((label, name) for label, name in database.rows(_LOOKUPS))
    return GraphSchema(
        labels=tuple(labels), types=tuple(types), indexes=names.indexes, lookups=lookups
    )


def _properties(rows: list[Row]) -> tuple[PropertyInfo, ...]:
    return tuple(
        PropertyInfo(name=name, types=tuple(sorted({t.replace(" NOT NULL", "") for t in types})))
        for name, types in sorted(rows)
    )


# What the labels, properties, types and indexes of somebody else's graph mean.


Direction = Literal["out", "in", "both"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_min_length=1)


class PassageMapping(_Part):
    """Nodes that hold text."""

    label: str
    text: str
    """Property with the text that is shown."""
    id: str | None = None
    """Property that tells passages apart; None: the database's own element ids."""
    title: str | None = None
    source: str | None = None
    """Property with a path or an address."""
    vector_index: str | None = None
    """Name of a vector index on these nodes."""
    fulltext_index: str | None = None
    """Name of a full-text index on these nodes."""

    @model_validator(mode="after")
    def _can_be_searched(self) -> PassageMapping:
        if self.vector_index is None and self.fulltext_index is None:
            raise ValueError("expected vector_index, fulltext_index or both")
        return self


class EntityMapping(_Part):
    """Nodes that passages have in common."""

    labels: tuple[str, ...] = Field(min_length=1)
    """A node with any of them is an entity."""
    name: str
    """Property with the name that questions use."""
    fulltext_index: str | None = None
    """Name of a full-text index on the names: they are found whatever their case, and fast."""


class MentionMapping(_Part):
    """Relationships between passages and the entities that they mention."""

    types: tuple[str, ...] = Field(min_length=1)
    direction: Direction = "out"
    """`out`: from the passage to the entity."""


class RelationMapping(_Part):
    """Which relationships lead from entity to entity; they are followed both ways."""

    types: tuple[str, ...] = ()


class GraphMapping(_Part):
    """A whole graph; without entities it is searched by vectors and words alone."""

    passages: PassageMapping
    entities: EntityMapping | None = None
    mentions: MentionMapping | None = None
    relations: RelationMapping = RelationMapping()

    @model_validator(mode="after")
    def _entities_are_mentioned(self) -> GraphMapping:
        if (self.entities is None) != (self.mentions is None):
            raise ValueError("expected both of [entities] and [mentions], or neither")
        if self.relations.types and self.entities is None:
            raise ValueError("expected [entities], since [relations] lead from one to another")
        return self


def read_mapping(path: Path) -> GraphMapping:
    """The mapping in a TOML file; raises `InputError` that names each entry that cannot be."""
    return read_toml(path, "mapping", GraphMapping)


def read_toml(path: Path, what: str, model: type[M]) -> M:
    """What a TOML file says; raises `InputError`, which calls the file `what`."""
    try:
        return model.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"{what} {str(path)!r} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{what} {str(path)!r} is not TOML: {error}") from error
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or what}: {item['msg']}" for item in error.errors()
        )
        raise InputError(f"{what} {str(path)!r} cannot be: {wrong}") from error


# Whether a mapping fits a database: what it names is there, and is what it is taken for.


@dataclass(frozen=True, slots=True)
class Finding:
    """One entry of a mapping against the database."""

    entry: str
    """Such as `passages.label`."""
    given: str
    fits: bool
    detail: str
    """What was found; or what is wrong, and what there is instead."""


def check_mapping(mapping: GraphMapping, schema: GraphSchema, dimension: int) -> list[Finding]:
    """Every entry of the mapping, in its order; `dimension` is that of the embedder."""
    passages, entities, mentions = mapping.passages, mapping.entities, mapping.mentions
    own = (passages.label,)
    found = [_label_check("passages.label", passages.label, schema)]
    for entry in ("text", "id", "title", "source"):
        if (name := getattr(passages, entry)) is not None:
            found.append(_property(f"passages.{entry}", name, own, schema))
    if passages.vector_index is not None:
        entry, name = "passages.vector_index", passages.vector_index
        wrong, index = _index_check(name, "vector", own, schema)
        there = None if index is None else index.dimension
        detail = f"{dimension} dimensions, as the embedder; of what model they are cannot be seen"
        if there is None:
            detail = "it does not say its dimension"
        elif there != dimension:
            detail = (
                f"{there} dimensions, the embedder has {dimension}; set embed.model to the"
                " model that the vectors were made with, or words alone answer"
            )
        fits = not wrong and there in (None, dimension)
        found.append(Finding(entry, name, fits, wrong or detail))
    if passages.fulltext_index is not None:
        entry = "passages.fulltext_index"
        found.append(_words(entry, passages.fulltext_index, own, passages.text, schema))
    if entities is None or mentions is None:
        return found
    labels, entry = entities.labels, "entities.fulltext_index"
    found += [_label_check("entities.labels", label, schema) for label in labels]
    found.append(_property("entities.name", entities.name, labels, schema))
    if entities.fulltext_index is not None:
        found.append(_words(entry, entities.fulltext_index, labels, entities.name, schema))
    elif not all((label, entities.name) in schema.lookups for label in labels):
        detail = "every question reads all entities; map a full-text index, or index their names"
        found.append(Finding(entry, "", True, detail))
    out, back = set(product(own, labels)), set(product(labels, own))
    wanted = {"out": out, "in": back, "both": out | back}[mentions.direction]
    found += [_type_check("mentions.types", name, wanted, schema) for name in mentions.types]
    within = set(product(labels, labels))
    return found + [
        _type_check("relations.types", name, within, schema) for name in mapping.relations.types
    ]


def _label_check(entry: str, name: str, schema: GraphSchema) -> Finding:
    found = schema.label(name)
    if found is None:
        known = shown_names([label.name for label in schema.labels])
        return Finding(entry, name, False, f"no such label; there are {known}")
    return Finding(entry, name, found.count > 0, f"nodes: {found.count:,}")


def _property(entry: str, name: str, labels: Sequence[str], schema: GraphSchema) -> Finding:
    """A property that some of the first nodes of each label have."""
    for label in labels:
        found = schema.label(label)
        properties = {p.name: p.types for p in found.properties} if found else {}
        if name not in properties:
            known = shown_names(properties)
            detail = f"none of the first {SAMPLE:,} {label!r} has it; they have {known}"
            return Finding(entry, name, False, detail)
        if any(type_.startswith("LIST") for type_ in properties[name]):
            return Finding(entry, name, False, f"a list in {label!r}; expected a text or a number")
    return Finding(entry, name, True, "there")


def _index_check(
    name: str, kind: IndexKind, labels: Sequence[str], schema: GraphSchema
) -> tuple[str, IndexInfo | None]:
    """What is wrong with an index (empty: nothing), and the index."""
    index = next((i for i in schema.indexes if (i.name, i.kind) == (name, kind)), None)
    if index is None:
        known = shown_names([i.name for i in schema.indexes if i.kind == kind])
        return f"no such {kind} index; there are {known}", None
    if missing := sorted(set(labels) - set(index.labels)):
        return f"it is on {shown_names(index.labels)}, not on {shown_names(missing)}", index
    return "" if index.online else "it is not online yet", index


def _words(entry: str, name: str, labels: Sequence[str], text: str, schema: GraphSchema) -> Finding:
    """A full-text index that holds the text of those labels."""
    wrong, index = _index_check(name, "fulltext", labels, schema)
    if not wrong and index is not None and text not in index.properties:
        wrong = f"it is on {shown_names(index.properties)}, not on {text!r}"
    return Finding(entry, name, not wrong, wrong or "there")


def _type_check(
    entry: str, name: str, wanted: set[tuple[str, str]], schema: GraphSchema
) -> Finding:
    """A relationship type of which some of the first lead where they are taken to lead."""
    found = schema.type(name)
    if found is None:
        known = shown_names([type_.name for type_ in schema.types])
        return Finding(entry, name, False, f"no such relationship type; there are {known}")
    if wanted.isdisjoint(found.ends):
        there = ", ".join(f"{start} to {end}" for start, end in found.ends) or "nothing"
        expected = ", ".join(f"{start} to {end}" for start, end in sorted(wanted))
        detail = f"the first {SAMPLE:,} tie {there}; expected {expected}"
        return Finding(entry, name, False, detail)
    return Finding(entry, name, True, f"relationships: {found.count:,}")


# The Neo4j database that the settings name, without a store of Clew's in it.


@contextmanager
def open_database(settings: Settings) -> Iterator[Neo4jDatabase]:
    """The database; raises `InputError` where the store is a folder."""
    from clew.plugins.neo4j.connection import Neo4jDatabase

    server_kind(settings)
    with closing(
        Neo4jDatabase(str(settings.store), settings.neo4j, settings.namespace)
    ) as database:
        yield database
