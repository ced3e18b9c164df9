"""What the API offers: each address is a tool, with its parameters, rights and audit row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clew.tools.registry import TOOLS
from clew.tools.spec import Tool
from clew.web.api.graph import LIST_JOBS, VIEW_GRAPH

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
