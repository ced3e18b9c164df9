"""`clew search`."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.common import Common
from clew.cli.errors import note
from clew.cli.options import (
    AsOfOption,
    MaxHopsOption,
    MaxTokensOption,
    MinConfidenceOption,
    NamespacesOption,
    QuestionArgument,
    RagTypeOption,
    SinceOption,
    TemporalOption,
    TopOption,
    UntilOption,
    WhereOption,
    read_namespaces,
    read_question,
)
from clew.cli.output import stdout_console, write_json, write_line
from clew.cli.progress import steps

if TYPE_CHECKING:
    from clew.types import SearchResult


class FusionName(StrEnum):
    """How `hybrid` fuses its channels."""

    rrf = "rrf"
    weighted = "weighted"


def search(
    common: Common,
    question: QuestionArgument,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="auto, vector, keyword, hybrid, graph, parent_child, topic, multi_hop,"
            " hierarchical, temporal, global, local, weighted or drift; else the setting"
            " search.strategy.",
            show_default=False,
        ),
    ] = None,
    rag_type: RagTypeOption = None,
    limit: TopOption = None,
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    as_of: AsOfOption = None,
    temporal: TemporalOption = None,
    max_tokens: MaxTokensOption = None,
    max_hops: MaxHopsOption = None,
    fusion: Annotated[
        FusionName | None,
        typer.Option(metavar="NAME", help="hybrid: rrf or weighted.", show_default=False),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", min=0, max=1, help="weighted fusion: of words.", show_default=False
        ),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="hierarchical: document, section, passage, or a type of the hierarchy.",
            show_default=False,
        ),
    ] = None,
    hierarchy: Annotated[
        str | None,
        typer.Option(
            metavar="CHAIN",
            help="hierarchical: 'person -works_at-> organisation'.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="global: level of reports.", show_default=False),
    ] = None,
    min_confidence: MinConfidenceOption = None,
    expand: Annotated[
        bool, typer.Option("--expand", help="Search for the entities' other names, too.")
    ] = False,
    sub_questions: Annotated[
        bool, typer.Option("--sub-questions", help="Ask each part of the question by itself, too.")
    ] = False,
    namespaces: NamespacesOption = None,
    context: Annotated[
        bool,
        typer.Option("--context", help="Print the assembled context alone, for a language model."),
    ] = False,
    citations: Annotated[
        bool, typer.Option("--citations", help="With --context: end with numbered sources.")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Print where each passage and relation comes from, and why."
        ),
    ] = False,
) -> None:
    """Find the passages that answer a question, and show the path that leads to each.

    `clew query` is the same command.
    """
    if citations and not context:
        raise typer.BadParameter("--citations goes with --context: clew search --context …")
    names = read_namespaces(namespaces)
    # The first of them is opened: it need not be the default, which may not exist.
    with (replace(common, namespace=names[0]) if names else common).open() as engine:
        if strategy != "keyword":
            engine.state.warm()
        with steps(shown=not common.json) as progress:
            engine.state.progress = progress
            result = engine.search(
                read_question(question),
                strategy=strategy,
                rag_type=rag_type,
                limit=limit,
                max_tokens=max_tokens,
                where=where or (),
                since=since,
                until=until,
                as_of=as_of,
                temporal=temporal,
                max_hops=max_hops,
                fusion=None if fusion is None else fusion.value,
                alpha=alpha,
                layer=layer,
                hierarchy=hierarchy,
                level=level,
                min_confidence=min_confidence,
                expand=expand,
                sub_questions=sub_questions,
                namespaces=names,
            )
    if common.json:
        write_json(result.to_dict())
    elif context:
        write_line(result.context.text)
        if citations:
            write_line(_sources(result))
    else:
        print_result(result, explain=explain)
    if not common.json:
        _print_notes(result)
    if not result.answered and result.hits:
        raise typer.Exit(1)


def print_result(result: SearchResult, limit: int | None = None, *, explain: bool = False) -> None:
    """Print the first passages of a result (None: all), each with its citation and its path."""
    from clew.cli.render import print_parts, print_passages, print_route

    console = stdout_console()
    if explain:
        print_route(console, result)
    print_parts(console, result)
    print_passages(console, result, limit, explain=explain)


def _sources(result: SearchResult) -> str:
    from clew.search.answer.citations import format_citations

    return f"\nSources:\n{format_citations(result)}"


def _print_notes(result: SearchResult) -> None:
    for remark in result.notes:
        note(f"Note: {remark}")
    if not result.hits:
        note("Nothing found.")
