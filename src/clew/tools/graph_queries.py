"""What the graph tools read: entities found, neighbours, counts, the graph between entities."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from clew.errors import InputError, NotFoundError
from clew.text import entity_key, whole_number
from clew.tools.budget import fitting, no_room, read_cursor, shortened
from clew.tools.spec import FULL, MAX_TOKENS, Parameter, Tool, flag, integer, shape, text
from clew.types import current_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set
    from datetime import datetime
    from typing import Any

    from clew.engine import Engine
    from clew.graph.entity_graph import EntityGraph
    from clew.graph.statistics import RankedEntity
    from clew.search.retrieval.entity_search import EntityHit
    from clew.search.strategies.entity_graph import CoOccurrence, Related
    from clew.tools.spec import Arguments, Call, Result
    from clew.types import Community, Entity, Provenance, Relation, RelationEvidence, TimelineEntry


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
ID_OR_NAME = Parameter(
    name="entity_id",
    kind="name",
    description="Id or name.",
    required=True,
    max_length=1000,
    blank=False,
)
_INVERSE = {"outbound": "inbound", "inbound": "outbound", "both": "both"}
_WEIGHTS = ("vector_weight", "graph_weight")


def search_entities(call: Call, arguments: Arguments) -> Result:
    """`graph_enhanced_search`."""
    options = {name: arguments[name] for name in ("depth", "limit", *_WEIGHTS)}
    hits, notes = call.engine.entities.search(arguments["query"], **options)
    params = {**options, "include_neighbors": arguments["include_neighbors"]}
    around: Result = {
        "query": shortened(arguments["query"], ECHOED),
        "result_count": len(hits),
        "results": [],
        "left_out": len(hits),
        "notes": [*unlikely(call, arguments["query"], hits), *notes],
        "search_params": params,
    }
    results = [_result(call, hit, params) for hit in hits]
    kept: list[Result] = []
    # The entities asked for come first: neighbours have what room these leave.
    for most in NEIGHBORS_SHOWN:
        fewer = [_with_neighbors(result, most) for result in results]
        kept = fitting(
            fewer, around, arguments["max_tokens"], call.engine.state.embedder.count_tokens
        )
        if len(kept) == len(results):
            break
    return {
        **around,
        "result_count": len(kept),
        "results": kept,
        "left_out": len(hits) - len(kept),
    }


def _with_neighbors(result: Result, most: int) -> Result:
    """The result with so many of its neighbours, at most."""
    shown = result["neighbors"][:most]
    more = result["more_neighbors"] or len(shown) < len(result["neighbors"])
    return {**result, "neighbors": shown, "neighbor_count": len(shown), "more_neighbors": more}


def _result(call: Call, hit: EntityHit, params: Result) -> Result:
    from clew.search.strategies.entity_graph import near

    engine = call.engine
    neighbors, more = [], False
    if params["include_neighbors"]:
        found, more = near(
            engine.store,
            engine.state.entity_graph,
            hit.entity.id,
            depth=params["depth"],
            limit=NEIGHBORS_SHOWN[0],
            moment=engine.state.now(),
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
        "entity_id": hit.entity.id,
        "entity_name": hit.entity.name,
        "entity_type": hit.entity.entity_type,
        "content": hit.content if len(hit.content) <= SHOWN else f"{hit.content[: SHOWN - 1]}…",
        "vector_score": hit.vector_score,
        "graph_score": hit.graph_score,
        "combined_score": hit.combined_score,
        "neighbors": neighbors,
        "neighbor_count": len(neighbors),
        "more_neighbors": more,
    }


def entity_neighbors(call: Call, arguments: Arguments) -> Result:
    """`get_entity_neighbors`."""
    from clew.search.strategies.entity_graph import TOGETHER, co_occurring, related

    engine = call.engine
    entity, remark = named_entity(call, arguments["entity_id"])
    start, limit = read_cursor(arguments["cursor"]), arguments["limit"]
    options = {name: arguments[name] for name in ("relation_type", "direction", "depth")}
    options["min_weight"] = arguments["min_weight"]
    declared = engine.state.packs.relation_types.get(options["relation_type"])
    if declared is not None:
        if options["relation_type"] == declared.inverse:
            options["direction"] = _INVERSE[options["direction"]]  # stored from the other end
        options["relation_type"] = declared.name
    _check_relation_type(call, options["relation_type"])
    # One more than is shown tells whether there is more.
    last = start + limit + 1
    now = engine.state.now()
    stated, notes = related(engine.store, entity.id, limit=last, moment=now, **options)
    found: list[Related | CoOccurrence] = list(stated)
    if options["direction"] == "both" and options["relation_type"] in (None, TOGETHER):
        together = co_occurring(
            engine.state.entity_graph, [entity.id], min_weight=options["min_weight"]
        )
        found += islice(together, max(last - len(found), 0))
    page = found[start : start + limit]
    ends = {e.id: e for e in engine.store.entities([_end(one) for one in page])}
    items = [_neighbor(one, ends[_end(one)], now) for one in page if _end(one) in ends]
    around: Result = {
        "entity_id": entity.id,
        "neighbor_count": len(items),
        "neighbors": [],
        "next_cursor": str(start + limit),
        "notes": [*([remark] if remark else []), *notes],
        "search_params": {**options, "limit": limit},
    }
    kept = fitting(items, around, arguments["max_tokens"], engine.state.embedder.count_tokens)
    if items and not kept:
        raise no_room(items[0]["neighbor_name"])
    end = start + (len(page) if len(kept) == len(items) else len(kept))
    return {
        **around,
        "neighbor_count": len(kept),
        "neighbors": kept,
        "next_cursor": str(end) if end < len(found) else None,
    }


def _check_relation_type(call: Call, relation_type: str | None) -> None:
    """Raises `InputError` that names the types that there are, for one that no relation has."""
    from clew.search.strategies.entity_graph import TOGETHER

    known = (TOGETHER, *RELATION_TYPES, *call.engine.state.packs.relation_types)
    if relation_type is None or relation_type in known:
        return
    found = [name for name, _, _ in call.engine.store.relation_counts()]
    if relation_type not in found:
        shown = ", ".join([*found[:TYPES_SHOWN], TOGETHER])
        raise InputError(f"no relation is of the type {relation_type!r}; there are {shown}")


def _end(one: Related | CoOccurrence) -> int:
    from clew.search.strategies.entity_graph import CoOccurrence

    return one.other_id if isinstance(one, CoOccurrence) else one.entity_id


def _neighbor(one: Related | CoOccurrence, entity: Entity, now: datetime) -> Result:
    from clew.search.strategies.entity_graph import TOGETHER, CoOccurrence

    if isinstance(one, CoOccurrence):
        return {
            "neighbor_id": entity.id,
            "neighbor_name": entity.name,
            "entity_type": entity.entity_type,
            "relation_type": TOGETHER,
            "weight": rounded(one.weight),
            "is_causal": False,
            "direction": "both",
            "depth": 1,
        }
    return {
        "neighbor_id": entity.id,
        "neighbor_name": entity.name,
        "entity_type": entity.entity_type,
        "relation_type": one.relation.relation_type,
        "weight": one.relation.weight,
        "is_causal": one.relation.is_causal,
        "direction": "outbound" if one.outbound else "inbound",
        "depth": one.depth,
        **one.relation.standing(now).to_dict(),
    }


def graph_statistics(call: Call, _: Arguments) -> Result:
    """`get_graph_statistics`."""
    counts = call.engine.store.relation_counts()
    stats = call.engine.maintenance.stats()
    entities, vectors = int(stats["entities"]), stats["vectors"]
    relationships = sum(count for _, count, _ in counts)
    in_short = {"entities": entities, "relationships": relationships, **_vector_store(vectors)}
    statistics = {
        **in_short,
        "relationship_types": [
            {"relation_type": name, "count": count} for name, count, _ in counts[:TYPES_SHOWN]
        ],
        "relationship_types_left_out": len(counts[TYPES_SHOWN:]),
        "avg_relationships_per_entity": rounded(relationships / max(entities, 1)),
        "causal_relationships": sum(causal for _, _, causal in counts),
    }
    return {"statistics": statistics, "health": {"status": _health(vectors), **in_short}}


def _vector_store(state: Mapping[str, Any]) -> Result:
    """What `SyncedVectorIndex.state` says, under the name of the back end in use."""
    name = "embedded" if state["backend"] == "store" else state["backend"]
    return {
        "vector_store": name,
        "qdrant_available": False,
        "qdrant_connected": False,
        f"{name}_available": state["available"],
        f"{name}_connected": state["connected"],
        "vector_store_problem": state["problem"],
    }


def _health(state: Mapping[str, Any]) -> str:
    """`degraded` where the store's own vectors stand in until the index is back."""
    if state["connected"]:
        return "healthy"
    return "degraded" if state["available"] else "unhealthy"


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


