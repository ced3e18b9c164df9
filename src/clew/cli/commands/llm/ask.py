"""`clew ask`."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.cli.common import Common
from clew.cli.errors import note
from clew.cli.options import (
    AsOfOption,
    MaxCostOption,
    MaxHopsOption,
    MaxTokensSpentOption,
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
from clew.cli.output import shown_source, stdout_page, write_json, write_line

if TYPE_CHECKING:
    from clew.models.llm.budget import Estimate
    from clew.types.answers import Answer, AnswerMode, AnswerSource


class Mode(StrEnum):
    """How passages are gathered and read."""

    one_shot = "one-shot"
    stepwise = "stepwise"
    overview = "global"

    @property
    def name_in_library(self) -> AnswerMode:
        """The same mode as `store.ask` names it."""
        names: dict[Mode, AnswerMode] = {Mode.stepwise: "stepwise", Mode.overview: "global"}
        return names.get(self, "one_shot")


def ask(
    common: Common,
    question: QuestionArgument,
    mode: Annotated[
        Mode,
        typer.Option(
            metavar="NAME",
            help="one-shot: one search; stepwise: the question's parts and what is missing are"
            " searched for, too; global: over all community reports.",
        ),
    ] = Mode.one_shot,
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=10, help="stepwise: searches, at most; 4.", show_default=False
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How passages are found, as in clew search; else the setting search.strategy.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Passages to answer from, at most.", show_default=False
        ),
    ] = None,
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    as_of: AsOfOption = None,
    temporal: TemporalOption = None,
    max_hops: MaxHopsOption = None,
    min_confidence: MinConfidenceOption = None,
    model_filter: ModelFilterOption = None,
    namespaces: NamespacesOption = None,
    max_tokens_spent: MaxTokensSpentOption = None,
    max_cost: MaxCostOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would take at most; ask no model.")
    ] = False,
) -> None:
    """Answer a question, with the words of the documents that each statement rests on.

    Without a language model, or where it fails, the answer is quoted from the documents.
    """
    names = read_namespaces(namespaces)
    with (replace(common, namespace=names[0]) if names else common).open() as engine:
        if strategy != "keyword":
            engine.state.warm()
        options: dict[str, Any] = {
            "mode": mode.name_in_library,
            "steps": steps,
            "strategy": strategy,
            "limit": limit,
            "where": where or (),
            "since": since,
            "until": until,
            "as_of": as_of,
            "temporal": temporal,
            "max_hops": max_hops,
            "min_confidence": min_confidence,
            "model_filter": model_filter,
            "namespaces": names,
        }
        if dry_run:
            print_estimate(common, engine.asking.estimate(read_question(question), **options))
            return
        engine.asking.warm(limit)
        found = engine.ask(
            read_question(question),
            tell=None if common.json else _write,
            max_tokens_spent=max_tokens_spent,
            max_cost=max_cost,
            **options,
        )
    if common.json:
        write_json(found.to_dict())
    else:
        _print(found)
    if min_confidence is not None and not found.answered:
        raise typer.Exit(1)


def print_estimate(common: Common, found: Estimate) -> None:
    """What work would take; nothing was asked."""
    if common.json:
        write_json(found)
        return
    cost = "price unknown" if found.cost is None else f"about ${found.cost:.4f}"
    of = f"{found.documents:,} documents, " if found.documents else ""
    write_line(
        f"{of}{found.calls:,} calls ({found.cached:,} known or not"
        f" needed), about {found.input_tokens:,} tokens to read and {found.output_tokens:,} to"
        f" write, {cost}"
    )
    note("Nothing was asked.")


def _print(found: Answer) -> None:
    """What is known beside the answer itself, which was told."""
    write_line("")
    _print_sources(found)
    for question in found.questions[1:]:
        note(f"Also searched for: {question}")
    for remark in found.notes:
        note(f"Note: {remark}")
    note(_spent(found))


def _write(piece: str) -> None:
    sys.stdout.write(piece)
    sys.stdout.flush()


def _print_sources(found: Answer) -> None:
    """The sources with what was quoted of them, and the path to each."""
    quotations = [q for statement in found.statements for q in statement.quotations]
    for source in found.sources:
        write_line(f"\n{_heading(source)}")
        if found.model:
            texts = (q.text for q in quotations if q.source == source.number)
            for text in dict.fromkeys(texts):
                write_line(f"    “{' '.join(text.split())}”")
        elif source.text:
            write_line(f"    {' '.join(source.text.split())}")
        if source.path:
            from clew.cli.render import print_thread

            print_thread(stdout_page(), source.path, f"[{source.number}] {source.title}")


def _heading(source: AnswerSource) -> str:
    if not source.id:  # stated by hand
        return f"[{source.number}] {source.title}"
    place = (
        f"characters {source.start}–{source.end}" if source.page is None else f"page {source.page}"
    )
    parts = [f"[{source.number}] {' '.join(source.title.split())}", place]
    parts += [f"namespace {source.namespace}"] if source.namespace else []
    parts += [shown_source(source.source)] if source.title != source.source else []
    return ", ".join(parts)


def _spent(found: Answer) -> str:
    """Who answered, and what it took."""
    seconds = sum(found.timings_ms.values()) / 1000
    if not found.model and not found.calls:
        return f"Without a language model; {seconds:.1f} s."
    usage = found.usage
    requests = (
        f"{found.calls} request{'s' * (found.calls != 1)}"
        + f", {found.cached_calls} known" * bool(found.cached_calls)
    )
    parts = [f"{usage.input_tokens:,} tokens read, {usage.output_tokens:,} written"]
    parts += [] if found.cost is None else [f"${found.cost:.4f}"]
    who = found.model or "Sentences of the documents"
    return f"{who}: {requests}, {', '.join(parts)}, {seconds:.1f} s."
