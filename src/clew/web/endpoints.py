"""What the API offers: each address is a tool, with its parameters, rights and audit row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.search.options import read_last
from clew.tools.documents import jobs_of, status_of
from clew.tools.spec import FULL, Tool, array, integer, shape, share, text
from clew.tools.toolbox import TOOLS
from clew.web.graph_view import MOST, SHOWN, Wanted, view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.engine import Engine
    from clew.tools.spec import Arguments, Call, Parameter, Result


# A part of the graph as JSON; and the jobs.


PICTURE: Sequence[Parameter] = (
    text("question", "Begin from what a question is about.", max_length=10_000),
    array("entities", "integers", "Begin from entities (ids), with their neighbours."),
    array("alone", "integers", "Entities (ids) to show without their neighbours."),
    integer("community", "Begin from a community (id)", None, 0, 2**53),
    integer("hops", "Steps around the entities", 1, 1, 3),
    integer("limit", "Entities", SHOWN, 1, MOST),
    array("types", "strings", "Types of entities to keep. Default all.", max_items=200),
    array("relations", "strings", "Types of relations to keep. Default all.", max_items=200),
    array("communities", "integers", "Communities (ids) to keep. Default all.", max_items=200),
    share("min_confidence", "Of relations", 0.0),
    text("as_of", "What held then: a date."),
)


def wanted(engine: Engine, arguments: Arguments) -> Wanted:
    """What a picture is asked to show; raises `InputError` for what names no time."""
    lists = ("entities", "alone", "types", "relations", "communities")
    return Wanted(
        question=(arguments["question"] or "").strip(),
        as_of=read_last("as_of", arguments["as_of"] or None, engine.state.now()),
        min_confidence=arguments["min_confidence"],
        community=arguments["community"],
        hops=arguments["hops"],
        limit=arguments["limit"],
        **{name: tuple(arguments[name] or ()) for name in lists},
    )


def picture(call: Call, arguments: Arguments) -> Result:
    """`view_graph`."""
    return view(call.engine, wanted(call.engine, arguments)).to_dict()


def list_jobs(call: Call, arguments: Arguments) -> Result:
    """`list_jobs`."""
    runner, limit = jobs_of(call), arguments["limit"]
    if arguments["cursor"]:
        runner.job(arguments["cursor"])  # raises for what is none
    found = runner.jobs(before=arguments["cursor"], limit=limit + 1)
    return {
        "jobs": [status_of(runner, job) for job in found[:limit]],
        "next_cursor": found[limit - 1].id if len(found) > limit else None,
    }


VIEW_GRAPH = Tool(
    name="view_graph",
    title="A picture of the graph",
    description="Entities and relations from a question, an entity or a community.",
    parameters=tuple(PICTURE),
    result=shape(nodes="array", edges="array", total="integer", notes="array"),
    run=picture,
    scope="read",
    profiles=FULL,
)
LIST_JOBS = Tool(
    name="list_jobs",
    title="Jobs",
    description="Jobs, the newest first.",
    parameters=(
        integer("limit", "Jobs", 20, 1, 200),
        text("cursor", "next_cursor of the page before.", max_length=64),
    ),
    result=shape(jobs="array"),
    run=list_jobs,
    scope="read",
    profiles=FULL,
)


PREFIX = "/api/v1"
EXPLORER_TOOLS: tuple[Tool, ...] = (*TOOLS, VIEW_GRAPH, LIST_JOBS)
"""Those of assistants, and those that pages need beside."""
TOOL_NAMES: Mapping[str, Tool] = {tool.name: tool for tool in EXPLORER_TOOLS}


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """An address of the API, and the tool that answers there."""

    method: str
    path: str
    """Below the prefix; parameters of the tool in braces."""
    tool: Tool
    fixed: Mapping[str, object] = field(default_factory=dict)
    """Arguments that the address itself says."""
    status: int = 200


def _endpoint(place: str, tool: str, status: int = 200, **fixed: object) -> Endpoint:
    method, path = place.split(" ")
    return Endpoint(method=method, path=path, tool=TOOL_NAMES[tool], fixed=fixed, status=status)


ENDPOINTS = (
    _endpoint("GET /search", "query_documents"),
    _endpoint("GET /documents", "list_documents"),
    _endpoint("POST /documents", "ingest_document", 202),
    _endpoint("GET /documents/{document}", "get_document"),
    _endpoint("DELETE /documents/{document}", "delete_document", confirm=True),
    _endpoint("GET /jobs", "list_jobs"),
    _endpoint("GET /jobs/{job_id}", "query_job_status"),
    _endpoint("DELETE /jobs/{job_id}", "cancel_job"),
    _endpoint("POST /jobs/{job_id}/retry", "retry_job", 202),
    _endpoint("GET /entities", "graph_enhanced_search"),
    _endpoint("GET /entities/{entity_id}/neighbors", "get_entity_neighbors"),
    _endpoint("GET /entities/{entity}/timeline", "entity_timeline"),
    _endpoint("GET /graph", "view_graph"),
    _endpoint("GET /paths", "find_paths"),
    _endpoint("GET /subgraph", "relevant_subgraph"),
    _endpoint("POST /cypher", "ask_by_cypher"),
    _endpoint("GET /communities", "list_communities"),
    _endpoint("GET /statistics", "get_graph_statistics"),
    _endpoint("GET /merges", "suggest_merges"),
    _endpoint("POST /merges", "merge_entities"),
    _endpoint("POST /merges/refused", "refuse_merge"),
    _endpoint("POST /entities/{entity_id}/split", "split_entity"),
    _endpoint("POST /entities/{entity_id}/name", "rename_entity"),
    _endpoint("POST /entities/{entity_id}/type", "retype_entity"),
    _endpoint("POST /relations", "add_entity_relationship", 201),
    _endpoint("DELETE /relations/{relation_id}", "delete_relation", confirm=True),
)
