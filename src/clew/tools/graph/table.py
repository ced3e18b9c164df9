"""The table of the graph memory's tools."""

from __future__ import annotations

from clew.tools.graph import following, local_graph, reading, writing
from clew.tools.graph.merging import MERGING_TOOLS
from clew.tools.graph.reading import ID_OR_NAME, RELATION_TYPES
from clew.tools.parameters import CURSOR, MAX_TOKENS, array, flag, integer, positive, share, text
from clew.tools.schema import shape
from clew.tools.spec import CORE, FULL, Parameter, Tool

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
        run=writing.add_relationship,
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
        run=writing.delete_relation,
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
        run=writing.prune,
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
        run=writing.extract_relationships,
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
        run=writing.extract_all,
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
        run=following.search_entities,
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
