"""`clew attach` and `clew schema`: Neo4j graphs that Clew did not make."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clew.attach.connect import open_database
from clew.cli.common import Common
from clew.cli.errors import INCOMPLETE, note
from clew.cli.options import (
    MaxCostOption,
    MaxTokensSpentOption,
    QuestionArgument,
    read_question,
)
from clew.cli.output import stdout_console, write_json
from clew.errors import NoLanguageModelError

if TYPE_CHECKING:
    from clew.attach.mapping import GraphMapping
    from clew.settings import Settings
    from clew.stores.neo4j.connection import Neo4jDatabase


QUERY_TOKENS = 120
"""Of a written query with its parameters, about."""


class StrategyName(StrEnum):
    """How a graph is asked."""

    hybrid = "hybrid"
    local = "local"
    multi_hop = "multi_hop"


def attach(
    common: Common,
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="The server, such as neo4j://localhost:7687.")
    ],
    mapping: Annotated[
        Path,
        typer.Option(
            "--mapping",
            metavar="FILE",
            help="TOML that says what the graph's labels, properties and types mean.",
            exists=True,
            dir_okay=False,
        ),
    ],
    question: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUESTION",
            help="Words of the question; none: check the mapping.",
            show_default=False,
        ),
    ] = None,
    strategy: Annotated[
        StrategyName,
        typer.Option(
            metavar="NAME",
            help="hybrid: vectors and words; local: from the question's entities; multi_hop: over"
            " their relationships, too.",
        ),
    ] = StrategyName.hybrid,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Passages, at most.")] = 10,
    max_hops: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=3, help="multi_hop: steps from entity to entity."),
    ] = 2,
) -> None:
    """Search a Neo4j graph that Clew did not make; nothing is ever written to it.

    Without a question, check that the mapping fits the graph.
    """
    from clew.attach.mapping import read_mapping
    from clew.settings import load_settings

    settings = load_settings(store=address)
    given = read_mapping(mapping)
    with open_database(settings) as database:
        if not question:
            _check(common, database, settings, given)
            return
        from clew.attach.graph import AttachedGraph
        from clew.wiring import make_embedder

        graph = AttachedGraph(database, given, lambda: make_embedder(settings))
        answer = graph.ask(
            read_question(question), strategy=strategy.value, limit=limit, max_hops=max_hops
        )
    if common.json:
        write_json(answer)
        return
    from clew.cli.attached import print_answer

    print_answer(stdout_console(), answer)
    for remark in answer.notes:
        note(f"Note: {remark}")
    if not answer.hits:
        note("Nothing found.")


def _check(
    common: Common, database: Neo4jDatabase, settings: Settings, mapping: GraphMapping
) -> None:
    """Print how the mapping fits the graph; the exit status is 1 where anything does not."""
    from clew.attach.check import check_mapping
    from clew.attach.schema import read_schema
    from clew.wiring import make_embedder

    # The model is loaded only where its dimension is asked for.
    dimension = make_embedder(settings).dimension if mapping.passages.vector_index else 0
    findings = check_mapping(mapping, read_schema(database), dimension)
    if common.json:
        write_json(findings)
    else:
        from clew.cli.tables import table

        rows = [("fits" if f.fits else "WRONG", f.entry, f.given, f.detail) for f in findings]
        stdout_console().print(table(("", "entry", "given", "found"), rows))
    wrong = sum(not finding.fits for finding in findings)
    if wrong:
        note(f"{wrong} of {len(findings)} entries do not fit; clew schema prints what there is")
        raise typer.Exit(INCOMPLETE)


def schema(common: Common) -> None:
    """Print what a Neo4j database holds: labels, types, properties, counts and indexes.

    Nothing is written, and of a large database little is read: properties are those of the first
    1,000 nodes of a label, or relationships of a type.
    """
    from clew.attach.schema import read_schema
    from clew.settings import load_settings

    with open_database(load_settings(store=common.store, namespace=common.namespace)) as database:
        found = read_schema(database)
    if common.json:
        write_json({"labels": found.labels, "types": found.types, "indexes": found.indexes})
        return
    from clew.cli.attached import print_schema

    print_schema(stdout_console(), found)


def cypher(
    common: Common,
    question: QuestionArgument,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Rows, at most.")] = 50,
    examples: Annotated[
        Path | None,
        typer.Option(
            "--examples",
            metavar="FILE",
            help="TOML of questions with their queries, of which the model is shown the nearest;"
            " else the setting neo4j.examples.",
            show_default=False,
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Show the query, and do not run it.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what writing it would take; ask no model.")
    ] = False,
    max_tokens_spent: MaxTokensSpentOption = None,
    max_cost: MaxCostOption = None,
) -> None:
    """Ask a Neo4j database by a query that a language model writes, and that can only read.

    The query is shown. It is judged by the server's own plan of it before it runs.
    """
    from clew.attach.cypher import ask_by_cypher, cypher_requests
    from clew.attach.examples import read_examples
    from clew.cli.commands.llm.ask import print_estimate
    from clew.models.llm.budget import estimate
    from clew.models.llm.client import LanguageModelClient
    from clew.settings import load_settings
    from clew.wiring import make_embedder, make_language_provider

    settings = load_settings(store=common.store, namespace=common.namespace)
    with open_database(settings) as database, ExitStack() as closing_later:

        def later(close: Callable[[], None]) -> None:
            closing_later.callback(close)

        provider = make_language_provider(settings, later)
        if provider is None:
            raise NoLanguageModelError
        known = examples or settings.neo4j.examples
        given = read_examples(known) if known else ()
        asked, embedder = read_question(question), make_embedder(settings)
        if dry_run:
            requests = cypher_requests(database, asked, embedder=embedder, examples=given)
            print_estimate(common, estimate(requests, 0, (), QUERY_TOKENS))
            return
        answer = ask_by_cypher(
            database,
            LanguageModelClient(provider, settings.llm).limited(max_tokens_spent, max_cost),
            asked,
            embedder=embedder,
            examples=given,
            limit=limit,
            run=not show,
        )
    if common.json:
        write_json(answer)
        return
    from clew.cli.attached import print_rows

    print_rows(stdout_console(), answer)
    for remark in answer.notes:
        note(f"Note: {remark}")
