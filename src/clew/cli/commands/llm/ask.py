"""`clew ask`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.common import Common
from clew.cli.errors import note
from clew.cli.options import (
    AsOfOption,
    QuestionArgument,
    SinceOption,
    UntilOption,
    WhereOption,
    read_question,
)
from clew.cli.output import shown_source, stdout_console, write_json, write_line

if TYPE_CHECKING:
    from clew.types.answers import Answer, AnswerSource


def ask(
    common: Common,
    question: QuestionArgument,
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
) -> None:
    """Answer a question, with the words of the documents that each statement rests on.

    Without a language model, or where it fails, the answer is made of the documents' own sentences.
    """
    with common.open() as engine:
        if strategy != "keyword":
            engine.state.warm()
        found = engine.ask(
            read_question(question),
            tell=None if common.json else _write,
            strategy=strategy,
            limit=limit,
            where=where or (),
            since=since,
            until=until,
            as_of=as_of,
        )
    if common.json:
        write_json(found.to_dict())
        return
    write_line("")
    _print_sources(found)
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
        if source.path:
            from clew.cli.render import print_thread

            print_thread(stdout_console(), source.path, f"[{source.number}] {source.title}")


def _heading(source: AnswerSource) -> str:
    place = (
        f"characters {source.start}–{source.end}" if source.page is None else f"page {source.page}"
    )
    parts = [f"[{source.number}] {' '.join(source.title.split())}", place]
    parts += [shown_source(source.source)] if source.title != source.source else []
    return ", ".join(parts)


def _spent(found: Answer) -> str:
    """Who answered, and what it took."""
    seconds = sum(found.timings_ms.values()) / 1000
    if not found.model:
        return f"No language model; {seconds:.1f} s."
    usage = found.usage
    parts = [f"{usage.input_tokens:,} tokens read, {usage.output_tokens:,} written"]
    parts += [] if found.cost is None else [f"${found.cost:.4f}"]
    return f"{found.model}: {', '.join(parts)}, {seconds:.1f} s."
