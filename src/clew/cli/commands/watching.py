"""`clew watch`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.commands.indexing import ExcludeOption, IncludeOption, print_report
from clew.cli.common import Common
from clew.cli.errors import note
from clew.cli.output import write_json
from clew.cli.progress import reporting
from clew.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.types import IndexReport

WAIT_MS = 500
"""Milliseconds between two looks at whether Ctrl-C was pressed."""


def watch(
    common: Common,
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Files and folders that are there.")
    ],
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
) -> None:
    """Index files and folders, then whatever changes in them, until Ctrl-C.

    A file that vanishes is dropped from the store.
    """
    with common.open(make=True) as engine:
        changes = _changes(paths, engine.settings.stores_folder)
        # Watched from here on: what changes during the first run is read by the next.
        next(changes)
        only: set[Path] | None = None
        while True:
            with reporting(bars=not common.json and only is None) as progress:
                report = engine.index(
                    paths,
                    include=include or (),
                    exclude=exclude or (),
                    prune=True,
                    only=only,
                    progress=progress,
                )
            _report(common, report, first=only is None)
            only = next(changed for changed in changes if changed)


def _changes(paths: list[str], store: Path) -> Iterator[set[Path]]:
    """Sets of the files that changed, a burst of changes as one, and empty ones while none do.

    What changes in the store's own folder is left out.
    """
    try:
        import watchfiles
    except ImportError as error:
        raise MissingExtraError("watching folders", "watch") from error
    roots = [Path(path).expanduser().resolve() for path in paths]
    for root in roots:
        if not root.exists():
            raise InputError(f"there is no {str(root)!r}; name files and folders that are there")
    own = store.resolve()
    found = watchfiles.watch(
        *roots,
        watch_filter=lambda _, path: not Path(path).is_relative_to(own),
        rust_timeout=WAIT_MS,
        yield_on_timeout=True,
    )
    return ({Path(path) for _, path in changed} for changed in found)


def _report(common: Common, report: IndexReport, *, first: bool) -> None:
    if common.json:
        write_json(report)
    elif first or report.added or report.changed or report.pruned or report.skipped:
        print_report(report)
    if first:
        note("Watching for changes; Ctrl-C ends it.")
