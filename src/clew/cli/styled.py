"""Styled text and tables for a terminal: the colours are Clew's, the characters printable."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from clew.cli.safe_stream import SafeStream, printable

UNFOLDED = 100_000
"""Columns of a line that nobody looks at on a terminal: so many that tables are never folded."""


class SafeConsole(Console):
    """A console that writes escape sequences of its own alone, and reads no markup in a text."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Segments of text are made printable; those that are control codes are rich's own."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(printable(text), style)

    def on_broken_pipe(self) -> None:
        """Leave it to `clew.cli.common`, as for commands that print without rich."""
        raise BrokenPipeError


def console(stream: TextIO) -> SafeConsole:
    """A console on a stream: colours on a terminal only, no folding of lines elsewhere."""
    terminal = stream.isatty()
    return SafeConsole(
        file=stream.inner if isinstance(stream, SafeStream) else stream,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=not terminal,
        width=None if terminal else UNFOLDED,
    )


class StyledPage:
    """A page with colours; on a terminal lines are folded behind their prefix."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @property
    def ascii_only(self) -> bool:
        """See `clew.cli.output.Page`."""
        return self._console.options.ascii_only

    def print(self, text: Sequence[tuple[str, str]], behind: str = "") -> None:
        """See `clew.cli.output.Page`."""
        console, styled = self._console, Text.assemble(*text)
        if not behind:
            console.print(styled)
            return
        width = console.width - len(behind)
        for line in styled.split() if console.soft_wrap else styled.wrap(console, width):
            line.rstrip()
            console.print(Text.assemble((behind, "dim"), line), soft_wrap=True)


# Tables and fact sheets of what a store holds.


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table whose numbers stand to the right; cells are plain text."""
    lines = [tuple(row) for row in rows]
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, name in enumerate(columns):
        numeric = bool(lines) and all(isinstance(row[number], (int, float)) for row in lines)
        drawn.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in lines:
        drawn.add_row(*(Text(shown(cell)) for cell in row))
    return drawn


def facts(values: Mapping[str, Any]) -> Table:
    """Names and values in two columns; nested names are joined with dots."""
    drawn = Table.grid(padding=(0, 2))
    drawn.add_column(style="bold", no_wrap=True)
    drawn.add_column(overflow="fold")
    for name, value in _flat(values):
        drawn.add_row(printable(name), Text(shown(value)))
    return drawn


def shown(value: object) -> str:
    """A value for a reader: times in UTC to the second, large numbers with separators.

    Text is printable from the start, since a table measures it.
    """
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}"
    if isinstance(value, (list, tuple)):
        return ", ".join(shown(item) for item in value)
    if isinstance(value, Mapping):
        return printable(json.dumps(value, ensure_ascii=False))
    return printable(str(value))


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
