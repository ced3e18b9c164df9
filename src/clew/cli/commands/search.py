"""`clew search`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from clew.cli.common import Common
from clew.cli.errors import note
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
from clew.cli.output import stdout_page, write_json, write_line
from clew.cli.progress import steps
from clew.cli.search_options import (
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

if TYPE_CHECKING:
    from clew.types import SearchResult


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
                model_filter=model_filter,
                namespaces=names,
            )
    if common.json:
        write_json(result.to_dict())
    else:
        _print(result, context=context, citations=citations, explain=explain)
    if not result.answered and result.hits:
        raise typer.Exit(1)


def _print(result: SearchResult, *, context: bool, citations: bool, explain: bool) -> None:
    """Print the context alone, its sources behind it, or the passages; then the notes."""
    if context:
        write_line(result.context.text)
        if citations:
            write_line(_sources(result))
    else:
        print_result(result, explain=explain)
    _print_notes(result)


def print_result(result: SearchResult, limit: int | None = None, *, explain: bool = False) -> None:
    """Print the first passages of a result (None: all), each with its citation and its path."""
    from clew.cli.render import print_parts, print_passages, print_route

    page = stdout_page()
    if explain:
        print_route(page, result)
    print_parts(page, result)
    print_passages(page, result, limit, explain=explain)


def _sources(result: SearchResult) -> str:
    from clew.search.answer.citations import format_citations

    return f"\nSources:\n{format_citations(result)}"


def _print_notes(result: SearchResult) -> None:
    for remark in result.notes:
        note(f"Note: {remark}")
    if not result.hits:
        note("Nothing found.")
