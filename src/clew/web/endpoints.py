"""What the API offers: each address is a tool, with its parameters, rights and audit row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from clew.operations.documents import jobs_of, status_of
from clew.operations.spec import Call, Limits, Result, Tool, between, operation, shape
from clew.operations.toolbox import OPERATIONS, further_tools
from clew.web.graph_view import MOST, SHOWN, picture

# A part of the graph as JSON; and the jobs.


_MEANT = Limits(max_items=200)


@operation(
    "A picture of the graph",
    shape(nodes="array", edges="array", total="integer", notes="array"),
    http="GET /graph",
)
def view_graph(
    call: Call,
    question: Annotated[
        str | None, "Begin from what a question is about.", Limits(max_length=10_000)
    ] = None,
    entities: Annotated[Sequence[int], "Begin from entities (ids), with their neighbours."] = (),
    alone: Annotated[Sequence[int], "Entities (ids) to show without their neighbours."] = (),
    community: Annotated[int | None, "Begin from a community (id)", between(0, 2**53)] = None,
    hops: Annotated[int, "Steps around the entities", between(1, 3)] = 1,
    limit: Annotated[int, "Entities", between(1, MOST)] = SHOWN,
    types: Annotated[Sequence[str], "Types of entities to keep. Default all.", _MEANT] = (),
    relations: Annotated[Sequence[str], "Types of relations to keep. Default all.", _MEANT] = (),
    communities: Annotated[Sequence[int], "Communities (ids) to keep. Default all.", _MEANT] = (),
    min_confidence: Annotated[float, "Of relations", between(0, 1)] = 0.0,
    as_of: Annotated[str | None, "What held then: a date."] = None,
) -> Result:
    """Entities and relations from a question, an entity or a community."""
    seen = picture(
        call.engine,
        question=question,
        entities=entities,
        alone=alone,
        community=community,
        hops=hops,
        limit=limit,
        types=types,
        relations=relations,
        communities=communities,
        min_confidence=min_confidence,
        as_of=as_of,
    )
    return {name: seen[name] for name in ("nodes", "edges", "total", "notes")}


PICTURE = view_graph.parameters


@operation("Jobs", shape(jobs="array"), http="GET /jobs")
def list_jobs(
    call: Call,
    limit: Annotated[int, "Jobs", between(1, 200)] = 20,
    cursor: Annotated[str | None, "next_cursor of the page before.", Limits(max_length=64)] = None,
) -> Result:
    """Jobs, the newest first."""
    runner = jobs_of(call)
    if cursor:
        runner.job(cursor)  # raises for what is none
    found = runner.jobs(before=cursor, limit=limit + 1)
    return {
        "jobs": [status_of(runner, job) for job in found[:limit]],
        "next_cursor": found[limit - 1].id if len(found) > limit else None,
    }


PREFIX = "/api/v1"
EXPLORER_TOOLS: tuple[Tool, ...] = (*OPERATIONS, *further_tools(), view_graph, list_jobs)
"""Those of the core and of plugins, and those that pages need beside."""
TOOL_NAMES: Mapping[str, Tool] = {tool.name: tool for tool in EXPLORER_TOOLS}


class Endpoint:
    """An address of the API, below the prefix with parameters in braces, and what answers there."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.method, self.path, *status = tool.http.split()
        self.status = int(status[0]) if status else 200
        self.fixed: Mapping[str, object] = {"confirm": True} if tool.confirm else {}
        """Arguments that the address itself says: whoever sends DELETE means it."""


ENDPOINTS = tuple(Endpoint(tool) for tool in EXPLORER_TOOLS if tool.http)
