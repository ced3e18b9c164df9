"""Tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def table_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows as a Markdown table, the first one as its header."""
    for number, row in enumerate(rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
        if number == 0:
            yield "|" + " --- |" * len(row)
