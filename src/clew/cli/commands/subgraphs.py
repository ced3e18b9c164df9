"""`clew subgraph`."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.common import Common
from clew.cli.errors import note
from clew.cli.options import MaxTokensOption, OutputOption, QuestionArgument, read_question
from clew.cli.output import printable, to_json, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.search.strategies.subgraph import QuestionSubgraph


class SubgraphFormat(StrEnum):
    """What `clew subgraph` writes."""

    text = "text"
    json = "json"
    graphml = "graphml"


def subgraph(
    common: Common,
    question: QuestionArgument,
    format: Annotated[
        SubgraphFormat,
        typer.Option(
            "--format", metavar="FORMAT", help="`text`, for a language model; `json`; `graphml`."
        ),
    ] = SubgraphFormat.text,
    hops: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=3,
            help="All within so many hops of the question's entities; else the tree that ties"
            " them together.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=2, help="Entities, at most.")] = 50,
    max_tokens: MaxTokensOption = None,
    output: OutputOption = None,
) -> None:
    """Print the part of the graph that matters to a question."""
    with common.open() as engine:
        engine.warm()
        found = engine.subgraph(
            read_question(question), hops=hops, limit=limit, max_tokens=max_tokens
        )
    pieces = _pieces(found, SubgraphFormat.json if common.json else format)
    if output is None:
        sys.stdout.writelines(pieces)
    else:
        write_whole(output, pieces)
        note(f"{output.stat().st_size:,} bytes written to {output}")
    for remark in found.notes:
        note(f"Note: {remark}")


def _pieces(found: QuestionSubgraph, format: SubgraphFormat) -> Iterator[str]:
    if format is SubgraphFormat.graphml:
        yield from found.to_graphml()
    elif format is SubgraphFormat.json:
        yield f"{to_json(found.to_dict())}\n"
    elif found.context.text:
        yield f"{printable(found.context.text)}\n"
