"""`clew search`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

from clew.cli.options import (
    AsOfOption,
    Common,
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
from clew.cli.searching import Shown, run_search


def search(
    common: Common,
    question: QuestionArgument,
    strategy: StrategyOption = None,
    rag_type: RagTypeOption = None,
    limit: TopOption = None,
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    as_of: AsOfOption = None,
    temporal: TemporalOption = None,
    max_tokens: MaxTokensOption = None,
    max_hops: MaxHopsOption = None,
    fusion: FusionOption = None,
    alpha: AlphaOption = None,
    layer: LayerOption = None,
    hierarchy: HierarchyOption = None,
    level: LevelOption = None,
    min_confidence: MinConfidenceOption = None,
    model_filter: ModelFilterOption = None,
    namespaces: NamespacesOption = None,
    context: ContextOption = False,
    citations: CitationsOption = False,
    explain: ExplainOption = False,
) -> None:
    """Find the passages that answer a question, and show the path that leads to each.

    `clew query` is the same command.
    """
    if citations and not context:
        raise typer.BadParameter("--citations goes with --context: clew search --context …")
    run_search(
        common,
        read_question(question),
        names=read_namespaces(namespaces),
        shown=Shown(context=context, citations=citations, explain=explain),
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
        model_filter=model_filter,
    )


# Options of `clew search` alone: what single strategies take, and how a result is printed.


class FusionName(StrEnum):
    """How `hybrid` fuses its channels."""

    rrf = "rrf"
    weighted = "weighted"


StrategyOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="auto, vector, keyword, hybrid, graph, parent_child, topic, multi_hop,"
        " hierarchical, temporal, global, local, weighted or drift; else the setting"
        " search.strategy.",
        show_default=False,
    ),
]
TopOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--limit", "--top-k", metavar="N", min=1, help="Passages, at most.", show_default=False
    ),
]
RagTypeOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--rag-type",
        metavar="NAME",
        help="In place of a strategy: traditional, contextual or graph.",
        show_default=False,
    ),
]
FusionOption: TypeAlias = Annotated[
    FusionName | None,
    typer.Option(metavar="NAME", help="hybrid: rrf or weighted.", show_default=False),
]
AlphaOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", min=0, max=1, help="weighted fusion: of words.", show_default=False
    ),
]
LayerOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="hierarchical: document, section, passage, or a type of the hierarchy.",
        show_default=False,
    ),
]
HierarchyOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="CHAIN",
        help="hierarchical: 'person -works_at-> organisation'.",
        show_default=False,
    ),
]
LevelOption: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="N", min=0, help="global: level of reports.", show_default=False),
]
ContextOption: TypeAlias = Annotated[
    bool,
    typer.Option("--context", help="Print the assembled context alone, for a language model."),
]
CitationsOption: TypeAlias = Annotated[
    bool, typer.Option("--citations", help="With --context: end with numbered sources.")
]
ExplainOption: TypeAlias = Annotated[
    bool,
    typer.Option("--explain", help="Print where each passage and relation comes from, and why."),
]
