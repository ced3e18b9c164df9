"""The one way out: plain text through `SafeStream`, styled text through `clew.cli.styled`.

Whatever a string comes from (a document, a file name, an error, another library), on its way to
standard output or standard error what would steer a terminal is replaced by its code.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeAlias

from clew.cli.safe_stream import SafeStream, printable
from clew.text import json_text

if TYPE_CHECKING:
    from rich.console import Console


Pieces: TypeAlias = list[tuple[str, str]]
"""Parts of a text, each with its style in the words of rich; empty for none."""


class Page(Protocol):
    """Where lines of styled text are printed."""

    @property
    def ascii_only(self) -> bool:
        """Whether other characters cannot be printed."""
        ...

    def print(self, text: Pieces, behind: str = "") -> None:
        """Print a text, every line of it behind a prefix; a terminal folds its lines."""
        ...


@contextmanager
def safe_output() -> Iterator[None]:
    """Have all that is printed meanwhile, by whatever code, pass through a `SafeStream`."""
    before = sys.stdout, sys.stderr
    for stream in before:
        # A file name or a text may hold what the terminal's encoding cannot say.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # A process may have been started without them.
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
    open_ones = [stream or open(os.devnull, "w", encoding="utf-8") for stream in before]  # noqa: SIM115
    sys.stdout, sys.stderr = map(SafeStream, open_ones)
    try:
        yield
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        raise SystemExit(1) from error
    finally:
        sys.stdout, sys.stderr = before


@contextmanager
def bare_standard_output() -> Iterator[None]:
    """Standard output with its bytes, for a protocol that a program reads."""
    before = sys.stdout
    sys.stdout = before.inner if isinstance(before, SafeStream) else before
    try:
        yield
    finally:
        sys.stdout = before


def write_line(text: str) -> None:
    """Print a text and a line feed."""
    sys.stdout.write(f"{text}\n")


def write_piece(text: str) -> None:
    """Write a piece of a line to standard output, at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def write_json(value: object) -> None:
    """Print a value as `to_json` writes it."""
    sys.stdout.write(f"{to_json(value)}\n")


def to_json(value: object) -> str:
    """A value as JSON; dataclasses become objects and times ISO 8601."""
    return json_text(value, indent=2, default=_jsonable)


def _jsonable(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return str(value)


def write_whole(path: Path, pieces: Iterable[str]) -> None:
    """Write a file through a neighbour: what was there stays unless all could be written.

    Owner and mode stay, too: whoever could read the file still can. What a link leads to is
    written; a device or a pipe is not replaced, but written to, as standard output is.
    """
    # Not of the resolved path: what `/dev/stdout` leads to may be a pipe without a name.
    if path.exists() and not (path.is_file() or path.is_dir()):
        with path.open("w", encoding="utf-8") as file:
            SafeStream(file).writelines(pieces)
        return
    try:
        _replace(path.resolve(), pieces)
    except OSError as error:  # which speaks of the neighbour, that nobody has heard of
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_out(output: Path | None, pieces: Iterable[str]) -> None:
    """Write to a file, and say on standard error how much; to standard output where there is none.

    Nothing is said of a device or a pipe, which may be where this would be said.
    """
    if output is None:
        sys.stdout.writelines(pieces)
        return
    write_whole(output, pieces)
    if output.is_file():
        sys.stderr.write(f"{output.stat().st_size:,} bytes written to {output}\n")


def _replace(path: Path, pieces: Iterable[str]) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.writelines(pieces)
        if path.exists():
            shutil.copymode(path, temporary)
            if sys.platform != "win32":
                os.chown(temporary, path.stat().st_uid, path.stat().st_gid)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


class PlainPage:
    """A page that nobody looks at on a terminal: without styles, and without loading rich."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def ascii_only(self) -> bool:
        """See `Page`."""
        return not (self._stream.encoding or "").lower().startswith("utf")

    def print(self, text: Pieces, behind: str = "") -> None:
        """See `Page`."""
        said = "".join(piece for piece, _ in text).removesuffix("\n")
        self._stream.writelines(f"{behind}{line.rstrip()}\n" for line in said.split("\n"))


def stdout_page() -> Page:
    """Standard output: with colours on a terminal, or where `FORCE_COLOR` asks for them."""
    if not sys.stdout.isatty() and not os.environ.get("FORCE_COLOR"):
        return PlainPage(sys.stdout)
    from clew.cli.styled import StyledPage

    return StyledPage(stdout_console())


def stdout_console() -> Console:
    """A console for standard output: colours on a terminal only, no folding of lines elsewhere."""
    from clew.cli.styled import console

    return console(sys.stdout)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under the names of their columns; nothing where there are none."""
    from clew.cli.styled import table

    lines = [tuple(row) for row in rows]
    if lines:
        stdout_console().print(table(columns, lines))


def print_facts(values: Mapping[str, Any]) -> None:
    """Print names and values in two columns."""
    from clew.cli.styled import facts

    stdout_console().print(facts(values))


def print_below(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table, and a blank line before it; nothing where it has no rows."""
    if rows:
        write_line("")
        print_table(columns, rows)


def stderr_console() -> Console:
    """A console for standard error."""
    from clew.cli.styled import console

    return console(sys.stderr)


def shown_source(source: str) -> str:
    """A source as a reader knows it, on one line: relative where the working directory holds it."""
    path = Path(source)
    here = Path.cwd()
    if path.is_absolute() and path.is_relative_to(here):
        source = str(path.relative_to(here))
    return printable(source.replace("\n", r"\n"))
