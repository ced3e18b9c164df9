"""What the graph tools read: entities found, neighbours, counts, the graph between entities."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal

from clew.errors import InputError, NotFoundError
from clew.operations.budget import fitting, no_room, read_cursor, shortened
from clew.operations.spec import (
    CORE,
    PEOPLE,
    Call,
    Cursor,
    Limits,
    MaxTokens,
    Question,
    Result,
    Since,
    Until,
    between,
    operation,
    shape,
)
from clew.text import entity_key, whole_number
from clew.types import TERM, UNLIKELY, Entity, Provenance, Relation, current_first

if TYPE_CHECKING:
    from clew.engine import Engine
    from clew.search.around import CoOccurrence
    from clew.search.entity_search import EntityHit


NEIGHBORS_SHOWN = (10, 3, 1, 0)
"""Neighbours shown of an entity that a search finds: the first number that all have room for."""
ECHOED = 200
"""Characters of a question that are said again."""
SHOWN = 600
"""Characters of an entity's content that are shown."""
TYPES_SHOWN = 50
"""Relation types that the statistics count one by one."""
RELATION_TYPES = (
    *("relates_to", "causes", "part_of", "implements", "extends", "uses", "depends_on"),
)
"""Known to every store; any other name in snake_case is allowed, too."""
EntityName = Annotated[str | int, "Id or name.", Limits(blank=False)]


@operation(
    "Search entities",
    shape(results="array", left_out="integer"),
    profiles=CORE,
    http="GET /entities",
)
def graph_enhanced_search(
    call: Call,
    query: Question,
    depth: Annotated[int, "Steps", between(1, 3, clamped=True)] = 2,
    limit: Annotated[int, "Entities", between(1, 50)] = 10,
    include_neighbors: Annotated[bool, "Up to 10 each."] = True,
    vector_weight: Annotated[float, "Of meaning", between(0, 1)] = 0.6,
    graph_weight: Annotated[float, "Of the graph", between(0, 1)] = 0.4,
    max_tokens: MaxTokens = 4000,
) -> Result:
    """Entities by meaning and place in the graph, with neighbours."""
    hits, notes = call.engine.entities.search(
        query, depth=depth, limit=limit, vector_weight=vector_weight, graph_weight=graph_weight
    )
    around: Result = {
        "query": shortened(query, ECHOED),
        "result_count": len(hits),
        "results": [],
        "left_out": len(hits),
        "notes": [*unlikely(call, query, hits), *notes],
        "search_params": {
            "depth": depth,
            "limit": limit,
            "vector_weight": vector_weight,
            "graph_weight": graph_weight,
            "include_neighbors": include_neighbors,
        },
    }
    results = [_found(call, hit, depth if include_neighbors else 0) for hit in hits]
    kept: list[Result] = []
    # The entities asked for come first: neighbours have what room these leave.
    for most in NEIGHBORS_SHOWN:
        fewer = [
            {
                **one,
                "neighbors": one["neighbors"][:most],
                "neighbor_count": min(one["neighbor_count"], most),
                "more_neighbors": one["more_neighbors"] or one["neighbor_count"] > most,
            }
            for one in results
        ]
        kept = fitting(fewer, around, max_tokens, call.count_tokens)
        if len(kept) == len(results):
            break
    return {
        **around,
        "result_count": len(kept),
        "results": kept,
        "left_out": len(hits) - len(kept),
    }


def _found(call: Call, hit: EntityHit, depth: int) -> Result:
    """An entity that a search found, with the neighbours within so many steps (0: none)."""
    from clew.search.around import near

    engine = call.engine
    found, more = (
        near(
            engine.store,
            engine.state.entity_graph,
            hit.entity.id,
            depth=depth,
            limit=NEIGHBORS_SHOWN[0],
            moment=engine.state.now(),
        )
        if depth
        else ((), False)
    )
    neighbors = [
        {
            "entity_id": one.entity_id,
            "name": one.name,
            "relation": one.relation,
            "weight": rounded(one.weight),
            "depth": one.depth,
            **(one.standing.to_dict() if one.standing and not one.holds else {}),
        }
        for one in found
    ]
    return {
        **_scored(hit),
        "content": hit.content if len(hit.content) <= SHOWN else f"{hit.content[: SHOWN - 1]}…",
        "neighbors": neighbors,
        "neighbor_count": len(neighbors),
        "more_neighbors": more,
    }


def _scored(hit: EntityHit) -> Result:
    return {
        "entity_id": hit.entity.id,
        "entity_name": hit.entity.name,
        "entity_type": hit.entity.entity_type,
        "content": shortened(hit.content, SUMMARY),
        "vector_score": hit.vector_score,
        "graph_score": hit.graph_score,
        "combined_score": hit.combined_score,
    }