def find_paths(call: Call, arguments: Arguments) -> Result:
    """`find_paths`."""
    options = {name: arguments[name] for name in ("max_hops", "weighted")}
    matches = [call.engine.entities.match(arguments[name]) for name in ("source", "target")]
    source, target = (entity for entity, _ in matches)
    found, notes = call.engine.graph.paths(source, target, limit=arguments["limit"], **options)
    said = [remark for _, remark in matches if remark]
    if not found:
        said.append(
            f"no path of at most {options['max_hops']} hops ties"
            f" {shortened(source.name, NAME)!r} ({source.id}) and"
            f" {shortened(target.name, NAME)!r} ({target.id}); `graph_enhanced_search` shows others"
        )
    around: Result = {"notes": [*said, *notes], "search_params": options}
    paths = ({"hops": len(path), "ties": list(map(_tie, path))} for path in found)
    return fitted(call, arguments, around, "paths", list(paths))


def _tie(tie: RelationEvidence) -> Result:
    return {
        "from": tie.head,
        "relation": tie.relation,
        "to": tie.tail,
        "evidence": tie.evidence,
        "source": _source(tie.provenance),
    }


def entity_timeline(call: Call, arguments: Arguments) -> Result:
    """`entity_timeline`."""
    entity, remark = call.engine.entities.match(arguments["entity"])
    found = call.engine.graph.timeline(
        entity,
        limit=arguments["limit"],
        since=arguments["since"],
        until=arguments["until"],
        as_of=arguments["as_of"],
    )
    notes = [remark] if remark else []
    name = shortened(entity.name, 2 * NAME)
    around: Result = {"entity_id": entity.id, "entity_name": name, "notes": notes}
    return fitted(call, arguments, around, "timeline", list(map(_entry, found)))


