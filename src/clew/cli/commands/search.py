"""`clew search`."""

from __future__ import annotations

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
from clew.cli.searching.options import (
    AlphaOption,
    CitationsOption,
    ContextOption,
    ExpandOption,
    ExplainOption,
    FusionOption,
    HierarchyOption,
    LayerOption,
    LevelOption,
    RagTypeOption,
    StrategyOption,
    SubQuestionsOption,
    TopOption,
)
from clew.cli.searching.run import Shown, run_search


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
    expand: ExpandOption = False,
    sub_questions: SubQuestionsOption = False,
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
        expand=expand,
        sub_questions=sub_questions,
        model_filter=model_filter,
    )
