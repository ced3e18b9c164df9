"""The table of the graph memory's tools."""

from __future__ import annotations

from clew.tools.budget import CURSOR, MAX_TOKENS
from clew.tools.graph import reading, writing
from clew.tools.graph.writing import RELATION_TYPES
from clew.tools.schema import shape
from clew.tools.spec import Parameter, Profile, Tool

_CORE: frozenset[Profile] = frozenset({"core", "full"})
_FULL: frozenset[Profile] = frozenset({"full"})
_ENTITY_ID = Parameter(
    name="entity_id",
    kind="integer",
    description="From graph_enhanced_search.",
    required=True,
    minimum=1,
)


def _weight(name: str, default: float, what: str) -> Parameter:
    return Parameter(
        name=name,
        kind="number",
        description=f"{what}, 0 to 1. Default {default}.",
        default=default,
        minimum=0,
        maximum=1,
    )


def _flag(name: str, default: bool, what: str) -> Parameter:
    said = f"{what} Default {str(default).lower()}."
    return Parameter(name=name, kind="boolean", description=said, default=default)


def _depth(default: int) -> Parameter:
    return Parameter(
        name="depth",
        kind="integer",
        description=f"Steps, 1 to 3. Default {default}.",
        default=default,
        minimum=1,
        maximum=3,
        clamped=True,
    )


def _limit(default: int, maximum: int, what: str) -> Parameter:
    return Parameter(
        name="limit",
        kind="integer",
        description=f"{what}, 1 to {maximum}. Default {default}.",
        default=default,
        minimum=1,
        maximum=maximum,
    )


GRAPH_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="graph_enhanced_search",
        title="Search entities",
        description=(
            "Find entities by meaning and by their place in the graph, with their neighbours."
        ),
        parameters=(
            Parameter(
                name="query",
                kind="string",
                description="What is asked.",
                required=True,
                max_length=1000,
            ),
            _depth(2),
            _limit(10, 50, "Entities"),
            _flag("include_neighbors", True, "Up to 10 each."),
            _weight("vector_weight", 0.6, "Of meaning"),
            _weight("graph_weight", 0.4, "Of the graph"),
            MAX_TOKENS,
        ),
        result=shape(results="array", left_out="integer"),
        run=reading.search_entities,
        scope="read",
        profiles=_CORE,
        idempotent=True,
    ),
    Tool(
        name="get_entity_neighbors",
        title="Neighbours of an entity",
        description="Where relations lead from an entity, nearest and heaviest first.",
        parameters=(
            _ENTITY_ID,
            Parameter(
                name="relation_type",
                kind="string",
                description="Default: all.",
                max_length=100,
            ),
            Parameter(
                name="direction",
                kind="string",
                description="outbound, inbound or both. Default both.",
                default="both",
                choices=("outbound", "inbound", "both"),
            ),
            _depth(1),
            _limit(50, 200, "Neighbours"),
            _weight("min_weight", 0.0, "Least weight"),
            CURSOR,
            MAX_TOKENS,
        ),
        result=shape(entity_id="integer", neighbors="array"),
        run=reading.entity_neighbors,
        scope="read",
        profiles=_CORE,
        idempotent=True,
    ),
    Tool(
        name="add_entity_relationship",
        title="Add a relation",
        description="State a relation between two entities; saying it again adds nothing.",
        parameters=(
            Parameter(
                name="source_id",
                kind="integer",
                description="Where it starts.",
                required=True,
                minimum=1,
            ),
            Parameter(
                name="target_id",
                kind="integer",
                description="Where it ends.",
                required=True,
                minimum=1,
            ),
            Parameter(
                name="relation_type",
                kind="string",
                description=f"{', '.join(RELATION_TYPES)}, or another snake_case name.",
                required=True,
                max_length=100,
            ),
            _weight("weight", 1.0, "Strength"),
            _flag("is_causal", False, "Whether a cause."),
            Parameter(
                name="context",
                kind="object",
                description="What else to remember with it.",
            ),
        ),
        result=shape(relationship_id="integer"),
        run=writing.add_relationship,
        scope="write",
        profiles=_CORE,
        idempotent=True,
    ),
    Tool(
        name="get_graph_statistics",
        title="Graph statistics",
        description="Counts of entities and relations by type; vector store.",
        parameters=(),
        result=shape(statistics="object", health="object"),
        run=reading.graph_statistics,
        scope="read",
        profiles=_CORE,
        idempotent=True,
    ),
    Tool(
        name="extract_entity_relationships",
        title="Extract relations of an entity",
        description="Read the passages of an entity once more for relations; add what is new.",
        parameters=(_ENTITY_ID,),
        result=shape(
            entity_id="integer", relationships_found="integer", relationships_added="integer"
        ),
        run=writing.extract_relationships,
        scope="write",
        profiles=_FULL,
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
        run=writing.extract_all,
        scope="write",
        profiles=_FULL,
        idempotent=True,
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
        run=reading.local_graph,
        scope="read",
        profiles=_FULL,
        idempotent=True,
    ),
)
