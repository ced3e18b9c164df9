"""The tool that has the language model write a query for a graph on Neo4j."""

from __future__ import annotations

from typing import Annotated

from clew.operations.graph_queries import fitted
from clew.operations.spec import Call, Limits, MaxTokens, Result, between, operation, shape


@operation(
    "Ask the graph by a query",
    shape(cypher="string", parameters="object", rows="array", left_out="integer"),
    # Whatever else is in the database can be read: more than the namespace.
    rights="admin",
    changes=False,
    open_world=True,
    http="POST /cypher",
)
def ask_by_cypher(
    call: Call,
    query: Annotated[str, "What is asked, in words.", Limits(max_length=10_000, blank=False)],
    limit: Annotated[int, "Rows", between(1, 500)] = 50,
    dry_run: Annotated[bool, "Show the query alone."] = False,
    max_tokens: MaxTokens = 4000,
) -> Result:
    """Counts, lists and ties in the whole database that holds this store, where it is Neo4j: the
    server's language model writes a query, which can only read; nodes come with their element_id.
    """
    found = call.engine.ask_by_cypher(query, limit=limit, run=not dry_run)
    around: Result = {
        "cypher": found.query,
        "parameters": dict(found.parameters),
        "model": found.model,
        "notes": list(found.notes),
    }
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    return fitted(call, max_tokens, around, "rows", rows)
