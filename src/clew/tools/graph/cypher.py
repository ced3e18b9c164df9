"""The tool that has the language model write a query for a graph on Neo4j."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.tools.graph.following import fitted
from clew.tools.parameters import MAX_TOKENS, flag, integer, text
from clew.tools.schema import shape
from clew.tools.spec import FULL, Tool

if TYPE_CHECKING:
    from clew.tools.spec import Arguments, Call, Result


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
