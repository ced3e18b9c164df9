"""`clew papers`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from clew.cli.options import Common, WhereOption
from clew.cli.output import stdout_console, write_json, write_line
from clew.errors import InputError
from clew.plugins.papers.tools import bibtex, citations, find_papers, listed

_AUTHORS = 3
"""Names of a row; of more than that the first stands for all."""


class PapersFormat(StrEnum):
    """How `clew papers` shows what it finds."""

    table = "table"
    graph = "graph"
    bibtex = "bibtex"


def papers(
    common: Common,
    question: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUESTION", help="What to look for; else the most cited papers."),
    ] = None,
    where: WhereOption = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="Papers, at most.")] = 20,
    format: Annotated[
        PapersFormat, typer.Option(help="A table, what they cite of each other, or BibTeX.")
    ] = PapersFormat.table,
) -> None:
    """List papers that the pack `papers` has read, their citations, or their BibTeX."""
    with common.open() as engine:
        if "papers" not in engine.packs.enabled():
            raise InputError("the pack papers is not enabled; run: clew index FILES --pack papers")
        found = find_papers(engine, " ".join(question or ()), where or (), limit)
        edges = citations(engine, found) if format is PapersFormat.graph or common.json else []
    if common.json:
        write_json({"papers": [listed(one) for one in found], "citations": edges})
    elif format is PapersFormat.bibtex:
        write_line(bibtex(found).rstrip())
    elif format is PapersFormat.graph:
        for edge in edges:
            write_line(f"{edge['from']} -{edge['relation']}-> {edge['to']}")
    else:
        _print_table([listed(one) for one in found])


def _print_table(rows: list[dict[str, Any]]) -> None:
    from clew.cli.render import table

    lines = [
        (
            str(row.get("year", "")),
            _authors(str(row.get("author", ""))),
            row["title"],
            str(row.get("venue", "")),
            str(row.get("citations", "")),
            str(row.get("key", "")),
        )
        for row in rows
    ]
    columns = ("year", "authors", "title", "venue", "citations", "key")
    stdout_console().print(table(columns, lines))


def _authors(names: str) -> str:
    listed = names.split("; ")
    return names if len(listed) <= _AUTHORS else f"{listed[0]} et al."
