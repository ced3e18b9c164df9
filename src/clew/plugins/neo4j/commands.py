"""`clew attach` and `clew schema`: Neo4j graphs that Clew did not make."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clew.cli.common import INCOMPLETE, Common, note
from clew.cli.options import MaxCostOption, MaxTokensSpentOption, QuestionArgument, read_question
from clew.cli.output import Page, print_below, print_table, stdout_page, write_json
from clew.cli.render import ENTITY, FAINT, INDENT, marked
from clew.errors import NoLanguageModelError
from clew.plugins.neo4j.mapping import (
    GraphMapping,
    PropertyInfo,
    check_mapping,
    open_database,
    read_mapping,
    read_schema,
)
from clew.text import one_line, terms

if TYPE_CHECKING:
    from clew.plugins.neo4j.attached import GraphAnswer
    from clew.plugins.neo4j.connection import Neo4jDatabase
    from clew.settings import Settings


QUERY_TOKENS = 120
"""Of a written query with its parameters, about."""


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
        Literal["hybrid", "local", "multi_hop"],
        typer.Option(
            metavar="NAME",
            help="hybrid: vectors and words; local: from the question's entities; multi_hop: over"
            " their relationships, too.",
        ),
    ] = "hybrid",
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Passages, at most.")] = 10,
    max_hops: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=3, help="multi_hop: steps from entity to entity."),
    ] = 2,
) -> None:
    """Search a Neo4j graph that Clew did not make; nothing is ever written to it.

    Without a question, check that the mapping fits the graph.
    """
    from clew.settings import load_settings

    settings = load_settings(store=address)
    given = read_mapping(mapping)
    with open_database(settings) as database:
        if not question:
            _check(common, database, settings, given)
            return
        from clew.plugins.neo4j.attached import AttachedGraph
        from clew.wiring import make_embedder

        graph = AttachedGraph(database, given, lambda: make_embedder(settings))
        answer = graph.ask(
            read_question(question), strategy=strategy, limit=limit, max_hops=max_hops
        )
    if common.json:
        write_json(answer)
        return
    _print_answer(stdout_page(), answer)
    for remark in answer.notes:
        note(f"Note: {remark}")
    if not answer.hits:
        note("Nothing found.")


def _check(
    common: Common, database: Neo4jDatabase, settings: Settings, mapping: GraphMapping
) -> None:
    """Print how the mapping fits the graph; the exit status is 1 where anything does not."""
    from clew.wiring import make_embedder

    # The model is loaded only where its dimension is asked for.
    dimension = make_embedder(settings).dimension if mapping.passages.vector_index else 0
    findings = check_mapping(mapping, read_schema(database), dimension)
    rows = [("fits" if f.fits else "WRONG", f.entry, f.given, f.detail) for f in findings]
    common.table(findings, ("", "entry", "given", "found"), rows)
    wrong = sum(not finding.fits for finding in findings)
    if wrong:
        note(f"{wrong} of {len(findings)} entries do not fit; clew schema prints what there is")
        raise typer.Exit(INCOMPLETE)


def schema(common: Common) -> None:
    """Print what a Neo4j database holds: labels, types, properties, counts and indexes.

    Nothing is written, and of a large database little is read: properties are those of the first
    1,000 nodes of a label, or relationships of a type.
    """
    from clew.settings import load_settings

    with open_database(load_settings(store=common.store, namespace=common.namespace)) as database:
        found = read_schema(database)
    common.table(
        {"labels": found.labels, "types": found.types, "indexes": found.indexes},
        ("label", "nodes", "properties"),
        [(label.name, label.count, _properties(label.properties)) for label in found.labels],
    )
    if common.json:
        return
    types = [
        (
            type_.name,
            type_.count,
            ", ".join(f"{start} to {end}" for start, end in type_.ends),
            _properties(type_.properties),
        )
        for type_ in found.types
    ]
    print_below(("type", "relationships", "between", "properties"), types)
    indexes = [
        (
            index.name,
            index.kind if index.online else f"{index.kind}, not online",
            ", ".join(index.labels),
            ", ".join(index.properties),
            "" if index.dimension is None else index.dimension,
            index.similarity,
        )
        for index in found.indexes
    ]
    columns = ("index", "kind", "labels", "properties", "dimensions", "similarity")
    print_below(columns, indexes)


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
    from clew.cli.commands.asking import print_estimate
    from clew.plugins.neo4j.cypher import ask_by_cypher, first_request, read_examples
    from clew.settings import load_settings
    from clew.wiring import make_embedder, make_language_model, make_language_provider

    settings = load_settings(store=common.store, namespace=common.namespace)
    with open_database(settings) as database, ExitStack() as closing:
        provider = make_language_provider(settings, closing.callback)
        if provider is None:
            raise NoLanguageModelError
        model = make_language_model(settings, provider)
        known = examples or settings.neo4j.examples
        given = read_examples(known) if known else ()
        asked, embedder = read_question(question), make_embedder(settings)
        if dry_run:
            _, request = first_request(database, asked, embedder, given, [])
            print_estimate(common, model.estimate([request], QUERY_TOKENS))
            return
        answer = ask_by_cypher(
            database,
            model.limited(max_tokens_spent, max_cost),
            asked,
            embedder=embedder,
            examples=given,
            limit=limit,
            run=not show,
        )
    if common.json:
        write_json(answer)
        return
    page = stdout_page()
    if answer.query:
        page.print([(answer.query, FAINT)])
        for name, value in answer.parameters.items():
            page.print([(f"  ${one_line(name)} = {value!r}", FAINT)])
        page.print([])
    print_table(
        tuple(one_line(name) for name in answer.columns),
        [
            [one_line(v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)) for v in row]
            for row in answer.rows
        ],
    )
    for remark in answer.notes:
        note(f"Note: {remark}")


def _print_answer(page: Page, answer: GraphAnswer) -> None:
    """Print the passages, best first, each with its scores and the path that leads to it."""
    asked = frozenset(terms(answer.question))
    if answer.seeds:
        page.print([(f"from {one_line(', '.join(answer.seeds))}", FAINT)])
        page.print([])
    for number, hit in enumerate(answer.hits, start=1):
        # `[1] Title, source, id`, of which each that is unknown is left out.
        known = [one_line(name) for name in (hit.title, hit.source, hit.id) if name]
        first, *rest = dict.fromkeys(known)
        page.print([(f"[{number}] {first}", "bold"), (", ".join(["", *rest]), FAINT)])
        page.print(marked(hit.text.strip(), asked), behind=INDENT)
        channels = [f"{name} {value:.3f}" for name, value in hit.scores.items()]
        page.print([(" · ".join([f"score {hit.score:.4f}", *channels]), FAINT)], behind=INDENT)
        if hit.path:
            # `Ada Morn —WORKS_FOR→ Vell Trust ←MENTIONS— [1]`
            way = []
            for step in hit.path:
                tie = one_line(step.type)
                arrow = f" —{tie}→ " if step.forward else f" ←{tie}— "
                way += [(one_line(step.entity), ENTITY), (arrow, "")]
            page.print([*way, (f"[{number}]", "bold")], behind=INDENT)
        page.print([])


def _properties(properties: Iterable[PropertyInfo]) -> str:
    return ", ".join(f"{p.name} ({' or '.join(p.types)})" for p in properties)