def _entry(entry: TimelineEntry) -> Result:
    start, end = entry.period.start, entry.period.end
    return {
        "from": start.isoformat() if start else None,
        "until": end.isoformat() if end else None,
        "when": entry.period.text,
        "text": entry.text,
        "id": entry.reference,
        "source": _source(entry.provenance),
    }


def relevant_subgraph(call: Call, arguments: Arguments) -> Result:
    """`relevant_subgraph`."""
    room = arguments["max_tokens"]
    found = call.engine.graph.subgraph(
        arguments["query"] or "",
        entity_ids=arguments["entity_ids"],
        hops=arguments["hops"],
        limit=arguments["limit"],
        max_tokens=room // 2,
    )
    if arguments["format"] == "text":
        return {"text": found.context.text, "notes": list(found.notes)}
    graph = found.to_dict()["graph"]
    around: Result = {"notes": list(found.notes), "edges": []}
    kept = fitted(call, {"max_tokens": room // 2}, around, "nodes", graph["nodes"])
    known = {node["id"] for node in kept["nodes"]}
    edges = [
        edge for edge in graph["edges"] if {edge["from_entity_id"], edge["to_entity_id"]} <= known
    ]
    shown = fitting(edges, kept, room, call.engine.state.embedder.count_tokens)
    return {**kept, "edges": shown, "left_out": kept["left_out"] + len(edges) - len(shown)}


def list_communities(call: Call, arguments: Arguments) -> Result:
    """`list_communities`."""
    found = call.engine.graph.communities(
        arguments["level"], arguments["limit"], arguments["query"]
    )
    notes = unlikely(call, arguments["query"]) if arguments["query"] else []
    around: Result = {"level": arguments["level"], "notes": notes}
    return fitted(call, arguments, around, "communities", list(map(_community, found)))


def unlikely(call: Call, query: str, found: Sequence[EntityHit] = ()) -> list[str]:
    """The note that nothing in the store is likely to be about the query; else none.

    What is nearest is listed all the same, and looks as if it were what was asked for. An entity
    that was found by its name is.
    """
    from clew.search.pipeline import UNLIKELY

    if entity_key(query) in {entity_key(hit.entity.name) for hit in found}:
        return []
    nearest = call.engine.search(query, strategy="graph", limit=1)
    return [note for note in nearest.notes if note == UNLIKELY]


def _community(community: Community) -> Result:
    return {
        "id": community.id,
        "title": community.title,
        "entities": list(community.entities[:10]),
        "size": community.size,
        "summary": shortened(community.summary, SUMMARY),
        # `[1]` in the summary is the first.
        "sources": [origin.source for origin in community.provenance],
    }


def search_entities_following(call: Call, arguments: Arguments) -> Result:
    """`search_entities`; where no entity is of the types asked for, the notes say what there is."""
    search, types = call.engine.entities.search, arguments["node_types"]
    options = {name: arguments[name] for name in ("limit", "since", "until")}
    hits, notes = search(arguments["query"], node_types=types, **options)
    if types and not hits:
        others, _ = search(arguments["query"], **options)
        there = ", ".join(sorted({hit.entity.entity_type for hit in others})) or "none"
        notes = (*notes, f"nothing found is of these node_types; types near the question: {there}")
    results = [
        {
            "entity_id": hit.entity.id,
            "entity_name": hit.entity.name,
            "entity_type": hit.entity.entity_type,
            "content": shortened(hit.content, SUMMARY),
            "vector_score": hit.vector_score,
            "graph_score": hit.graph_score,
            "combined_score": hit.combined_score,
        }
        for hit in hits
    ]
    around: Result = {"notes": [*unlikely(call, arguments["query"], hits), *notes]}
    return fitted(call, arguments, around, "results", results)


def entity_importance(call: Call, arguments: Arguments) -> Result:
    """`entity_importance`."""
    found = call.engine.graph.importance(arguments["entities"], limit=arguments["limit"])
    return fitted(call, arguments, {}, "entities", list(map(_ranked, found)))


def _ranked(ranked: RankedEntity) -> Result:
    entity = ranked.entity
    return {
        "entity_id": entity.id,
        "name": entity.name,
        "entity_type": entity.entity_type,
        "tier": entity.tier,
        "salience_score": entity.salience_score,
        "degree": ranked.degree,
        "pagerank": ranked.pagerank,
        "betweenness": ranked.betweenness,
    }


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
    call: Call, arguments: Arguments, around: Result, name: str, items: Sequence[Result]
) -> Result:
    """A result with as many items as its budget takes, and how many it left out."""
    empty = {**around, name: [], "left_out": len(items)}
    count = call.engine.state.embedder.count_tokens
    kept = fitting(items, empty, arguments["max_tokens"], count)
    if items and not kept:
        raise no_room(f"the first of {len(items)} {name}")
    return {**around, name: kept, "left_out": len(items) - len(kept)}


# The graph between some entities, as nodes and edges.


LOCAL_RELATIONS = 10_000
"""Relations that the graph between some entities is taken from, heaviest first."""
SOURCES = 5
"""Documents that an edge names, at most."""


def local_graph(call: Call, arguments: Arguments) -> Result:
    """`build_local_graph`."""
    engine = call.engine
    ids = list(dict.fromkeys(arguments["entity_ids"]))
    entities = engine.state.entity_ranks.applied(engine.store.entities(ids))
    known = {entity.id for entity in entities}
    if not known:
        raise unknown_entity(*ids[:1])
    now = engine.state.now()
    relations = engine.store.relations(sorted(known), LOCAL_RELATIONS, among=True)
    edges = _edges(engine, current_first(relations, now), now)
    nodes = [_node(entity) for entity in entities]
    edges += _shared_edges(engine.state.entity_graph, known)
    left_out = {"nodes": len(nodes), "edges": len(edges), "unknown_ids": len(ids) - len(nodes)}
    graph: Result = {"nodes": [], "edges": [], "node_count": len(nodes), "edge_count": len(edges)}
    around: Result = {"graph": graph, "left_out": left_out}
    count, room = engine.state.embedder.count_tokens, arguments["max_tokens"]
    # Edges of nodes that are not shown would lead nowhere: nodes go first.
    graph["nodes"] = fitting(nodes, around, room, count)
    shown = {node["id"] for node in graph["nodes"]}
    edges = [e for e in edges if {e["from_entity_id"], e["to_entity_id"]} <= shown]
    graph["edges"] = fitting(edges, around, room, count)
    for name in ("nodes", "edges"):
        left_out[name] -= len(graph[name])
    graph["node_count"], graph["edge_count"] = len(graph["nodes"]), len(graph["edges"])
    return around


def _node(entity: Entity) -> Result:
    return {
        "id": entity.id,
        "name": entity.name,
        "entity_type": entity.entity_type,
        "tier": entity.tier,
        "salience_score": rounded(entity.salience_score),
    }


def _edges(engine: Engine, relations: Sequence[Relation], now: datetime) -> list[Result]:
    """An edge a fact, as its first statement has it, with the documents that state it."""
    facts: dict[tuple[int, str, int], list[Relation]] = {}
    for one in relations:
        fact = one.from_entity_id, one.relation_type, one.to_entity_id
        facts.setdefault(fact, []).append(one)
    chunks = [one.chunk_id for one in relations if one.chunk_id is not None]
    origins = engine.store.provenance(chunks)
    return [_edge(statements, origins, now) for statements in facts.values()]


def _edge(
    statements: Sequence[Relation], origins: Mapping[int, Provenance], now: datetime
) -> Result:
    names = ("id", "from_entity_id", "to_entity_id", "relation_type", "weight")
    chunks = (one.chunk_id for one in statements if one.chunk_id is not None)
    sources = dict.fromkeys(origins[id_].source for id_ in chunks if id_ in origins)
    return {
        **{name: getattr(statements[0], name) for name in names},
        "is_causal": any(one.is_causal for one in statements),
        "source_count": len(sources),
        "sources": list(sources)[:SOURCES],
        **statements[0].standing(now).to_dict(),
    }


def _shared_edges(graph: EntityGraph, known: Set[int]) -> list[Result]:
    """Pairs of the entities that a sentence names together and no relation ties, as edges."""
    from clew.search.strategies.entity_graph import TOGETHER, co_occurring

    return [
        {
            "id": None,
            "from_entity_id": one.entity_id,
            "to_entity_id": one.other_id,
            "relation_type": TOGETHER,
            "weight": rounded(one.weight),
            "is_causal": False,
            "source_count": 0,
            "sources": [],
        }
        for one in co_occurring(graph, sorted(known))
        if one.other_id in known and one.entity_id < one.other_id
    ]


# The tool that has the language model write a query for a graph on Neo4j.


def ask_by_cypher(call: Call, arguments: Arguments) -> Result:
    """`ask_by_cypher`."""
    found = call.engine.ask_by_cypher(
        arguments["query"], limit=arguments["limit"], run=not arguments["dry_run"]
    )
    around: Result = {
        "cypher": found.query,
        "parameters": dict(found.parameters),
        "model": found.model,
        "notes": list(found.notes),
    }
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    return fitted(call, arguments, around, "rows", rows)


CYPHER_TOOL = Tool(
    name="ask_by_cypher",
    title="Ask the graph by a query",
    description="Counts, lists and ties in the whole database that holds this store, where it is"
    " Neo4j: the server's language model writes a query, which can only read; nodes come with their"
    " element_id.",
    parameters=(
        text("query", "What is asked, in words.", required=True, max_length=10_000, blank=False),
        integer("limit", "Rows", 50, 1, 500),
        flag("dry_run", "Show the query alone.", False),
        MAX_TOKENS,
    ),
    result=shape(cypher="string", parameters="object", rows="array", left_out="integer"),
    run=ask_by_cypher,
    # Whatever else is in the database can be read: more than the namespace.
    scope="admin",
    profiles=FULL,
    changes=False,
    open_world=True,
)
