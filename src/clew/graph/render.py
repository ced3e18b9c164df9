"""Subgraphs for others to read: as text for a language model, as JSON, as GraphML."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from clew.graph.export import graphml
from clew.text import one_line
from clew.types import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.importance import EntityRanks
    from clew.graph.traversal.subgraph import Subgraph
    from clew.ports import GraphStore, PassageStore
    from clew.types import Entity, Relation

    class SubgraphStore(PassageStore, GraphStore, Protocol):
        """What reading a subgraph needs of a store."""


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
    store: SubgraphStore, graph: EntityGraph, subgraph: Subgraph, ranks: EntityRanks
) -> NamedGraph:
    """Look up a subgraph's entities, the relations that state its edges, and their sentences."""
    rows = np.array(subgraph.entities, dtype=np.int64)
    nodes = ranks.applied(store.entities(graph.entity_ids[rows].tolist()))
    pairs = _pairs(graph, subgraph)
    relations = _relations_of(store, graph, pairs)
    stated = {edge: relations.get(_ids(graph, pair), []) for edge, pair in pairs.items()}
    texts = store.sentences(
        sorted(
            {int(chunk) for chunk in graph.chunks[list(pairs)]}
            | {r.chunk_id for found in stated.values() for r in found if r.chunk_id is not None}
        )
    )
    edges: list[Edge] = []
    for edge, pair in pairs.items():
        edges += [_stated(relation, texts) for relation in stated[edge]]
        if not stated[edge]:
            edges.append(_shared(graph, edge, _ids(graph, pair), texts))
    return NamedGraph(nodes=tuple(nodes), edges=tuple(edges))


def _pairs(graph: EntityGraph, subgraph: Subgraph) -> dict[int, tuple[int, int]]:
    """The rows at both ends of each edge, the one of fewer edges first."""
    ends: dict[int, list[int]] = {edge: [] for edge in subgraph.edges}
    for row in sorted(subgraph.entities, key=lambda row: len(graph.row(row)[1])):
        for edge in graph.row(row)[1].tolist():
            if edge in ends:
                ends[edge].append(row)
    return {edge: (one, other) for edge, (one, other) in ends.items()}


def _ids(graph: EntityGraph, pair: tuple[int, int]) -> tuple[int, int]:
    """Ids of two rows, the smaller first."""
    return int(graph.entity_ids[min(pair)]), int(graph.entity_ids[max(pair)])


def _relations_of(
    store: SubgraphStore, graph: EntityGraph, pairs: Mapping[int, tuple[int, int]]
) -> dict[tuple[int, int], list[Relation]]:
    """Relations by their two ends (ids, the smaller first), heaviest first.

    They are asked of the end of each pair that has fewer edges, which spares reading a hub's.
    """
    fewer = sorted({int(graph.entity_ids[pair[0]]) for pair in pairs.values()})
    found: dict[tuple[int, int], list[Relation]] = {}
    for relation in store.relations(fewer, _RELATIONS):
        ends = relation.from_entity_id, relation.to_entity_id
        found.setdefault((min(ends), max(ends)), []).append(relation)
    return found


def _stated(relation: Relation, texts: Mapping[int, Sequence[str]]) -> Edge:
    return Edge(
        id=relation.id,
        from_entity_id=relation.from_entity_id,
        to_entity_id=relation.to_entity_id,
        relation_type=relation.relation_type,
        weight=relation.weight,
        is_causal=relation.is_causal,
        evidence=_sentence(texts, relation.chunk_id, relation.sentence),
    )


def _shared(
    graph: EntityGraph, edge: int, ends: tuple[int, int], texts: Mapping[int, Sequence[str]]
) -> Edge:
    strength = float(graph.strengths[edge])
    return Edge(
        id=None,
        from_entity_id=ends[0],
        to_entity_id=ends[1],
        relation_type=SHARED,
        weight=strength / (1 + strength),
        is_causal=False,
        evidence=_sentence(texts, int(graph.chunks[edge]), int(graph.sentences[edge])),
    )


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
    names = [one_line(f"{node.name} ({node.entity_type});") for node in named.nodes]
    shown = fitting(names, max_tokens // 2 - count_tokens(_HEADING), count_tokens)
    room = max_tokens - count_tokens(_joined(shown, []))
    lines = fitting(_lines(named), room, count_tokens)
    while (lines or shown) and count_tokens(_joined(shown, lines)) > max_tokens:
        (lines or shown).pop()  # together they may count for a little more than each alone
    text = _joined(shown, lines)
    return Context(
        text=text,
        citations=(),
        tokens=count_tokens(text),
        left_out=len(named.nodes) - len(shown) + len(named.edges) - len(lines),
        tokenizer=tokenizer,
    )


def _lines(named: NamedGraph) -> list[str]:
    names = {node.id: node.name for node in named.nodes}
    return [one_line(f"- {_ends(names, edge)}{_said(edge.evidence)}") for edge in named.edges]


def _ends(names: Mapping[int, str], edge: Edge) -> str:
    how = "—" if edge.id is None else f"— {edge.relation_type} →"
    return f"{names[edge.from_entity_id]} {how} {names[edge.to_entity_id]}"


def _said(sentence: str) -> str:
    return f": “{sentence}”" if sentence else ""


def fitting(pieces: Sequence[str], room: int, count_tokens: Callable[[str], int]) -> list[str]:
    """The pieces that there is room for, in order."""
    kept: list[str] = []
    for piece in pieces:
        tokens = count_tokens(piece)
        if tokens <= room:
            kept.append(piece)
            room -= tokens
    return kept


def _joined(names: Sequence[str], lines: Sequence[str]) -> str:
    heading = [" ".join([_HEADING, *names]).removesuffix(";")] if names else []
    return "\n".join([*heading, *lines])
