"""What the graph tools read: entities found, neighbours, counts, the graph between entities."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from clew.errors import InputError, NotFoundError
from clew.text import whole_number
from clew.tools.budget import fitting, no_room, read_cursor
from clew.tools.graph.following import unlikely
from clew.tools.spec import Parameter
from clew.tools.truncate import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from clew.search.retrieval.entity_search import EntityHit
    from clew.search.strategies.neighbors import CoOccurrence, Related
    from clew.tools.spec import Arguments, Call, Result
    from clew.types import Entity

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
    from clew.search.strategies.neighbors import near

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
    from clew.search.strategies.entity_paths import TOGETHER
    from clew.search.strategies.neighbors import co_occurring, related

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
    from clew.search.strategies.entity_paths import TOGETHER

    known = (TOGETHER, *RELATION_TYPES, *call.engine.state.packs.relation_types)
    if relation_type is None or relation_type in known:
        return
    found = [name for name, _, _ in call.engine.store.relation_counts()]
    if relation_type not in found:
        shown = ", ".join([*found[:TYPES_SHOWN], TOGETHER])
        raise InputError(f"no relation is of the type {relation_type!r}; there are {shown}")


def _end(one: Related | CoOccurrence) -> int:
    from clew.search.strategies.neighbors import CoOccurrence

    return one.other_id if isinstance(one, CoOccurrence) else one.entity_id


def _neighbor(one: Related | CoOccurrence, entity: Entity, now: datetime) -> Result:
    from clew.search.strategies.entity_paths import TOGETHER
    from clew.search.strategies.neighbors import CoOccurrence

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
