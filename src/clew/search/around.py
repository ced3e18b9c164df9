"""What lies around and between entities: neighbours, paths, what matters to a question."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clew.errors import InputError
from clew.graph.export import NamedGraph, as_graphml, as_json, as_text, read_subgraph
from clew.graph.knowledge import distinct_facts
from clew.graph.paths import Subgraph, all_paths, neighbourhood, steiner_tree, subgraph_around
from clew.graph.snapshot import find_sorted
from clew.search.answer.blocks import Block, Form, RetrievalResult, after, cite_chunks, statement
from clew.search.answer.hits import evidence_of, stating_sentences
from clew.search.channels import Ranking
from clew.search.session import (
    MAX_QUESTION,
    QuerySession,
    filtered_entities,
    filtered_graph,
    filtered_relations,
)
from clew.text import entity_key
from clew.types import RelationEvidence, current_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from clew.graph.entity_graph import EntityGraph, EntityRanks
    from clew.graph.paths import Path
    from clew.search.options import Options
    from clew.search.session import SearchResources
    from clew.stores.store import Store
    from clew.types import Community, Context, Entity, Ids, Relation, Standing

    Direction = Literal["outbound", "inbound", "both"]
    RelationPath = tuple[RelationEvidence, ...]
    """A path as its ties, each from one entity to the next."""


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
    # Their neighbours count, too, half as much at each hop.
    graph = filtered_graph(session)
    rows = entity_rows(graph, list(nearest.relevance))
    hops = min(session.options.max_hops, 3)
    reached = neighbourhood(graph, rows, hops=hops, limit=MAX_ENTITIES)
    session.note(*reached.limits_hit)
    relevance = dict(nearest.relevance)
    for row, hop in zip(reached.entities, reached.hops, strict=True):
        relevance.setdefault(int(graph.entity_ids[row]), 0.5**hop)
    block = _neighbourhood_block(session, relevance)
    ranking = _passages(session, relevance)
    return RetrievalResult(
        ranking=ranking.led_by(defining(session, ranking)), arrange=after([block])
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
    among = [
        relation
        for relation in filtered_relations(session, known)
        if relation.from_entity_id in relevance and relation.to_entity_id in relevance
    ]
    relations = [one for one, _ in distinct_facts(among)][:SHOWN]
    names = {entity.id: entity.name for entity in entities}
    named = ", ".join(f"{entity.name} ({entity.entity_type})" for entity in entities)
    sentences = stating_sentences(store, relations)
    lines = [
        f"- {statement(names[head], one.relation_type, names[tail], sentences[one.id])}"
        for one in relations
        for head, tail in ((one.from_entity_id, one.to_entity_id),)
        if head in names and tail in names
    ]
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


# Neighbours of an entity: by relations, and by names in the same sentence.


RELATIONS_NEIGHBORS = 10_000
"""Relations looked at a step, heaviest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Related:
    """An entity that a relation leads to."""

    entity_id: int
    relation: Relation
    outbound: bool
    """Whether the relation leads there; else it comes from there."""
    depth: int
    """Relations from where the search began, from 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CoOccurrence:
    """Two entities that a sentence names together."""

    entity_id: int
    other_id: int
    weight: float
    """0 to 1: s / (1 + s), s the strength of the edge (rare names in short sentences tie more)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Near:
    """An entity that is tied to another."""

    entity_id: int
    name: str
    relation: str
    """The heaviest relation that ties it, one that holds if there is any, or `co_occurs_with`."""
    weight: float
    """0 to 1: the relation's; of what is named together s / (1 + s), s the strength of the tie."""
    depth: int
    """Ties from the other, from 1."""
    standing: Standing | None
    """Of the relation."""

    @property
    def holds(self) -> bool:
        """Whether the relation holds, or there is none that would have to."""
        return self.standing is None or self.standing.state == "current"


