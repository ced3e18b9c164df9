"""Progress of long work, on standard error: bars on a terminal, a rare line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from clew.cli.errors import note
from clew.cli.output import stderr_console

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
