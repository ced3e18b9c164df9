"""What every command shares: its store, whether it prints JSON, how it ends, and its progress.

A plain search loads this, and nothing of typer.
"""

from __future__ import annotations

import logging
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from clew.cli.output import print_facts, print_table, stderr_console, write_json, write_line
from clew.errors import ClewError, NotFoundError

if TYPE_CHECKING:
    from clew import Clew
    from clew.settings import Settings

# How a command ends: exit statuses, and errors in one line.


INCOMPLETE = 1
"""Done, but something was left out or found to be wrong."""
FAILED = 2
"""Wrong use, or the command could not do its work."""
INTERRUPTED = 130
"""Ended by Ctrl-C, as shells report it: 128 and the signal's number."""
PIPE_CLOSED = 141
"""The reader of standard output went away, as shells report it."""

_log = logging.getLogger("clew.cli")


@contextmanager
def reported_errors() -> Iterator[None]:
    """Turn whatever goes wrong inside into one line on standard error and an exit status.

    Raises:
        SystemExit: with the status, in place of the error.
    """
    try:
        yield
        sys.stdout.flush()
    except ClewError as error:
        raise _failure(error.line) from error
    except KeyboardInterrupt as error:
        again = shlex.join(["clew", *sys.argv[1:]])
        note(f"Interrupted; the store is consistent. To go on: {again}")
        raise SystemExit(INTERRUPTED) from error
    except BrokenPipeError as error:
        # The interpreter flushes standard output once more at exit, and would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(PIPE_CLOSED) from error
    except OSError as error:
        place = f": {os.fspath(error.filename)!r}" if error.filename else ""
        raise _failure(f"{error.strerror or error}{place}") from error


def note(message: str) -> None:
    """Print one line on standard error."""
    sys.stderr.write(f"{' '.join(message.splitlines())}\n")


def _failure(message: str) -> SystemExit:
    _log.debug("the command failed", exc_info=True)
    note(f"Error: {message}")
    return SystemExit(FAILED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Common:
    """The values of the options that every command takes."""

    store: str | None = None
    namespace: str | None = None
    json: bool = False
    verbose: bool = False

    def first_of(self, namespaces: Sequence[str]) -> Common:
        """These options for the first of several namespaces; the default one need not exist."""
        return replace(self, namespace=namespaces[0]) if namespaces else self

    def open(
        self,
        *,
        make: bool = False,
        packs: Sequence[str] = (),
        light: bool = False,
        reads_here: bool = False,
    ) -> Clew:
        """The engine on the store that the options name, with packs enabled; a context manager.

        `light` is for what must start quickly (see `clew.settings.light`). With `reads_here`, tools
        read files of the working directory unless settings open another folder: a person, not a
        model, names the path. Raises `NotFoundError` where there is no store, unless one may be
        made.
        """
        import clew
        from clew.settings.light import light_settings

        load = light_settings if light else clew.load_settings
        settings = load(store=self.store, namespace=self.namespace)
        if not make:
            _check_exists(settings)
        if reads_here and not settings.access.roots:
            access = settings.access.model_copy(update={"roots": (Path.cwd(),)})
            settings = settings.model_copy(update={"access": access})
        return clew.open(settings=settings, packs=packs)

    def tell(self, value: object, line: str) -> None:
        """Print a value as JSON, or else a line that says the same."""
        if self.json:
            write_json(value)
        elif line:
            write_line(line)

    def table(
        self, value: object, columns: Sequence[str], rows: Iterable[Sequence[object]]
    ) -> None:
        """Print a value as JSON, or else the rows of a table."""
        if self.json:
            write_json(value)
        else:
            print_table(columns, rows)

    def facts(self, value: Mapping[str, Any]) -> None:
        """Print a value as JSON, or else its names and values in two columns."""
        if self.json:
            write_json(value)
        else:
            print_facts(value)

    def over(self, before: Common) -> Common:
        """These values, and for those not given the ones given before the command's name."""
        return Common(
            store=before.store if self.store is None else self.store,
            namespace=before.namespace if self.namespace is None else self.namespace,
            json=self.json or before.json,
            verbose=self.verbose or before.verbose,
        )


def _check_exists(settings: Settings) -> None:
    """Raise `NotFoundError` where there is no store; what is left of a damaged one is a store."""
    from clew.wiring import namespaces_of, store_exists

    folder = settings.folder
    if store_exists(settings) or (
        not settings.on_server and folder.is_dir() and any(folder.iterdir())
    ):
        return
    place: object = settings.store
    others = ""
    if not settings.on_server:
        place = folder
        found = namespaces_of(settings)
        others = f" (namespaces there: {', '.join(found[:10])})" if found else ""
    raise NotFoundError(
        f"there is no store {str(place)!r}{others}; make one with clew index PATH, or"
        " name the one that you mean with --store and --namespace"
    )


def silence_driver() -> None:
    """Have Neo4j's driver print nothing of its trying again; its errors come as ours."""
    logging.getLogger("neo4j").addHandler(logging.NullHandler())


# Progress of long work, on standard error: bars on a terminal, a rare line elsewhere.


Report: TypeAlias = Callable[[str, int, int | None], None]
"""Called with a step's name, how much of it is done, and how much there is (None: unknown)."""

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def reporting(*, bars: bool) -> Iterator[Report]:
    """A function that shows progress while the context lasts.

    Args:
        bars: Draw bars with rate and remaining time where standard error is a terminal; without,
            nothing there. Elsewhere a line every five seconds, so that logs stay short.
    """
    if not sys.stderr.isatty():
        yield _lines()
        return
    if not bars:
        yield lambda step, done, total: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Units a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.1f}/s", style="progress.data.speed")

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Progress(
        *columns,
        console=stderr_console(),
        transient=True,
        # What is printed meanwhile keeps its way out: rich would read escape sequences in it.
        redirect_stdout=False,
        redirect_stderr=False,
    ) as progress:

        def report(step: str, done: int, total: int | None) -> None:
            if step not in tasks:
                tasks[step] = progress.add_task(step, total=total)
            progress.update(tasks[step], completed=done, total=total)

        yield report


@contextmanager
def steps(*, shown: bool) -> Iterator[Report]:
    """A function that shows the step at hand while the context lasts, on a terminal alone.

    For work that is mostly done already: nothing is drawn before the first step.
    """
    if not (shown and sys.stderr.isatty()):
        yield lambda step, done, total: None
        return
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    # What is printed meanwhile keeps its way out: rich would read escape sequences in it.
    spinner = Spinner("dots", style="status.spinner")
    live = Live(
        spinner,
        console=stderr_console(),
        refresh_per_second=10,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )

    def report(step: str, done: int, total: int | None) -> None:
        spinner.update(text=Text(f"{step} …"))
        live.start()

    try:
        yield report
    finally:
        live.stop()


def _lines() -> Report:
    last = time.monotonic()
    shown: dict[str, str] = {}

    def report(step: str, done: int, total: int | None) -> None:
        nonlocal last
        shown[step] = f"{step}: {done:,}" + ("" if total is None else f" of {total:,}")
        now = time.monotonic()
        if now - last < SECONDS_BETWEEN_LINES:
            return
        last = now
        note(", ".join(shown.values()))
        shown.clear()

    return report
