"""What an assistant may ask of a constitution."""

from __future__ import annotations

from clew.packs.constitution.chain import search
from clew.packs.constitution.check import check, coverage, record
from clew.packs.constitution.node import KINDS
from clew.tools.parameters import integer, text
from clew.tools.schema import shape
from clew.tools.spec import FULL, Arguments, Call, Result, Tool


def _search(call: Call, arguments: Arguments) -> Result:
    return search(
        call.engine,
        arguments["query"],
        layer=arguments["layer"],
        limit=arguments["limit"],
        as_of=arguments["as_of"],
        budgets={
            "elements": arguments["element_tokens"],
            "hierarchy": arguments["hierarchy_tokens"],
            "related": arguments["related_tokens"],
        },
    )


TOOLS = (
    Tool(
        name="constitution_search",
        title="Search a constitution",
        description="Values, principles and goals by meaning, each with its chain value ▸ principle"
        " ▸ goal, the confidence along it, and what complements it or conflicts with it.",
        parameters=(
            text("query", "What is looked for, in words.", required=True, blank=False),
            text("layer", f"{', '.join(KINDS)}; else by the words of the query.", choices=KINDS),
            integer("limit", "Elements, at most; ", 5, 1, 50),
            text("as_of", "As it stood at the end of that day, such as 2024-05-31.", max_length=10),
            integer("element_tokens", "Tokens of the elements in the context; ", 1500, 0, 100_000),
            integer("hierarchy_tokens", "Tokens of the chains; ", 1000, 0, 100_000),
            integer("related_tokens", "Tokens of what is related; ", 1000, 0, 100_000),
        ),
        result=shape(query="string", layers="array", results="array", context="object"),
        run=_search,
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="constitution_check",
        title="Check a text against a constitution",
        description="The principles and goals that a text touches, those that it may conflict with,"
        " and why.",
        parameters=(text("text", "The text.", required=True, blank=False, max_length=100_000),),
        result=shape(touches="array", conflicts="array", notes="array"),
        run=lambda call, arguments: check(call.engine, arguments["text"]),
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="constitution_record",
        title="Check and record a conversation",
        description="constitution_check, and the text kept as a conversation that references what"
        " it touches.",
        parameters=(
            text("text", "The text.", required=True, blank=False, max_length=100_000),
            text("title", "What the conversation is called; one of that title is replaced.",
                 required=True, blank=False),
        ),
        result=shape(touches="array", conflicts="array", conversation="string"),
        run=lambda call, arguments: record(call.engine, arguments["text"], arguments["title"]),
        scope="write",
        profiles=FULL,
        idempotent=True,
    ),
    Tool(
        name="constitution_coverage",
        title="Coverage of a constitution",
        description="Which values, principles and goals no conversation ever referenced.",
        parameters=(),
        result=shape(layers="array", coverage="number"),
        run=lambda call, _: coverage(call.engine),
        scope="read",
        profiles=FULL,
    ),
)  # fmt: skip
