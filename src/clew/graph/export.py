"""The store for other programs: the graph as GraphML, everything as JSON Lines."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from xml.sax.saxutils import escape, quoteattr

from clew.errors import InputError
from clew.text import STEERING, json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clew.ports import DocumentStore, EntityEditor, GraphStore
    from clew.types import Entity, Relation

    class ExportStore(DocumentStore, GraphStore, EntityEditor, Protocol):
        """What exporting needs of a store."""

    Node: TypeAlias = tuple[str, Mapping[str, object]]
    """Name and data."""
    Edge: TypeAlias = tuple[str, str, str, Mapping[str, object]]
    """Name, names of the nodes that it leads from and to, data."""


_BATCH = 500
_NODE_KEYS = {"name": "string", "entity_type": "string", "salience_score": "double"}
_EDGE_KEYS = {
    "relation_type": "string",
    "weight": "double",
    "confidence": "double",
    "is_causal": "boolean",
}
# XML 1.0 allows no control characters but tab and line breaks, however they are written.
NOT_XML = {code: None for code in range(32) if code not in (9, 10, 13)} | {
    **dict.fromkeys((*range(0xD800, 0xE000), 0xFFFE, 0xFFFF)),
}


def export(store: ExportStore, format: str) -> Iterator[str]:
    """Pieces of text; raises `InputError` for an unknown format."""
    if format == "graphml":
        return _graphml(store)
    if format == "jsonl":
        return _jsonl(store)
    raise InputError(f"unknown format {format!r}; expected graphml or jsonl")


def _graphml(store: ExportStore) -> Iterator[str]:
    return graphml(
        ((f"e{entity.id}", _values(entity, _NODE_KEYS)) for entity in _entities(store)),
        (
            (f"r{r.id}", f"e{r.from_entity_id}", f"e{r.to_entity_id}", _values(r, _EDGE_KEYS))
            for r in _relations(store)
        ),
    )


def _values(item: Entity | Relation, names: Iterable[str]) -> dict[str, object]:
    return {name: getattr(item, name) for name in names}


def graphml(nodes: Iterable[Node], edges: Iterable[Edge]) -> Iterator[str]:
    """A graph as pieces of GraphML; of the data of nodes and edges, what the keys name is kept."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for domain, keys in (("node", _NODE_KEYS), ("edge", _EDGE_KEYS)):
        for name, kind in keys.items():
            head = f'  <key id="{domain}_{name}" for="{domain}"'
            yield f'{head} attr.name="{name}" attr.type="{kind}"/>\n'
    yield '  <graph edgedefault="directed">\n'
    for name, values in nodes:
        yield f'    <node id="{name}">{_data("node", _NODE_KEYS, values)}</node>\n'
    for name, source, target, values in edges:
        ends = f'source="{source}" target="{target}"'
        yield f'    <edge id="{name}" {ends}>{_data("edge", _EDGE_KEYS, values)}</edge>\n'
    yield "  </graph>\n</graphml>\n"


def _data(domain: str, keys: Iterable[str], values: Mapping[str, object]) -> str:
    return "".join(
        f"<data key={quoteattr(f'{domain}_{name}')}>{_xml(values[name])}</data>"
        for name in keys
        if name in values
    )


def _xml(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    allowed = escape(text.translate(NOT_XML))
    return STEERING.sub(lambda match: f"&#{ord(match.group())};", allowed)


def _jsonl(store: ExportStore) -> Iterator[str]:
    for document in store.documents():
        text = "".join(section.text for section in store.document_sections(document.id))
        yield _line("document", {**asdict(document), "text": text})
        for chunk in store.document_chunks(document.id):
            yield _line("chunk", {**asdict(chunk), "id": chunk.public_id})
    for entity in _entities(store):
        names = [alias.name for alias in store.aliases(entity_id=entity.id)]
        yield _line("entity", {**asdict(entity), "aliases": names})
    for relation in _relations(store):
        yield _line("relation", asdict(relation))
    given = store.given_names()
    for key, target in store.link_rules().items():
        yield _line("rule", {"key": key, "target": target, "name": given.get(key, "")})


def _line(kind: str, values: dict[str, Any]) -> str:
    return json_text({"kind": kind, **values}, default=_plain) + "\n"


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"cannot write {value!r} as JSON")


def _entities(store: GraphStore) -> Iterator[Entity]:
    ids = sorted({alias.entity_id for alias in store.aliases()})
    for batch in _batched(ids):
        yield from store.entities(batch)


def _relations(store: GraphStore) -> Iterator[Relation]:
    """Every relation once: with the entity that it starts from."""
    ids = sorted({alias.entity_id for alias in store.aliases()})
    for entity_id in ids:
        for relation in store.relations([entity_id], limit=1_000_000_000):
            if relation.from_entity_id == entity_id:
                yield relation


def _batched(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), _BATCH):
        yield ids[start : start + _BATCH]
