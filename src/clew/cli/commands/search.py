"""`clew search`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from clew.cli.common import Common
from clew.cli.options import (
    AsOfOption,
    MaxHopsOption,
    MaxTokensOption,
    MinConfidenceOption,
    ModelFilterOption,
    NamespacesOption,
    QuestionArgument,
    SinceOption,
    TemporalOption,
    UntilOption,
    WhereOption,
    read_namespaces,
    read_question,
)
from clew.cli.searching import run_search


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
    rag_type: Annotated[
        str | None,
        typer.Option(
            "--rag-type",
            metavar="NAME",
            help="In place of a strategy: traditional, contextual or graph.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "--top-k", metavar="N", min=1, help="Passages, at most.", show_default=False
        ),
    ] = None,
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    as_of: AsOfOption = None,
    temporal: TemporalOption = None,
    max_tokens: MaxTokensOption = None,
    max_hops: MaxHopsOption = None,
    fusion: Annotated[
        Literal["rrf", "weighted"] | None,
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
    model_filter: ModelFilterOption = None,
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
    """Find the passages that answer a question, and show the path that leads to each."""
    if citations and not context:
        raise typer.BadParameter("--citations goes with --context: clew search --context …")
    run_search(
        common,
        read_question(question),
        names=read_namespaces(namespaces),
        context=context,
        citations=citations,
        explain=explain,
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
        fusion=fusion,
        alpha=alpha,
        layer=layer,
        hierarchy=hierarchy,
        level=level,
        min_confidence=min_confidence,
        expand=expand,
        sub_questions=sub_questions,
        model_filter=model_filter,
    )