@operation(
    "Neighbours of an entity",
    shape(entity_id="integer", neighbors="array"),
    profiles=CORE,
    http="GET /entities/{entity_id}/neighbors",
)
def get_entity_neighbors(
    call: Call,
    entity_id: EntityName,
    relation_type: Annotated[str | None, "Default: all.", Limits(max_length=100)] = None,
    direction: Annotated[
        Literal["outbound", "inbound", "both"], "outbound, inbound or both."
    ] = "both",
    depth: Annotated[int, "Steps", between(1, 3, clamped=True)] = 1,
    limit: Annotated[int, "Neighbours", between(1, 200)] = 50,
    min_weight: Annotated[float, "Least weight", between(0, 1)] = 0.0,
    cursor: Cursor = None,
    max_tokens: MaxTokens = 4000,
) -> Result:
    """Where relations of an entity lead, nearest first."""
    from clew.search.around import TOGETHER, co_occurring, related

    engine = call.engine
    entity, remark = named_entity(call, str(entity_id))
    start = read_cursor(cursor)
    declared = engine.state.packs.relation_types.get(relation_type or "")
    if declared is not None:
        if relation_type == declared.inverse and direction != "both":
            # It is stored from the other end.
            direction = "inbound" if direction == "outbound" else "outbound"
        relation_type = declared.name
    if relation_type not in (None, TOGETHER, *RELATION_TYPES, *engine.state.packs.relation_types):
        there = [name for name, _, _ in engine.store.relation_counts()]
        if relation_type not in there:
            shown = ", ".join([*there[:TYPES_SHOWN], TOGETHER])
            raise InputError(f"no relation is of the type {relation_type!r}; there are {shown}")
    # One more than is shown tells whether there is more.
    last = start + limit + 1
    now = engine.state.now()
    stated, notes = related(
        engine.store,
        entity.id,
        relation_type=relation_type,
        direction=direction,
        depth=depth,
        min_weight=min_weight,
        limit=last,
        moment=now,
    )
    found: list[tuple[int, Result]] = [
        (
            one.entity_id,
            {
                "relation_type": one.relation.relation_type,
                "weight": one.relation.weight,
                "is_causal": one.relation.is_causal,
                "direction": "outbound" if one.outbound else "inbound",
                "depth": one.depth,
                **one.relation.standing(now).to_dict(),
            },
        )
        for one in stated
    ]
    if direction == "both" and relation_type in (None, TOGETHER) and len(found) < last:
        together = co_occurring(engine.state.entity_graph, [entity.id], min_weight=min_weight)
        terms = frozenset(engine.store.entities_of_type(TERM).tolist())
        named = (one for one in together if one.other_id not in terms)
        found += [
            (one.other_id, {**_together(one), "direction": "both", "depth": 1})
            for one in islice(named, last - len(found))
        ]
    page = found[start : start + limit]
    ends = {one.id: one for one in engine.store.entities([end for end, _ in page])}
    items = [
        {
            "neighbor_id": end,
            "neighbor_name": ends[end].name,
            "entity_type": ends[end].entity_type,
            **tie,
        }
        for end, tie in page
        if end in ends
    ]
    around: Result = {
        "entity_id": entity.id,
        "neighbor_count": len(items),
        "neighbors": [],
        "next_cursor": str(start + limit),
        "notes": [*([remark] if remark else []), *notes],
        "search_params": {
            "relation_type": relation_type,
            "direction": direction,
            "depth": depth,
            "min_weight": min_weight,
            "limit": limit,
        },
    }
    kept = fitting(items, around, max_tokens, call.count_tokens)
    if items and not kept:
        raise no_room(items[0]["neighbor_name"])
    end = start + (len(page) if len(kept) == len(items) else len(kept))
    return {
        **around,
        "neighbor_count": len(kept),
        "neighbors": kept,
        "next_cursor": str(end) if end < len(found) else None,
    }


def _together(one: CoOccurrence) -> Result:
    """The tie of two entities that sentences name together."""
    from clew.search.around import TOGETHER

    return {"relation_type": TOGETHER, "weight": rounded(one.weight), "is_causal": False}


