"""`clew search`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.common import Common
from clew.cli.errors import note
from clew.cli.output import stdout_console, write_json

if TYPE_CHECKING:
    from clew.types import SearchResult

WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Only where the metadata meets it, such as year>=2020 or author=Brontë; repeatable.",
        show_default=False,
    ),
]


def search(
    common: Common,
    question: Annotated[
        list[str], typer.Argument(metavar="QUESTION", help="Words of the question; `-` reads it.")
    ],
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="vector, keyword, hybrid or graph; else the setting search.strategy.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Passages, at most.", show_default=False)
    ] = None,
    where: WhereOption = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Tokens of the assembled context, at most.", show_default=False
        ),
    ] = None,
    context: Annotated[
        bool,
        typer.Option("--context", help="Print the assembled context alone, for a language model."),
    ] = False,
) -> None:
    """Find the passages that answer a question, and show the path that leads to each.

    `clew query` is the same command.
    """
    asked = sys.stdin.read() if question == ["-"] else " ".join(question)
    with common.open() as engine:
        if strategy != "keyword":
            engine.warm()
        result = engine.search(
            asked, strategy=strategy, limit=limit, where=where or (), max_tokens=max_tokens
        )
    if common.json:
        write_json(result.to_dict())
    elif context:
        typer.echo(result.context.text)
    else:
        print_result(result)
    if not common.json:
        _print_notes(result)


def print_result(result: SearchResult, limit: int | None = None) -> None:
    """Print the first passages of a result (None: all), each with its citation and its path."""
    from clew.cli.render import print_passages

    print_passages(stdout_console(), result, limit)


def _print_notes(result: SearchResult) -> None:
    for remark in result.notes:
        note(f"Note: {remark}")
    if not result.hits:
        note("Nothing found.")
