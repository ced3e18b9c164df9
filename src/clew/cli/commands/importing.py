"""`clew import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.common import Common
from clew.cli.errors import INCOMPLETE
from clew.cli.output import stdout_console, write_json, write_line

if TYPE_CHECKING:
    from clew.indexing.import_memory import MemoryImportReport


def import_memory(
    common: Common,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="memory.jsonl of the reference memory server, or a SQLite file with the tables"
            " entities and relations.",
        ),
    ],
) -> None:
    """Take over another memory's entities, observations and relations; again adds nothing."""
    with common.open(make=True) as engine:
        report = engine.entities.import_memory(file)
    if common.json:
        write_json(report)
    else:
        _print(report)
    if report.skipped:
        raise typer.Exit(INCOMPLETE)


def _print(report: MemoryImportReport) -> None:
    kinds = ("entities", "observations", "relations")
    counts = ", ".join(f"{getattr(report, kind):,} {kind}" for kind in kinds)
    write_line(f"{counts} new, {len(report.skipped):,} skipped")
    if report.skipped:
        from clew.cli.tables import table

        rows = [(item.source, item.reason) for item in report.skipped]
        stdout_console().print(table(("skipped", "reason"), rows))
