"""Text that cannot steer a terminal, and a stream that writes no other."""

from __future__ import annotations

import io
from typing import TextIO

from clew.text import STEERING


def printable(text: str) -> str:
    r"""The text with what steers a terminal as `\x1b` and the like; line ends become line feeds."""
    return STEERING.sub(
        lambda found: found.group().encode("unicode-escape").decode("ascii"),
        text.replace("\r\n", "\n"),
    )


class SafeStream(io.TextIOBase):
    """A text stream that writes only what is printable, to another one.

    It has no `buffer`: bytes would go past it.
    """

    def __init__(self, stream: TextIO) -> None:
        self.inner = stream
        """For escape sequences of our own; `clew.cli.styled` alone writes to it."""

    def write(self, text: str) -> int:
        """Write the text as `printable` shows it."""
        self.inner.write(printable(text))
        return len(text)

    def flush(self) -> None:
        """Pass on what is held back."""
        self.inner.flush()

    def isatty(self) -> bool:
        """Whether a terminal shows it."""
        return self.inner.isatty()

    def fileno(self) -> int:
        """The descriptor behind it."""
        return self.inner.fileno()

    def writable(self) -> bool:
        """It is."""
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """What the characters become."""
        return self.inner.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """What becomes of a character that the encoding lacks."""
        return self.inner.errors