@operation(
    "Graph statistics",
    shape(statistics="object", health="object"),
    profiles=CORE,
    http="GET /statistics",
)
def get_graph_statistics(call: Call) -> Result:
    """Counts by type; vector store."""
    counts = call.engine.store.relation_counts()
    stats = call.engine.maintenance.stats()
    entities, vectors = int(stats["entities"]), stats["vectors"]
    relationships = sum(count for _, count, _ in counts)
    name = "embedded" if vectors["backend"] == "store" else vectors["backend"]
    in_short = {
        "entities": entities,
        "relationships": relationships,
        "vector_store": name,
        "qdrant_available": False,
        "qdrant_connected": False,
        f"{name}_available": vectors["available"],
        f"{name}_connected": vectors["connected"],
        "vector_store_problem": vectors["problem"],
    }
    statistics = {
        **in_short,
        "relationship_types": [
            {"relation_type": name, "count": count} for name, count, _ in counts[:TYPES_SHOWN]
        ],
        "relationship_types_left_out": len(counts[TYPES_SHOWN:]),
        "avg_relationships_per_entity": rounded(relationships / max(entities, 1)),
        "causal_relationships": sum(causal for _, _, causal in counts),
    }
    # Degraded: the store's own vectors stand in until the index is back.
    health = "degraded" if vectors["available"] else "unhealthy"
    status = "healthy" if vectors["connected"] else health
    return {"statistics": statistics, "health": {"status": status, **in_short}}


def named_entity(call: Call, name: str) -> tuple[Entity, str]:
    """The entity of an id or a name, and what was taken for it where that was not said whole.

    Raises `NotFoundError` that names the nearest ones.
    """
    number = whole_number(name)
    found = call.engine.store.entities([number]) if number is not None else []
    if found:
        return found[0], ""
    try:
        return call.engine.entities.match(name)
    except NotFoundError as error:
        raise unknown_entity(int(name)) if name.isdecimal() else error from None


def known_entity(call: Call, entity_id: int) -> Entity:
    """The entity of an id. Raises `NotFoundError` where there is none."""
    found = call.engine.store.entities([entity_id])
    if not found:
        raise unknown_entity(entity_id)
    return found[0]


def unknown_entity(*entity_ids: int) -> NotFoundError:
    """The error that says where ids come from; without an id, that one is needed."""
    given = f"there is no entity {entity_ids[0]!r}" if entity_ids else "no entity is given"
    return NotFoundError(
        f"{given}; expected an entity_id of this store. Find one with graph_enhanced_search"
    )


def rounded(number: float) -> float:
    """A score as it is shown."""
    return round(float(number), 6)


# What the tools that follow the graph give: paths, a timeline, a sub-graph, communities.


NAME = 60
"""Characters of a name where it stands beside the result."""
SUMMARY = 2000
"""Characters of a community's report that are shown."""


@operation("Paths between entities", shape(paths="array", left_out="integer"), http="GET /paths")
def find_paths(
    call: Call,
    source: Annotated[str, "Name or id."],
    target: Annotated[str, "Name or id."],
    max_hops: Annotated[int, "Steps", between(1, 5)] = 3,
    weighted: Annotated[bool, "The strongest path alone."] = False,
    limit: Annotated[int, "Paths", between(1, 50)] = 5,
    max_tokens: MaxTokens = 4000,
) -> Result:
    """How two entities are tied: the paths between them, each tie with the sentence that states
    it.
    """
    start, start_remark = call.engine.entities.match(source)
    end, end_remark = call.engine.entities.match(target)
    found, notes = call.engine.graph.paths(
        start, end, max_hops=max_hops, weighted=weighted, limit=limit
    )
    said = [remark for remark in (start_remark, end_remark) if remark]
    if not found:
        said.append(
            f"no path of at most {max_hops} hops ties"
            f" {shortened(start.name, NAME)!r} ({start.id}) and"
            f" {shortened(end.name, NAME)!r} ({end.id}); `graph_enhanced_search` shows others"
        )
    options = {"max_hops": max_hops, "weighted": weighted}
    around: Result = {"notes": [*said, *notes], "search_params": options}
    paths = [
        {
            "hops": len(path),
            "ties": [
                {
                    "from": tie.head,
                    "relation": tie.relation,
                    "to": tie.tail,
                    "evidence": tie.evidence,
                    "source": _source(tie.provenance),
                }
                for tie in path
            ],
        }
        for path in found
    ]
    return fitted(call, max_tokens, around, "paths", paths)