def related(
    store: Store,
    entity_id: int,
    *,
    direction: Direction = "both",
    relation_type: str | None = None,
    depth: int = 1,
    min_weight: float = 0.0,
    limit: int = 50,
    moment: datetime,
) -> tuple[list[Related], tuple[str, ...]]:
    """Where relations lead from an entity, and notes.

    The nearest first, then those that hold at the moment, then the heaviest. Each neighbour comes
    by the first relation in this order that says so, once a relation type and direction. Only
    relations that are asked for are followed further.
    """
    seen, frontier = {entity_id}, [entity_id]
    found: list[Related] = []
    notes: tuple[str, ...] = ()
    for step in range(1, depth + 1):
        relations = current_first(store.relations(frontier, RELATIONS_NEIGHBORS), moment)
        if len(relations) == RELATIONS_NEIGHBORS:
            notes = (f"only the {RELATIONS_NEIGHBORS} heaviest relations a step were looked at",)
        edge = frozenset(frontier)
        once: dict[tuple[int, str, bool], Related] = {}
        for relation in relations:
            kind = relation.relation_type
            if relation.weight < min_weight or relation_type not in (None, kind):
                continue
            # Its ends that were not seen before, as they lie from the edge.
            head, tail = relation.from_entity_id, relation.to_entity_id
            if direction != "inbound" and head in edge and tail not in seen:
                one = Related(entity_id=tail, relation=relation, outbound=True, depth=step)
                once.setdefault((tail, kind, True), one)
            if direction != "outbound" and tail in edge and head not in seen:
                one = Related(entity_id=head, relation=relation, outbound=False, depth=step)
                once.setdefault((head, kind, False), one)
        reached = list(once.values())
        found.extend(reached)
        frontier = list(dict.fromkeys(one.entity_id for one in reached))
        seen.update(frontier)
        if len(found) >= limit or not frontier:
            break
    return found[:limit], notes


def co_occurring(
    graph: EntityGraph, entity_ids: Sequence[int], *, min_weight: float = 0.0
) -> Iterator[CoOccurrence]:
    """Entities named in one sentence with some entities, where no relation ties the two.

    For each entity the strongest first.
    """
    for row in entity_rows(graph, list(entity_ids)):
        others, edges = graph.row(row)
        strengths = graph.strengths[edges]
        found = [
            CoOccurrence(
                entity_id=int(graph.entity_ids[row]),
                other_id=int(graph.entity_ids[others[at]]),
                weight=float(strengths[at] / (1 + strengths[at])),
            )
            for at in np.argsort(-strengths, kind="stable").tolist()
            if graph.relations[edges[at]] == 0
        ]
        yield from (one for one in found if one.weight >= min_weight)


def near(
    store: Store,
    graph: EntityGraph,
    entity_id: int,
    *,
    depth: int,
    limit: int,
    moment: datetime,
) -> tuple[list[Near], bool]:
    """Entities that ties lead to, the nearest first, then the strongest; whether there are more.

    Of those as near, what is tied by a relation that does not hold at the moment comes last.
    """
    rows = entity_rows(graph, [entity_id])
    if not rows:
        return [], False
    found = neighbourhood(graph, rows, depth, limit)
    ids: list[int] = graph.entity_ids[list(found.entities)].tolist()
    before: list[int] = graph.entity_ids[list(found.parents)].tolist()
    names = store.entity_names(ids)
    # The relation that ties a pair: one that holds, if there is any, the heaviest.
    among = store.relations(sorted({*ids, *before}), RELATIONS_NEIGHBORS, among=True)
    stated: dict[frozenset[int], Relation] = {}
    for one in current_first(among, moment):
        stated.setdefault(frozenset((one.from_entity_id, one.to_entity_id)), one)
    reached = []
    for id_, parent, hops, edge in zip(ids, before, found.hops, found.edges, strict=True):
        relation = stated.get(frozenset((id_, parent))) if graph.relations[edge] else None
        strength = float(graph.strengths[edge])
        reached.append(
            Near(
                entity_id=id_,
                name=names.get(id_, "?"),
                relation=relation.relation_type if relation else TOGETHER,
                weight=relation.weight if relation else strength / (1 + strength),
                depth=hops,
                standing=relation.standing(moment) if relation else None,
            )
        )
    reached.sort(key=lambda one: (one.depth, not one.holds))
    return reached, bool(found.limits_hit)


# The paths between entities, each tie with the sentence that says so.


PAIRED = 4
"""Entities of the question, from the rarest, between which paths are looked for."""
PATHS = 8
"""Paths shown, the fewest hops first."""
LOOKED_AT = 4 * PATHS
"""Paths between two entities that are looked at."""
TOGETHER = "co_occurs_with"
"""What ties two names of one sentence that states no relation of them."""
VENUE = "venue"
"""The type of journals and conferences."""


def paths_between(session: QuerySession) -> tuple[list[Block], Ids]:
    """The paths between the question's entities, fewest hops first, each tie with its source.

    And the chunks that state the first of them, in its order.
    """
    graph = filtered_graph(session)
    seeds = sorted(session.analysis.seeds, key=lambda seed: -seed.weight)[:PAIRED]
    rows = entity_rows(graph, [seed.entity_id for seed in seeds])
    if len(rows) < 2:
        session.note("the question names fewer than two entities of the graph: no paths")
        return [], np.zeros(0, np.int64)
    found: list[Path] = []
    for one, other in combinations(rows, 2):
        paths = all_paths(graph, one, other, max_hops=session.options.max_hops, limit=LOOKED_AT)
        session.note(*paths.limits_hit)
        found.extend(without_detours(graph, paths.paths))
    found.sort(key=lambda path: len(path.edges))
    if not found:
        session.note(f"no path of at most {session.options.max_hops} hops ties them")
    first = found[0].edges if found else ()
    stating = dict.fromkeys(int(graph.chunks[edge]) for edge in first if graph.chunks[edge])
    return _blocks(session, found[:PATHS]), np.array(list(stating), dtype=np.int64)


