"""The graph for other programs and for language models: GraphML, JSON Lines, JSON, text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from clew.errors import InputError
from clew.graph.knowledge import distinct_facts
from clew.text import STEERING, json_text, one_line
from clew.types import TERM, Context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from clew.graph.entity_graph import EntityGraph, EntityRanks
    from clew.graph.paths import Subgraph
    from clew.stores.store import Store
    from clew.types import Entity, Relation

    NodeData: TypeAlias = tuple[str, Mapping[str, object]]
    """Name and data."""
    EdgeData: TypeAlias = tuple[str, str, str, Mapping[str, object]]
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


def export(store: Store, format: str, *, mentions: bool = False) -> Iterator[str]:
    """Pieces of text; raises `InputError` for an unknown format.

    GraphML has terms of which no relation says anything only with `mentions`.
    """
    if format == "graphml":
        rows = store.relation_rows()
        stated = {*rows.heads.tolist(), *rows.tails.tolist()}
        known = (
            one
            for one in _entities(store)
            if mentions or one.entity_type != TERM or one.id in stated
        )
        return graphml(
            ((f"e{entity.id}", asdict(entity)) for entity in known),
            (
                (f"r{r.id}", f"e{r.from_entity_id}", f"e{r.to_entity_id}", asdict(r))
                for r in _relations(store)
            ),
        )
    if format == "jsonl":
        return _jsonl(store)
    raise InputError(f"unknown format {format!r}; expected graphml or jsonl")


def graphml(nodes: Iterable[NodeData], edges: Iterable[EdgeData]) -> Iterator[str]:
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
    parts = []
    for name in filter(values.__contains__, keys):
        value = values[name]
        text = str(value).lower() if isinstance(value, bool) else str(value)
        allowed = escape(text.translate(NOT_XML))
        safe = STEERING.sub(lambda match: f"&#{ord(match.group())};", allowed)
        parts.append(f"<data key={quoteattr(f'{domain}_{name}')}>{safe}</data>")
    return "".join(parts)


def _jsonl(store: Store) -> Iterator[str]:
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
    return json_text({"kind": kind, **values}, default=datetime.isoformat) + "\n"


def _entities(store: Store) -> Iterator[Entity]:
    ids = sorted({alias.entity_id for alias in store.aliases()})
    for start in range(0, len(ids), _BATCH):
        yield from store.entities(ids[start : start + _BATCH])


def _relations(store: Store) -> Iterator[Relation]:
    """Every relation once: with the entity that it starts from."""
    ids = sorted({alias.entity_id for alias in store.aliases()})
    for entity_id in ids:
        for relation in store.relations([entity_id], limit=1_000_000_000):
            if relation.from_entity_id == entity_id:
                yield relation


# --- subgraphs ---------------------------------------------------------------------------


SHARED = "co_occurs_with"
"""The type of an edge that no relation states: a sentence names both, or names one and is about the
other. It has no direction."""
_HEADING = "Entities:"
_RELATIONS = 100_000
"""Relations that are read to find those of the edges, at most; the heaviest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """A relation between two entities of a subgraph, or a sentence that they share."""

    id: int | None
    """Of the relation; None where none is stated."""
    from_entity_id: int
    to_entity_id: int
    relation_type: str
    weight: float
    """0 to 1; of an edge without a relation, strength / (1 + strength)."""
    is_causal: bool
    evidence: str
    """The sentence; empty where no text says so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedGraph:
    """A subgraph with what its store knows of it."""

    nodes: tuple[Entity, ...]
    """In the subgraph's order."""
    edges: tuple[Edge, ...]
    """By edge in the subgraph's order, then heaviest first."""