@operation(
    "Timeline of an entity",
    shape(timeline="array", left_out="integer"),
    http="GET /entities/{entity}/timeline",
)
def entity_timeline(
    call: Call,
    entity: Annotated[str, "Name or id."],
    since: Since = None,
    until: Until = None,
    as_of: Annotated[str | None, "As it was known then."] = None,
    limit: Annotated[int, "Entries", between(1, 500)] = 50,
    max_tokens: MaxTokens = 4000,
) -> Result:
    """What is known of an entity in order of time: relations while they held, and dated
    sentences.
    """
    about, remark = call.engine.entities.match(entity)
    found = call.engine.graph.timeline(about, limit=limit, since=since, until=until, as_of=as_of)
    notes = [remark] if remark else []
    name = shortened(about.name, 2 * NAME)
    around: Result = {"entity_id": about.id, "entity_name": name, "notes": notes}
    entries = [
        {
            "from": one.period.start.isoformat() if one.period.start else None,
            "until": one.period.end.isoformat() if one.period.end else None,
            "when": one.period.text,
            "text": one.text,
            "id": one.reference,
            "source": _source(one.provenance),
        }
        for one in found
    ]
    return fitted(call, max_tokens, around, "timeline", entries)


@operation("Graph of a question", shape(notes="array"), profiles=PEOPLE, http="GET /subgraph")
def relevant_subgraph(
    call: Call,
    query: Annotated[str | None, "What is asked; or entity_ids.", Limits(max_length=10_000)] = None,
    entity_ids: Annotated[
        Sequence[int], "Of these entities instead. Default none.", Limits(max_items=50)
    ] = (),
    hops: Annotated[
        int | None, "All within so many steps; default the tree that ties them", between(1, 3)
    ] = None,
    limit: Annotated[int, "Entities", between(2, 500)] = 50,
    format: Annotated[Literal["text", "json", "graphml"], "text, json or graphml."] = "text",
    max_tokens: MaxTokens = 4000,
) -> Result:
    """The entities that matter to a question, or those given, and what ties them."""
    found = call.engine.graph.subgraph(
        query or "", entity_ids=entity_ids, hops=hops, limit=limit, max_tokens=max_tokens // 2
    )
    if format != "json":
        text = found.context.text if format == "text" else "".join(found.to_graphml())
        return {"text": text, "notes": list(found.notes)}
    graph = found.to_dict()["graph"]
    around: Result = {"notes": list(found.notes), "edges": []}
    kept = fitted(call, max_tokens // 2, around, "nodes", graph["nodes"])
    edges = _among(graph["edges"], kept["nodes"])
    shown = fitting(edges, kept, max_tokens, call.count_tokens)
    return {**kept, "edges": shown, "left_out": kept["left_out"] + len(edges) - len(shown)}


def _among(edges: Sequence[Result], nodes: Sequence[Result]) -> list[Result]:
    """The edges both of whose nodes are shown: others would lead nowhere."""
    known = {node["id"] for node in nodes}
    return [edge for edge in edges if {edge["from_entity_id"], edge["to_entity_id"]} <= known]


@operation(
    "Communities",
    shape(communities="array", notes="array", left_out="integer"),
    profiles=PEOPLE,
    http="GET /communities",
)
def list_communities(
    call: Call,
    query: Annotated[str | None, "What they are about. Default all."] = None,
    level: Annotated[int, "0 is the coarsest", between(0, 20)] = 0,
    limit: Annotated[int, "Communities", between(1, 200)] = 10,
    max_tokens: MaxTokens = 4000,
) -> Result:
    """Groups of entities that are tied to each other most, with a report of each; nearest to the
    query first, else largest.
    """
    found = call.engine.graph.communities(level, limit, query)
    around: Result = {"level": level, "notes": unlikely(call, query) if query else []}
    communities = [
        {
            "id": one.id,
            "title": one.title,
            "entities": list(one.entities[:10]),
            "size": one.size,
            "summary": shortened(one.summary, SUMMARY),
            # `[1]` in the summary is the first.
            "sources": [origin.source for origin in one.provenance],
        }
        for one in found
    ]
    return fitted(call, max_tokens, around, "communities", communities)


def unlikely(call: Call, query: str, found: Sequence[EntityHit] = ()) -> list[str]:
    """The note that nothing in the store is likely to be about the query; else none.

    What is nearest is listed all the same, and looks as if it were what was asked for. An entity
    that was found by its name is.
    """
    if entity_key(query) in {entity_key(hit.entity.name) for hit in found}:
        return []
    nearest = call.engine.search(query, strategy="graph", limit=1)
    return [note for note in nearest.notes if note == UNLIKELY]


@operation("Search entities by type and time", shape(results="array", left_out="integer"))
def search_entities(
    call: Call,
    query: Question,
    node_types: Annotated[
        Sequence[str], "Such as person, place. Default all.", Limits(max_items=20)
    ] = (),
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, "Entities", between(1, 50)] = 10,
    max_tokens: MaxTokens = 4000,
) -> Result:
    """Entities that answer a question, of some types and of a period."""
    search = partial(call.engine.entities.search, query, limit=limit, since=since, until=until)
    hits, notes = search(node_types=node_types)
    if node_types and not hits:
        there = ", ".join(sorted({hit.entity.entity_type for hit in search()[0]})) or "none"
        notes = (*notes, f"nothing found is of these node_types; types near the question: {there}")
    around: Result = {"notes": [*unlikely(call, query, hits), *notes]}
    return fitted(call, max_tokens, around, "results", list(map(_scored, hits)))