def without_detours(graph: EntityGraph, paths: Sequence[Path]) -> Sequence[Path]:
    """The paths that do not pass through a third name of one and the same sentence.

    Such a path says no more than the sentence's own tie of the two ends. Where all do, all stay.
    """
    direct = [
        path
        for path in paths
        if not any(
            graph.chunks[one]
            and graph.chunks[one] == graph.chunks[other]
            and graph.sentences[one] == graph.sentences[other]
            for one, other in pairwise(path.edges)
        )
    ]
    return direct or paths


def without_venues(store: Store, graph: EntityGraph, ends: Sequence[Entity]) -> EntityGraph:
    """The graph in which no path leads through a journal or a conference, but may end there.

    Two papers of one journal have as little to do with each other as two things of one year.
    """
    venues = np.setdiff1d(store.entities_of_type(VENUE), [entity.id for entity in ends])
    if not len(venues):
        return graph
    return graph.only(~np.isin(graph.entity_ids, venues)[graph.neighbours])


def entity_rows(graph: EntityGraph, entity_ids: Sequence[int]) -> list[int]:
    """Rows of the graph, in the order of the ids, each once; ids that it lacks are left out."""
    ids = np.array(list(dict.fromkeys(entity_ids)), dtype=np.int64)
    rows, known = find_sorted(graph.entity_ids, ids)
    found: list[int] = rows[known].tolist()
    return found


def read_paths(
    store: Store, graph: EntityGraph, paths: Sequence[Path], as_of: datetime | None = None
) -> list[RelationPath]:
    """Each path as relations, or as sentences that two names share, from its start to its end.

    With `as_of`, as relations that held then and were known.
    """
    rows = sorted({row for path in paths for row in path.entities})
    ids = graph.entity_ids[rows].tolist()
    chunk_of = {edge: int(graph.chunks[edge]) for path in paths for edge in path.edges}
    records = store.passage_records(sorted({*chunk_of.values()} - {0}), ids, as_of=as_of)
    stated = {one.id: one for passage in records.passages.values() for one in passage.relations}
    if not all(chunk_of.values()):  # relations that were added by hand
        stated |= {one.id: one for one in store.relations(ids, as_of=as_of)}
    names = {row: records.names.get(id_, "?") for row, id_ in zip(rows, ids, strict=True)}

    def tie(edge: int, head: str, tail: str) -> RelationEvidence:
        """As it is stated, in its own direction, or as a sentence with both names."""
        passage = records.passages.get(chunk_of[edge])
        if relation := stated.get(int(graph.relations[edge])):
            return evidence_of(relation, records.names, passage)
        said, at = "", int(graph.sentences[edge])
        origin = None if passage is None else passage.provenance
        if passage is not None and 0 <= at < len(passage.sentences):
            said = passage.sentences[at]
            origin = passage.provenance.narrowed(*passage.sentence_ranges[at])
        return RelationEvidence(
            head=head, relation=TOGETHER, tail=tail, evidence=said, provenance=origin
        )

    return [
        tuple(
            tie(edge, names[one], names[other])
            for edge, (one, other) in zip(path.edges, pairwise(path.entities), strict=True)
        )
        for path in paths
    ]


def _blocks(session: QuerySession, paths: Sequence[Path]) -> list[Block]:
    store, graph = session.resources.store, session.resources.entity_graph
    chunks = {
        chunk.id: chunk
        for chunk in store.chunks(
            sorted({int(graph.chunks[edge]) for path in paths for edge in path.edges})
        )
    }
    blocks = []
    ways = read_paths(store, graph, paths, session.options.as_of)
    for path, way in zip(paths, ways, strict=True):
        stating = [chunks[id_] for id_ in graph.chunks[list(path.edges)].tolist() if id_ in chunks]
        form = Form(
            text="\n".join(statement(t.head, t.relation, t.tail, t.evidence) for t in way),
            citations=cite_chunks(stating),
        )
        hops = f"Path of {len(way)} hop{'s' if len(way) > 1 else ''}"
        blocks.append(Block(kind="path", heading=hops, forms=(form,)))
    return blocks


# The part of the graph of entities that matters to a question.


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
