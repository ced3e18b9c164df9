"""Whether a mapping fits a database: what it names is there, and is what it is taken for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from clew.attach.schema import SAMPLE, shown_names

if TYPE_CHECKING:
    from clew.attach.mapping import GraphMapping
    from clew.attach.schema import GraphSchema, IndexInfo, IndexKind


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
    found = [*_passages(mapping, schema, dimension), *_entities(mapping, schema)]
    return [*found, *_relationships(mapping, schema)]


def _passages(mapping: GraphMapping, schema: GraphSchema, dimension: int) -> Iterator[Finding]:
    given = mapping.passages
    labels = (given.label,)
    yield _label("passages.label", given.label, schema)
    for entry in ("text", "id", "title", "source"):
        name = getattr(given, entry)
        if name is not None:
            yield _property(f"passages.{entry}", name, labels, schema)
    if given.vector_index is not None:
        entry = "passages.vector_index"
        wrong, index = _index(given.vector_index, "vector", labels, schema)
        detail = wrong or _dimension(index, dimension)
        fits = not wrong and (index is None or index.dimension in (None, dimension))
        yield Finding(entry, given.vector_index, fits, detail)
    if given.fulltext_index is not None:
        yield _words("passages.fulltext_index", given.fulltext_index, labels, given.text, schema)


def _entities(mapping: GraphMapping, schema: GraphSchema) -> Iterator[Finding]:
    given = mapping.entities
    if given is None:
        return
    for label in given.labels:
        yield _label("entities.labels", label, schema)
    yield _property("entities.name", given.name, given.labels, schema)
    entry = "entities.fulltext_index"
    if given.fulltext_index is not None:
        yield _words(entry, given.fulltext_index, given.labels, given.name, schema)
    elif not all((label, given.name) in schema.lookups for label in given.labels):
        detail = "every question reads all entities; map a full-text index, or index their names"
        yield Finding(entry, "", True, detail)


def _relationships(mapping: GraphMapping, schema: GraphSchema) -> Iterator[Finding]:
    if mapping.entities is None or mapping.mentions is None:
        return
    passages, entities = (mapping.passages.label,), mapping.entities.labels
    out, back = set(product(passages, entities)), set(product(entities, passages))
    wanted = {"out": out, "in": back, "both": out | back}[mapping.mentions.direction]
    for name in mapping.mentions.types:
        yield _type("mentions.types", name, wanted, schema)
    for name in mapping.relations.types:
        yield _type("relations.types", name, set(product(entities, entities)), schema)


def _label(entry: str, name: str, schema: GraphSchema) -> Finding:
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


def _index(
    name: str, kind: IndexKind, labels: Sequence[str], schema: GraphSchema
) -> tuple[str, IndexInfo | None]:
    """What is wrong with an index (empty: nothing), and the index."""
    index = next((i for i in schema.indexes if (i.name, i.kind) == (name, kind)), None)
    if index is None:
        known = shown_names([i.name for i in schema.indexes if i.kind == kind])
        return f"no such {kind} index; there are {known}", None
    missing = sorted(set(labels) - set(index.labels))
    if missing:
        return f"it is on {shown_names(index.labels)}, not on {shown_names(missing)}", index
    return "" if index.online else "it is not online yet", index


def _dimension(index: IndexInfo | None, dimension: int) -> str:
    if index is None or index.dimension is None:
        return "it does not say its dimension"
    if index.dimension != dimension:
        return (
            f"{index.dimension} dimensions, the embedder has {dimension}; set embed.model to the"
            " model that the vectors were made with, or words alone answer"
        )
    return f"{dimension} dimensions, as the embedder; of what model they are cannot be seen"


def _words(entry: str, name: str, labels: Sequence[str], text: str, schema: GraphSchema) -> Finding:
    """A full-text index that holds the text of those labels."""
    wrong, index = _index(name, "fulltext", labels, schema)
    if not wrong and index is not None and text not in index.properties:
        wrong = f"it is on {shown_names(index.properties)}, not on {text!r}"
    return Finding(entry, name, not wrong, wrong or "there")


def _type(entry: str, name: str, wanted: set[tuple[str, str]], schema: GraphSchema) -> Finding:
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
