"""The part of the graph of entities that matters to a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clew.errors import InputError
from clew.graph.export import NamedGraph, as_graphml, as_json, as_text, read_subgraph
from clew.graph.subgraph import Subgraph, steiner_tree, subgraph_around
from clew.search.pipeline import MAX_QUESTION
from clew.search.session import QuerySession
from clew.search.strategies.entity_graph import entity_rows, nearest_entities

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clew.graph.entity_graph import EntityRanks
    from clew.search.options import Options
    from clew.search.session import SearchResources
    from clew.types import Context

LEAST = 2
"""Entities of a graph, at least."""
EDGE_COST = 0.15
"""What a tie costs in terms of relevance (0 to 1): what the question names is worth five or more
ties, so that names of one question come together wherever there is a way."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionSubgraph:
    """The entities that matter to a question, and what ties them."""

    query: str
    graph: NamedGraph
    """The most relevant entities first."""
    context: Context
    """The same as text for a language model, within the budget."""
    notes: tuple[str, ...] = ()
    """A sentence for each limit that was met, and for what was missing."""

    def to_dict(self) -> dict[str, Any]:
        """The shape that `--json` prints."""
        return {"query": self.query, "graph": as_json(self.graph), "notes": list(self.notes)}

    def to_graphml(self) -> Iterator[str]:
        """Pieces of GraphML, of the same keys as the export of a whole store."""
        return as_graphml(self.graph)


def question_subgraph(
    resources: SearchResources,
    question: str,
    options: Options,
    ranks: EntityRanks,
    hops: int | None = None,
    entity_ids: Sequence[int] = (),
) -> QuestionSubgraph:
    """The tree that ties the question's entities together; with `hops`, all that lies around them.

    Given ids, of those entities in place of the question's.

    At most `options.limit` entities. Raises `InputError` for a limit below 2, and for hops outside
    1 to 3.
    """
    if options.limit < LEAST:
        raise InputError(f"limit {options.limit!r} cannot be; a graph takes at least {LEAST}")
    session = QuerySession.start(resources, question[:MAX_QUESTION], options)
    found = _subgraph(session, hops, entity_ids)
    graph = read_subgraph(resources.store, resources.entity_graph, found, ranks)
    context = as_text(
        graph,
        max_tokens=options.max_tokens,
        count_tokens=resources.embedder.count_tokens,
        tokenizer=resources.embedder.name,
    )
    session.note(*found.notes)
    if context.left_out:
        session.note(f"{context.left_out} entities and ties did not fit into the text")
    return QuestionSubgraph(
        query=question, graph=graph, context=context, notes=tuple(session.notes)
    )


def _subgraph(session: QuerySession, hops: int | None, entity_ids: Sequence[int]) -> Subgraph:
    graph, limit = session.resources.entity_graph, session.options.limit
    if entity_ids:
        relevance: Mapping[int, float] = dict.fromkeys(entity_ids, 1.0)
    else:
        relevance = nearest_entities(session).relevance if session.snapshot.size else {}
    rows = entity_rows(graph, list(relevance))
    if not rows:
        what = "that was given is tied to others" if entity_ids else "is near the question"
        session.note(f"no entity of the graph {what}")
        return Subgraph(entities=(), edges=())
    if hops is None:
        prizes = {row: relevance[int(graph.entity_ids[row])] for row in rows}
        return steiner_tree(graph, prizes, cost=EDGE_COST, max_entities=limit)
    seeds = rows[: limit - 1]
    return subgraph_around(graph, seeds, hops, limit - len(seeds))
