"""Progress of long work, on standard error: bars on a terminal, a rare line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

Report: TypeAlias = Callable[[str, int, int | None], None]
"""Called with a step's name, how much of it is done, and how much there is (None: unknown)."""

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def reporting(*, bars: bool) -> Iterator[Report]:
    """A function that shows progress while the context lasts.

    Args:
        bars: Draw bars with rate and remaining time where standard error is a terminal; without,
            or elsewhere, a line every five seconds, so that logs stay short.
    """
    if not (bars and sys.stderr.isatty()):
        yield _lines()
        return
    with _progress() as progress:
        yield _bars(progress)


@contextmanager
def steps(*, shown: bool) -> Iterator[Report]:
    """A function that shows the step at hand while the context lasts, on a terminal alone.

    For work that is mostly done already: nothing is drawn before the first step.
    """
    if not (shown and sys.stderr.isatty()):
        yield lambda step, done, total: None
        return
    from rich.console import Console

    status = Console(stderr=True).status("")

    def report(step: str, done: int, total: int | None) -> None:
        status.update(f"{step} …")
        status.start()

    try:
        yield report
    finally:
        status.stop()


def _lines() -> Report:
    last = time.monotonic()

    def report(step: str, done: int, total: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < SECONDS_BETWEEN_LINES:
            return
        last = now
        of = "" if total is None else f" of {total}"
        sys.stderr.write(f"{step}: {done}{of}\n")
        sys.stderr.flush()

    return report


def _bars(progress: Progress) -> Report:
    tasks: dict[str, TaskID] = {}

    def report(step: str, done: int, total: int | None) -> None:
        if step not in tasks:
            tasks[step] = progress.add_task(step, total=total)
        progress.update(tasks[step], completed=done, total=total)

    return report


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _rate_column(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _rate_column() -> ProgressColumn:
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Units a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.1f}/s", style="progress.data.speed")

    return RateColumn()
