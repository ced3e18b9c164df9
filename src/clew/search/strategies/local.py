"""Local search: the neighbours, relations and passages of the question's entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.paths import neighbourhood
from clew.search.answer.blocks import Block, Form, cite_chunks, statement
from clew.search.answer.explain import stating_sentences
from clew.search.answer.result import RetrievalResult, after
from clew.search.retrieval.channels import Ranking
from clew.search.retrieval.filters import (
    filtered_entities,
    filtered_graph,
    filtered_relations,
)
from clew.search.strategies.entity_paths import entity_rows
from clew.text import entity_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.search.session import QuerySession
    from clew.types import Community, Ids, Relation

NEAREST = 8
"""Entities that a neighbourhood is looked for around."""
MAX_ENTITIES = 40
"""Entities of a neighbourhood, at most."""
SHOWN = 40
"""Relations of a neighbourhood that are shown, at most."""
DEFINING = 2
"""Passages that say what an entity is and come first, at most."""
RELATIONS = 200
"""Relations of an entity among which those that define it are looked for."""
IS_A = "is_a"
"""The type of what texts state an entity to be."""
PASSAGES = 100
"""Passages of one entity that count, at most."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """Entities near the question, by id, each with its relevance, 0 to 1."""

    relevance: Mapping[int, float]


def nearest_entities(session: QuerySession) -> Nearest:
    """The entities that the question names, then those that its best passages tie to them."""
    evidence = session.gather()
    snapshot = session.snapshot
    seeds = evidence.analysis.seeds
    heaviest = max((seed.weight for seed in seeds), default=0.0) or 1.0
    relevance = {seed.entity_id: seed.weight / heaviest for seed in seeds}
    bridges = evidence.bridges
    values = bridges.scores * snapshot.entity_rarity[bridges.entities]
    order = np.argsort(-values, kind="stable")[:NEAREST]
    for place in order.tolist():
        id_ = int(snapshot.entity_ids[bridges.entities[place]])
        relevance.setdefault(id_, float(np.clip(values[place], 0, 1)))
    ranked = sorted(relevance.items(), key=lambda item: (-item[1], item[0]))
    return Nearest(dict(ranked[:NEAREST]))


def entities_of(session: QuerySession, communities: Sequence[Community]) -> Nearest:
    """The central entities of communities, the first of each foremost."""
    names = [(name, 1 / (1 + place)) for c in communities for place, name in enumerate(c.entities)]
    known = session.resources.store.resolve([entity_key(name) for name, _ in names])
    relevance: dict[int, float] = {}
    for name, value in names:
        id_ = known.get(entity_key(name))
        if id_ is not None:
            relevance[id_] = max(relevance.get(id_, 0.0), value)
    ranked = sorted(relevance.items(), key=lambda item: (-item[1], item[0]))
    return Nearest(dict(ranked[:NEAREST]))


def search_neighbourhood(session: QuerySession, nearest: Nearest) -> RetrievalResult:
    """The entities' neighbourhood: who they are, what ties them, and the passages that say so."""
    if not nearest.relevance:
        session.note("no entity is near the question; passages were found by meaning alone")
        return RetrievalResult(ranking=session.channels.by_vector())
    relevance = _spread(session, nearest)
    block = _neighbourhood_block(session, relevance)
    ranking = _passages(session, relevance)
    first = defining(session, ranking)
    return RetrievalResult(
        ranking=ranking.led_by(first), arrange=after([block]), first=tuple(first.tolist())
    )


