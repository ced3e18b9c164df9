"""The table of the graph memory's tools."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.indexing.manual_graph import CAUSAL
from clew.request_end import has_ended
from clew.text import counted
from clew.tools import graph_queries as following
from clew.tools import graph_queries as local_graph
from clew.tools import graph_queries as reading
from clew.tools.corrections import MERGING_TOOLS
from clew.tools.graph_queries import ID_OR_NAME, RELATION_TYPES, known_entity
from clew.tools.spec import (
    CORE,
    CURSOR,
    FULL,
    MAX_TOKENS,
    Parameter,
    Tool,
    array,
    flag,
    integer,
    positive,
    shape,
    share,
    text,
)
from clew.types import NewRelation

if TYPE_CHECKING:
    from clew.tools.spec import Arguments, Call, Result


# What the graph tools write: relations stated by hand, and those found by reading once more.


_SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def add_relationship(call: Call, arguments: Arguments) -> Result:
    """`add_entity_relationship`."""
    source, target = (known_entity(call, arguments[name]) for name in ("source_id", "target_id"))
    relation_type = arguments["relation_type"]
    if not _SNAKE_CASE.fullmatch(relation_type):
        raise InputError(
            f"relation_type cannot be {relation_type!r}; expected {', '.join(RELATION_TYPES)} or"
            " another name in snake_case, such as works_at. Call it again with that"
        )
    stated = NewRelation(
        source_id=source.id,
        target_id=target.id,
        relation_type=relation_type,
        weight=arguments["weight"],
        is_causal=arguments["is_causal"] or relation_type == CAUSAL,
        context=arguments["context"],
    )
    ((relation, _),) = call.engine.entities.memory.add_relations([stated])
    return {
        "relationship_id": relation.id,
        "source_id": relation.from_entity_id,
        "target_id": relation.to_entity_id,
        "relation_type": relation.relation_type,
        "weight": relation.weight,
        "is_causal": relation.is_causal,
    }


def delete_relation(call: Call, arguments: Arguments) -> Result:
    """`delete_relation`."""
    relation_id = arguments["relation_id"]
    if not arguments["confirm"]:
        raise InputError(
            f"relation {relation_id} and all statements of the same would be taken back; call again"
            " with confirm=true if it is wanted"
        )
    deleted = call.engine.graph.delete_relation(relation_id)
    return {"relation_id": relation_id, "deleted": deleted}


def prune(call: Call, arguments: Arguments) -> Result:
    """`prune_graph`."""
    applied = not arguments["dry_run"]
    if applied and not arguments["confirm"]:
        raise InputError(
            "relations would be taken back; call again with confirm=true if it is wanted, or with"
            " dry_run=true to see which"
        )
    report = call.engine.graph.prune(
        below=arguments["below"], dry_run=not applied, entities=arguments["entities"]
    )
    shown = report.relations[: arguments["limit"]]
    return {
        "dry_run": not report.applied,
        "total": len(report.relations),
        "relations": [
            {
                "relation_id": one.ids[0],
                "from": one.relation.head,
                "relation": one.relation.relation,
                "to": one.relation.tail,
                "weight": one.weight,
                "reason": one.reason,
            }
            for one in shown
        ],
        "total_entities": len(report.entities),
        "entities": [asdict(one) for one in report.entities[: arguments["limit"]]],
    }


def extract_relationships(call: Call, arguments: Arguments) -> Result:
    """`extract_entity_relationships`."""
    entity = known_entity(call, arguments["entity_id"])
    done = call.engine.entities.extract_relations([entity.id])
    return {
        "entity_id": entity.id,
        "relationships_found": done.found[entity.id],
        "relationships_added": done.added,
    }


def extract_all(call: Call, arguments: Arguments) -> Result:
    """`extract_all_relationships`."""

    def proceed(done: int, total: int) -> bool:
        call.progress.report(done, total, "documents read")
        return not has_ended()

    done = call.engine.entities.extract_relations(limit=arguments["limit"], proceed=proceed)
    total, some = sum(done.found.values()), sum(count > 0 for count in done.found.values())
    return {
        "statistics": {
            "total_processed": len(done.found),
            "total_relationships": total,
            "entities_with_relationships": some,
            "relationships_added": done.added,
        },
        "summary": (
            f"{counted(len(done.found), 'entity', 'entities')} read, {some} of them with relations;"
            f" {counted(total, 'relation')} found, {done.added} of them new"
        ),
    }


_CONFIRM = flag("confirm", "true once the user agreed.", False)
_ENTITY_ID = positive("entity_id", "From graph_enhanced_search.")


GRAPH_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="graph_enhanced_search",
        title="Search entities",
        description="Entities by meaning and place in the graph, with neighbours.",
        parameters=(
            text("query", "What is asked.", required=True, blank=False),
            integer("depth", "Steps", 2, 1, 3, clamped=True),
            integer("limit", "Entities", 10, 1, 50),
            flag("include_neighbors", "Up to 10 each.", True),
            share("vector_weight", "Of meaning", 0.6),
            share("graph_weight", "Of the graph", 0.4),
            MAX_TOKENS,
        ),
        result=shape(results="array", left_out="integer"),
        run=reading.search_entities,
        scope="read",
        profiles=CORE,
    ),
    Tool(
        name="get_entity_neighbors",
        title="Neighbours of an entity",
        description="Where relations of an entity lead, nearest first.",
        parameters=(
            ID_OR_NAME,
            text("relation_type", "Default: all.", max_length=100),
            text(
                "direction",
                "outbound, inbound or both.",
                default="both",
                choices=("outbound", "inbound", "both"),
            ),
            integer("depth", "Steps", 1, 1, 3, clamped=True),
            integer("limit", "Neighbours", 50, 1, 200),
            share("min_weight", "Least weight", 0.0),
            CURSOR,
            MAX_TOKENS,
        ),
        result=shape(entity_id="integer", neighbors="array"),
        run=reading.entity_neighbors,
        scope="read",
        profiles=CORE,
    ),
    Tool(
        name="add_entity_relationship",
        title="Add a relation",
        description="State a relation; again adds nothing.",
        parameters=(
            positive("source_id", "Where it starts."),
            positive("target_id", "Where it ends."),
            text(
                "relation_type",
                f"{', '.join(RELATION_TYPES)}, or another snake_case name.",
                required=True,
                max_length=100,
            ),
            share("weight", "Strength", 1.0),
            flag("is_causal", "Whether a cause.", False),
            Parameter(
                name="context",
                kind="object",
                description="What else to remember with it.",
            ),
        ),
        result=shape(relationship_id="integer"),
        run=add_relationship,
        scope="write",
        profiles=CORE,
        idempotent=True,
    ),
    Tool(
        name="get_graph_statistics",
        title="Graph statistics",
        description="Counts by type; vector store.",
        parameters=(),
        result=shape(statistics="object", health="object"),
        run=reading.graph_statistics,
        scope="read",
        profiles=CORE,
    ),
    Tool(
        name="delete_relation",
        title="Delete a relation",
        description=(
            "Take a relation back with all statements of it, even where texts state it; indexing"
            " again remembers it."
        ),
        parameters=(
            positive("relation_id", "From build_local_graph or add_entity_relationship."),
            _CONFIRM,
        ),
        result=shape(relation_id="integer", deleted="integer"),
        run=delete_relation,
        scope="write",
        profiles=FULL,
        destructive=True,
        confirm=True,
    ),
    Tool(
        name="prune_graph",
        title="Prune the graph",
        description=(
            "Relations (and entities) that little speaks for, each with the reason; takes them back"
            " unless dry_run. Never what was stated by hand."
        ),
        parameters=(
            share("below", "Weight below which a relation is listed", 0.4),
            flag("dry_run", "Only list them.", True),
            flag("entities", "Entities whose confidence is below, too.", False),
            integer("limit", "Relations and entities to list", 50, 1, 500),
            _CONFIRM,
        ),
        result=shape(
            dry_run="boolean",
            total="integer",
            relations="array",
            total_entities="integer",
            entities="array",
        ),
        run=prune,
        scope="write",
        profiles=FULL,
        destructive=True,
    ),
    *MERGING_TOOLS,
    Tool(
        name="extract_entity_relationships",
        title="Extract relations of an entity",
        description="Read the passages of an entity once more for relations; add what is new.",
        parameters=(_ENTITY_ID,),
        result=shape(
            entity_id="integer", relationships_found="integer", relationships_added="integer"
        ),
        run=extract_relationships,
        scope="write",
        profiles=FULL,
        idempotent=True,
    ),
    Tool(
        name="extract_all_relationships",
        title="Extract relations of all entities",
        description="Read the passages of all entities that were never read for relations.",
        parameters=(
            Parameter(
                name="limit",
                kind="integer",
                description="Entities, 1 to 1000000. Default: all not yet read.",
                minimum=1,
                maximum=1_000_000,
            ),
        ),
        result=shape(statistics="object", summary="string"),
        run=extract_all,
        scope="write",
        profiles=FULL,
        idempotent=True,
    ),
    Tool(
        name="find_paths",
        title="Paths between entities",
        description="How two entities are tied: the paths between them, each tie with the sentence"
        " that states it.",
        parameters=(
            text("source", "Name or id.", required=True),
            text("target", "Name or id.", required=True),
            integer("max_hops", "Steps", 3, 1, 5),
            flag("weighted", "The strongest path alone.", False),
            integer("limit", "Paths", 5, 1, 50),
            MAX_TOKENS,
        ),
        result=shape(paths="array", left_out="integer"),
        run=following.find_paths,
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="entity_timeline",
        title="Timeline of an entity",
        description="What is known of an entity in order of time: relations while they held, and"
        " dated sentences.",
        parameters=(
            text("entity", "Name or id.", required=True),
            text("since", "Date or words such as last year."),
            text("until", "As since; included."),
            text("as_of", "As it was known then."),
            integer("limit", "Entries", 50, 1, 500),
            MAX_TOKENS,
        ),
        result=shape(timeline="array", left_out="integer"),
        run=following.entity_timeline,
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="relevant_subgraph",
        title="Graph of a question",
        description="The entities that matter to a question, or those given, and what ties them.",
        parameters=(
            text("query", "What is asked; or entity_ids.", max_length=10_000),
            array(
                "entity_ids", "integers", "Of these entities instead. Default none.", max_items=50
            ),
            integer(
                "hops", "All within so many steps; default the tree that ties them", None, 1, 3
            ),
            integer("limit", "Entities", 50, 2, 500),
            text("format", "text or json.", default="text", choices=("text", "json")),
            MAX_TOKENS,
        ),
        result=shape(notes="array"),
        run=following.relevant_subgraph,
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="list_communities",
        title="Communities",
        description="Groups of entities that are tied to each other most, with a report of each;"
        " nearest to the query first, else largest.",
        parameters=(
            text("query", "What they are about. Default all."),
            integer("level", "0 is the coarsest", 0, 0, 20),
            integer("limit", "Communities", 10, 1, 200),
            MAX_TOKENS,
        ),
        result=shape(communities="array", notes="array", left_out="integer"),
        run=following.list_communities,
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="search_entities",
        title="Search entities by type and time",
        description="Entities that answer a question, of some types and of a period.",
        parameters=(
            text("query", "What is asked.", required=True, blank=False),
            array("node_types", "strings", "Such as person, place. Default all.", max_items=20),
            text("since", "Date or words such as last year."),
            text("until", "As since; included."),
            integer("limit", "Entities", 10, 1, 50),
            MAX_TOKENS,
        ),
        result=shape(results="array", left_out="integer"),
        run=following.search_entities_following,
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="entity_importance",
        title="Importance of entities",
        description="Degree, PageRank, betweenness and tier of entities; of the most important"
        " ones where none is named.",
        parameters=(
            array("entities", "strings", "Names or ids, up to 100.", max_items=100),
            integer("limit", "Entities", 20, 1, 200),
            MAX_TOKENS,
        ),
        result=shape(entities="array", left_out="integer"),
        run=following.entity_importance,
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="build_local_graph",
        title="Graph of some entities",
        description="The entities given and the relations between them, as nodes and edges.",
        parameters=(
            Parameter(
                name="entity_ids",
                kind="integers",
                description="From graph_enhanced_search, up to 500.",
                required=True,
                minimum=1,
                max_items=500,
            ),
            MAX_TOKENS,
        ),
        result=shape(graph="object", left_out="object"),
        run=local_graph.local_graph,
        scope="read",
        profiles=FULL,
    ),
)
