"""What the tools that follow the graph give: paths, a timeline, a sub-graph, communities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.text import entity_key
from clew.tools.budget import fitting, no_room
from clew.tools.truncate import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.graph.statistics import RankedEntity
    from clew.search.retrieval.entity_search import EntityHit
    from clew.tools.spec import Arguments, Call, Result
    from clew.types import Community, Provenance, RelationEvidence, TimelineEntry

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


def search_entities(call: Call, arguments: Arguments) -> Result:
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