def read_subgraph(
    store: Store, graph: EntityGraph, subgraph: Subgraph, ranks: EntityRanks
) -> NamedGraph:
    """Look up a subgraph's entities, the relations that state its edges, and their sentences."""
    rows = np.array(subgraph.entities, dtype=np.int64)
    nodes = ranks.applied(store.entities(graph.entity_ids[rows].tolist()))
    # The rows at both ends of each edge, the one of fewer edges first. Relations are asked of that
    # one, which spares reading a hub's.
    pairs: dict[int, list[int]] = {edge: [] for edge in subgraph.edges}
    for row in sorted(subgraph.entities, key=lambda row: len(graph.row(row)[1])):
        for edge in graph.row(row)[1].tolist():
            if edge in pairs:
                pairs[edge].append(row)
    fewer = sorted({int(graph.entity_ids[first]) for first, _ in pairs.values()})
    relations: dict[tuple[int, int], list[Relation]] = {}
    for relation in store.relations(fewer, _RELATIONS):
        ends = relation.from_entity_id, relation.to_entity_id
        relations.setdefault((min(ends), max(ends)), []).append(relation)
    ids = {
        edge: (int(graph.entity_ids[min(pair)]), int(graph.entity_ids[max(pair)]))
        for edge, pair in pairs.items()
    }
    stated = {edge: relations.get(ends, []) for edge, ends in ids.items()}
    texts = store.sentences(
        sorted(
            {int(chunk) for chunk in graph.chunks[list(pairs)]}
            | {r.chunk_id for found in stated.values() for r in found if r.chunk_id is not None}
        )
    )
    edges: list[Edge] = []
    for edge, ends in ids.items():
        edges += [
            Edge(
                id=relation.id,
                from_entity_id=relation.from_entity_id,
                to_entity_id=relation.to_entity_id,
                relation_type=relation.relation_type,
                weight=relation.weight,
                is_causal=relation.is_causal,
                evidence=_sentence(texts, relation.chunk_id, relation.sentence),
            )
            for relation, _ in distinct_facts(stated[edge])
        ]
        if not stated[edge]:
            strength = float(graph.strengths[edge])
            edges.append(
                Edge(
                    id=None,
                    from_entity_id=ends[0],
                    to_entity_id=ends[1],
                    relation_type=SHARED,
                    weight=strength / (1 + strength),
                    is_causal=False,
                    evidence=_sentence(texts, int(graph.chunks[edge]), int(graph.sentences[edge])),
                )
            )
    return NamedGraph(nodes=tuple(nodes), edges=tuple(edges))


def _sentence(
    texts: Mapping[int, Sequence[str]], chunk_id: int | None, sentence: int | None
) -> str:
    if chunk_id is None or sentence is None:
        return ""
    of_chunk = texts.get(chunk_id, ())
    return of_chunk[sentence] if 0 <= sentence < len(of_chunk) else ""


# --- as JSON and GraphML -----------------------------------------------------------------


def as_json(named: NamedGraph) -> dict[str, Any]:
    """`nodes`, `edges`, `node_count`, `edge_count`."""
    keys = ("id", "name", "entity_type", "tier", "salience_score")
    return {
        "nodes": [{key: getattr(node, key) for key in keys} for node in named.nodes],
        "edges": [asdict(edge) for edge in named.edges],
        "node_count": len(named.nodes),
        "edge_count": len(named.edges),
    }


def as_graphml(named: NamedGraph) -> Iterator[str]:
    """Pieces of GraphML, of the same keys as the export of a whole store."""
    return graphml(
        ((f"e{node.id}", asdict(node)) for node in named.nodes),
        (
            (
                f"t{number}" if edge.id is None else f"r{edge.id}",
                f"e{edge.from_entity_id}",
                f"e{edge.to_entity_id}",
                asdict(edge),
            )
            for number, edge in enumerate(named.edges)
        ),
    )


# --- as text -----------------------------------------------------------------------------


def as_text(
    named: NamedGraph, *, max_tokens: int, count_tokens: Callable[[str], int], tokenizer: str = ""
) -> Context:
    """The entities, then what connects them with the sentences that say so, within a budget.

    Each is whole or left out. The entities take at most half of the budget; an edge that does not
    fit makes room for the next. `tokenizer` says what counts.
    """

    def joined(names: Sequence[str], lines: Sequence[str]) -> str:
        heading = [" ".join([_HEADING, *names]).removesuffix(";")] if names else []
        return "\n".join([*heading, *lines])

    names = {node.id: node.name for node in named.nodes}
    said = []
    for edge in named.edges:
        how = "—" if edge.id is None else f"— {edge.relation_type} →"
        evidence = f": “{edge.evidence}”" if edge.evidence else ""
        ends = names[edge.from_entity_id], names[edge.to_entity_id]
        said.append(one_line(f"- {ends[0]} {how} {ends[1]}{evidence}"))
    entities = [one_line(f"{node.name} ({node.entity_type});") for node in named.nodes]
    shown = fitting(entities, max_tokens // 2 - count_tokens(_HEADING), count_tokens)
    room = max_tokens - count_tokens(joined(shown, []))
    lines = fitting(said, room, count_tokens)
    while (lines or shown) and count_tokens(joined(shown, lines)) > max_tokens:
        (lines or shown).pop()  # together they may count for a little more than each alone
    text = joined(shown, lines)
    return Context(
        text=text,
        citations=(),
        tokens=count_tokens(text),
        left_out=len(named.nodes) - len(shown) + len(named.edges) - len(lines),
        tokenizer=tokenizer,
    )


def fitting(pieces: Sequence[str], room: int, count_tokens: Callable[[str], int]) -> list[str]:
    """The pieces that there is room for, in order."""
    kept: list[str] = []
    for piece in pieces:
        tokens = count_tokens(piece)
        if tokens <= room:
            kept.append(piece)
            room -= tokens
    return kept
