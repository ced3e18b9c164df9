"""`clew reindex`, `clew backup`, `clew restore`, `clew copy` and `clew import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.common import Common
from clew.cli.errors import FAILED, INCOMPLETE, note
from clew.cli.output import stdout_console, write_json, write_line
from clew.cli.progress import reporting
from clew.text import counted

if TYPE_CHECKING:
    from clew.indexing.import_memory import MemoryImportReport
    from clew.ports.copying import CopyReport


def reindex(common: Common) -> None:
    """Split, embed and extract again what was made with other settings or another model.

    The new is built beside the store, which goes on as it is until all is ready. Cut short, the
    same command goes on where it was.
    """
    opened = common.open(reads_here=True)
    with opened as engine, reporting(bars=not common.json) as progress:
        report = engine.maintenance.reindex(progress=progress)
    if common.json:
        write_json({"documents": report.changed})
    else:
        write_line(f"{counted(report.changed, 'document')} indexed again")


def backup(
    common: Common, file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")]
) -> None:
    """Write the store to a file, while others work on it, and check that file."""
    with common.open() as engine, reporting(bars=not common.json) as progress:
        size = engine.maintenance.backup(file, progress=progress)
    if common.json:
        write_json({"path": file, "bytes": size})
    else:
        write_line(f"{size:,} bytes written and checked")


def restore(
    common: Common,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file from `clew backup`.")],
    confirmed: Annotated[
        bool, typer.Option("--yes", help="Replace what is stored without asking.")
    ] = False,
) -> None:
    """Put a backup in place of all that the store holds."""
    with common.open(make=True) as engine:
        held = engine.maintenance.stats()["documents"]
        if held and not confirmed and file.is_file():  # else restoring says what is missing
            _confirm(held)
        engine.maintenance.restore(file)
        documents = engine.maintenance.stats()["documents"]
    if common.json:
        write_json({"path": file, "documents": documents})
    else:
        write_line(f"{counted(documents, 'document')} restored")


def _confirm(held: int) -> None:
    """Ask before documents are replaced; where nobody can be asked, refuse."""
    if not sys.stdin.isatty():
        replaced = counted(held, "document")
        note(f"Error: {replaced} would be replaced; add --yes to replace what is stored")
        raise typer.Exit(FAILED)
    if not typer.confirm(f"Replace {counted(held, 'document')}?", err=True):
        raise typer.Exit(INCOMPLETE)


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
        _print_copy(report)


def _print_copy(report: CopyReport) -> None:
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
        _print_import(report)
    if report.skipped:
        raise typer.Exit(INCOMPLETE)


def _print_import(report: MemoryImportReport) -> None:
    kinds = {"entities": "entity", "observations": "observation", "relations": "relation"}
    new = ", ".join(counted(getattr(report, kind), one, kind) for kind, one in kinds.items())
    known = [
        counted(n, one, kind)
        for kind, one in kinds.items()
        if (n := getattr(report, f"known_{kind}"))
    ]
    write_line(f"{new} new, {len(report.skipped):,} skipped")
    if known:
        write_line(f"{', '.join(known)} there before")
    for joined in report.joined:
        write_line(f"joined: {joined}")
    if report.skipped:
        from clew.cli.tables import table

        rows = [(item.source, item.reason) for item in report.skipped]
        stdout_console().print(table(("skipped", "reason"), rows))
