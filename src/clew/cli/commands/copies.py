"""`clew reindex`, `clew backup` and `clew restore`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from clew.cli.common import Common
from clew.cli.errors import FAILED, INCOMPLETE, note
from clew.cli.output import write_json, write_line
from clew.cli.progress import reporting


def reindex(common: Common) -> None:
    """Split, embed and extract again what was made with other settings or another model.

    The new is built beside the store, which goes on as it is until all is ready. Cut short, the
    same command goes on where it was.
    """
    with common.open() as engine, reporting(bars=not common.json) as progress:
        report = engine.maintenance.reindex(progress=progress)
    if common.json:
        write_json({"documents": report.changed})
    else:
        write_line(f"{report.changed:,} documents indexed again")


def backup(
    common: Common, file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")]
) -> None:
    """Write the store to a file, while others work on it, and check that file."""
    with common.open() as engine:
        size = engine.maintenance.backup(file)
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
        if held and not confirmed:
            _confirm(held)
        engine.maintenance.restore(file)
        documents = engine.maintenance.stats()["documents"]
    if common.json:
        write_json({"path": file, "documents": documents})
    else:
        write_line(f"{documents:,} documents restored")


def _confirm(held: int) -> None:
    """Ask before documents are replaced; where nobody can be asked, refuse."""
    if not sys.stdin.isatty():
        note(f"Error: {held:,} documents would be replaced; add --yes to replace them")
        raise typer.Exit(FAILED)
    if not typer.confirm(f"Replace the {held:,} documents that are stored?", err=True):
        raise typer.Exit(INCOMPLETE)