def _source(origin: Provenance | None) -> Result | None:
    """Where something stands."""
    if origin is None:
        return None
    return {
        "title": origin.title,
        "source": origin.source,
        "page": origin.page,
        "char_start": origin.start,
        "char_end": origin.end,
    }


def fitted(
    call: Call, max_tokens: int, around: Result, name: str, items: Sequence[Result]
) -> Result:
    """A result with as many items as its budget takes, and how many it left out."""
    empty = {**around, name: [], "left_out": len(items)}
    kept = fitting(items, empty, max_tokens, call.count_tokens)
    if items and not kept:
        raise no_room(f"the first of {len(items)} {name}")
    return {**around, name: kept, "left_out": len(items) - len(kept)}


# The graph between some entities, as nodes and edges.


LOCAL_RELATIONS = 10_000
"""Relations that the graph between some entities is taken from, heaviest first."""
_EDGE = ("id", "from_entity_id", "to_entity_id", "relation_type", "weight")
SOURCES = 5
"""Documents that an edge names, at most."""


@operation("Graph of some entities", shape(graph="object", left_out="object"))
def build_local_graph(
    call: Call,
    entity_ids: Annotated[
        Sequence[int],
        "From graph_enhanced_search, up to 500.",
        Limits(minimum=1, max_items=500),
    ],
    max_tokens: MaxTokens = 4000,
) -> Result:
    """The entities given and the relations between them, as nodes and edges."""
    engine = call.engine
    ids = list(dict.fromkeys(entity_ids))
    entities = engine.state.entity_ranks.applied(engine.store.entities(ids))
    known = {entity.id for entity in entities}
    if not known:
        raise unknown_entity(*ids[:1])
    nodes = [
        {
            "id": entity.id,
            "name": entity.name,
            "entity_type": entity.entity_type,
            "tier": entity.tier,
            "salience_score": rounded(entity.salience_score),
        }
        for entity in entities
    ]
    edges = _edges(engine, known)
    left_out = {"nodes": len(nodes), "edges": len(edges), "unknown_ids": len(ids) - len(nodes)}
    graph: Result = {"nodes": [], "edges": [], "node_count": len(nodes), "edge_count": len(edges)}
    around: Result = {"graph": graph, "left_out": left_out}
    graph["nodes"] = fitting(nodes, around, max_tokens, call.count_tokens)
    edges = _among(edges, graph["nodes"])
    graph["edges"] = fitting(edges, around, max_tokens, call.count_tokens)
    for name in ("nodes", "edges"):
        left_out[name] -= len(graph[name])
    graph["node_count"], graph["edge_count"] = len(graph["nodes"]), len(graph["edges"])
    return around


def _edges(engine: Engine, known: Set[int]) -> list[Result]:
    """An edge a fact, as its first statement has it, with the documents that state it.

    Then an edge for each pair that a sentence names together and no relation ties.
    """
    from clew.search.around import co_occurring

    now = engine.state.now()
    relations = current_first(
        engine.store.relations(sorted(known), LOCAL_RELATIONS, among=True), now
    )
    facts: dict[tuple[int, str, int], list[Relation]] = {}
    for one in relations:
        facts.setdefault(one.fact, []).append(one)
    chunks = [one.chunk_id for one in relations if one.chunk_id is not None]
    origins = engine.store.provenance(chunks)
    edges = []
    for first, *more in facts.values():
        stated = (origins.get(one.chunk_id or 0) for one in (first, *more))
        sources = list(dict.fromkeys(origin.source for origin in stated if origin))
        edges.append(
            {
                **{name: getattr(first, name) for name in _EDGE},
                "is_causal": any(one.is_causal for one in (first, *more)),
                "source_count": len(sources),
                "sources": sources[:SOURCES],
                **first.standing(now).to_dict(),
            }
        )
    edges += [
        {
            "id": None,
            "from_entity_id": one.entity_id,
            "to_entity_id": one.other_id,
            **_together(one),
            "source_count": 0,
            "sources": [],
        }
        for one in co_occurring(engine.state.entity_graph, sorted(known))
        if one.other_id in known and one.entity_id < one.other_id
    ]
    return edges
