"""Tables and fact sheets of what a store holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from clew.cli.safe_stream import printable


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
    return printable(str(value))


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
