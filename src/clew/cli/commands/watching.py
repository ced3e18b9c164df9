"""`clew watch`."""

from __future__ import annotations

from contextlib import suppress
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

    A file that vanishes for more than a moment is dropped from the store. Where a PATH itself
    vanishes (it is moved, or its disk is no longer mounted), nothing is, until it is back.
    """
    with common.open(make=True) as engine:
        first = True
        for only in _changes(paths, engine.settings.stores_folder):
            if only is not None and not only:
                continue
            with reporting(bars=not common.json and first) as progress:
                report = engine.index(
                    paths,
                    include=include or (),
                    exclude=exclude or (),
                    prune=True,
                    only=only,
                    progress=progress,
                )
            _report(common, report, first=first)
            first = False


def _changes(paths: list[str], store: Path) -> Iterator[set[Path] | None]:
    """Sets of the files that changed, a burst of changes as one, and empty ones while none do.

    None says to look at all files: at first, when a path came, went or was replaced, and where a
    name that changed is no Unicode. What is changed from then on follows. What changes in the
    store's own folder is left out.
    """
    try:
        import watchfiles
        from watchfiles._rust_notify import WatchfilesRustInternalError
    except ImportError as error:
        raise MissingExtraError("watching folders", "watch") from error
    roots = [Path(path).expanduser().absolute() for path in paths]
    for root in roots:
        if not root.exists():
            raise InputError(f"there is no {str(root)!r}; name files and folders that are there")
    own = store.resolve()
    while True:
        there = {root: _identity(root) for root in roots}
        found = watchfiles.watch(
            *(root for root, identity in there.items() if identity),
            watch_filter=lambda _, path: not Path(path).is_relative_to(own),
            rust_timeout=WAIT_MS,
            yield_on_timeout=True,
        )
        # A name that is no Unicode ends the watcher, and so does a path that has just gone.
        with suppress(FileNotFoundError, WatchfilesRustInternalError):
            next(found)
            yield None
            for changed in found:
                if {root: _identity(root) for root in roots} != there:
                    break
                yield {Path(path) for _, path in changed}


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file or folder from another at the same path; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _report(common: Common, report: IndexReport, *, first: bool) -> None:
    if common.json:
        write_json(report)
    elif first or report.added or report.changed or report.pruned or report.skipped:
        print_report(report)
    if first:
        note("Watching for changes; Ctrl-C ends it.")