def defining(session: QuerySession, ranking: Ranking) -> Ids:
    """The best passages that say what the one entity that the question names is.

    Those that state it ("… is a …"), first of a document about it; else the first of that document.
    """
    seeds = session.analysis.seeds
    if len(seeds) != 1:
        return np.zeros(0, np.int64)
    snapshot, (seed,) = session.snapshot, seeds
    entries, _ = snapshot.entity_passages.entries(np.array([seed.row]))
    passages = snapshot.entity_passages.items[entries]
    about = snapshot.chunk_ids[passages[snapshot.entity_about[entries]]]
    relations = session.resources.store.relations(
        [seed.entity_id], RELATIONS, as_of=session.options.as_of
    )
    stating = {
        relation.chunk_id
        for relation in relations
        if relation.relation_type == IS_A and relation.from_entity_id == seed.entity_id
    }
    states = np.isin(ranking.ids, [id_ for id_ in stating if id_ is not None])
    is_about = np.isin(ranking.ids, about)
    for rows in (states & is_about, states, np.isin(ranking.ids, about[:1])):
        if rows.any():
            return ranking.ids[rows][:DEFINING]
    return np.zeros(0, np.int64)


def _spread(session: QuerySession, nearest: Nearest) -> dict[int, float]:
    """Relevance by entity id of the nearest and their neighbours, halved at each hop."""
    graph = filtered_graph(session)
    rows = entity_rows(graph, list(nearest.relevance))
    hops = min(session.options.max_hops, 3)
    reached = neighbourhood(graph, rows, hops=hops, limit=MAX_ENTITIES)
    session.note(*reached.limits_hit)
    relevance = dict(nearest.relevance)
    for row, hop in zip(reached.entities, reached.hops, strict=True):
        relevance.setdefault(int(graph.entity_ids[row]), 0.5**hop)
    return relevance


def _passages(session: QuerySession, relevance: Mapping[int, float]) -> Ranking:
    """Passages that mention the entities, by the entities' relevance and their own nearness."""
    snapshot = session.snapshot
    by_words = session.rank(session.gather())
    value = np.zeros(snapshot.size)
    for id_, row in snapshot.entity_rows(list(relevance)).items():
        passages = snapshot.entity_passages.row(row)[:PASSAGES]
        value[passages] += relevance[id_] * snapshot.entity_rarity[row]
    value[~session.allows(snapshot.chunk_ids)] = 0
    highest = value.max(initial=0.0) or 1.0
    answering = np.zeros(snapshot.size)
    answering[snapshot.rows(by_words.ids)] = by_words.scores
    total = np.where(value > 0, value / highest + answering, 0)
    rows = np.flatnonzero(total)
    order = rows[np.lexsort((rows, -total[rows]))]
    return Ranking(snapshot.chunk_ids[order], total[order].astype(np.float32)).then(by_words)


def _neighbourhood_block(session: QuerySession, relevance: Mapping[int, float]) -> Block:
    store = session.resources.store
    nearest = sorted(relevance, key=lambda id_: -relevance[id_])
    entities = store.entities(filtered_entities(session, nearest)[:MAX_ENTITIES])
    known = store.relations(list(relevance), 500, as_of=session.options.as_of)
    relations = [
        relation
        for relation in filtered_relations(session, known)
        if relation.from_entity_id in relevance and relation.to_entity_id in relevance
    ][:SHOWN]
    names = {entity.id: entity.name for entity in entities}
    named = ", ".join(f"{entity.name} ({entity.entity_type})" for entity in entities)
    lines = [*_relation_lines(session, relations, names)]
    chunks = store.chunks([r.chunk_id for r in relations if r.chunk_id is not None])
    full = "\n".join([f"Entities: {named}", *lines])
    few = ", ".join(entity.name for entity in entities[:NEAREST])
    return Block(
        kind="subgraph",
        heading="Around the question's entities",
        forms=(
            Form(text=full, citations=cite_chunks(chunks)),
            Form(text=f"Entities: {few}", citations=()),
        ),
    )


def _relation_lines(
    session: QuerySession, relations: Sequence[Relation], names: Mapping[int, str]
) -> list[str]:
    sentences = stating_sentences(session.resources.store, relations)
    lines = []
    for relation in relations:
        ends = (relation.from_entity_id, relation.to_entity_id)
        if all(end in names for end in ends):
            head, tail = (names[end] for end in ends)
            said = statement(head, relation.relation_type, tail, sentences[relation.id])
            lines.append(f"- {said}")
    return lines
