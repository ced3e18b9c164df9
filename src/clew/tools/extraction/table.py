"""The table of the tools by which an assistant reads passages itself."""

from __future__ import annotations

from clew.tools.extraction import reading, writing
from clew.tools.extraction.parameters import ANSWER
from clew.tools.parameters import CURSOR, integer
from clew.tools.schema import shape
from clew.tools.spec import CORE, Tool

UPSERT = Tool(
    name="graph_upsert",
    title="Add to the graph",
    description=(
        "Add entities and relations of passages (see extraction_next); without passage_ids,"
        " what you know."
    ),
    parameters=ANSWER,
    result=shape(new_relations="integer", rejected="array", remaining="integer"),
    run=writing.upsert,
    scope="write",
    profiles=CORE,
    idempotent=True,
)

EXTRACTION_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="extraction_next",
        title="Passages to read",
        description="Passages no assistant has read, and what to do with them.",
        parameters=(
            integer("limit", "Passages", 5, 1, 50),
            CURSOR,
            integer("max_tokens", "", 4000, 1000, 100_000),
        ),
        result=shape(instructions="string", schema="object", passages="array", remaining="integer"),
        run=reading.next_batch,
        scope="read",
        profiles=CORE,
    ),
    UPSERT,
)
