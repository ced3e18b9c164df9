"""`clew copy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.common import Common
from clew.cli.output import stdout_console, write_json, write_line
from clew.cli.progress import reporting

if TYPE_CHECKING:
    from clew.ports.copying import CopyReport

_DIGITS = 12
"""Of a hash, for people; `--json` gives all."""


def copy(
    common: Common,
    target: Annotated[
        str, typer.Option("--to", metavar="PLACE", help="Where it goes: as --store names places.")
    ],
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="PLACE", help="The store to copy; else the one at --store."),
    ] = None,
    to_namespace: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Its namespace there; else as here.", show_default=False),
    ] = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Throw away what an unfinished copy left there.")
    ] = False,
) -> None:
    """Copy a whole store to another place, and compare the two; repeated, it goes on."""
    from clew.engine.copying import copy as copy_whole
    from clew.settings import load_settings

    here = load_settings(store=source or common.store, namespace=common.namespace)
    there = load_settings(store=target, namespace=to_namespace or here.namespace)
    with reporting(bars=not common.json) as progress:
        report = copy_whole(here, there, anew=anew, progress=progress)
    if common.json:
        write_json(report)
    else:
        _print_report(report)


def _print_report(report: CopyReport) -> None:
    from clew.cli.tables import table

    rows = [(t.name, t.rows, t.digest[:_DIGITS]) for t in report.tables]
    stdout_console().print(table(("table", "rows", "hash"), rows))
    if report.written:
        rate = report.written / max(report.seconds, 1e-9)
        write_line(
            f"{report.written:,} rows written in {report.seconds:.1f} s ({rate:,.0f}/s);"
            " both stores hold the same"
        )
    else:
        write_line("nothing to write; both stores hold the same")
