"""Styled text for a terminal: the colours are Clew's, the characters are made printable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
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
        """Leave it to `clew.cli.errors`, as for commands that print without rich."""
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
