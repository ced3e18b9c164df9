"""What standard output gets: JSON, or text that is safe to print."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

UNFOLDED = 100_000
"""Columns of a line that nobody looks at on a terminal: so many that tables are never folded."""

# All controls but tab and line feed: a text must not steer the terminal that shows it.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    r"""The text with control characters as `\x1b` and the like; line ends become line feeds."""
    unix = text.replace("\r\n", "\n")
    return _CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", unix)


def write_json(value: object) -> None:
    """Print a value as `to_json` writes it."""
    sys.stdout.write(f"{to_json(value)}\n")


def to_json(value: object) -> str:
    """A value as JSON; dataclasses become objects and times ISO 8601."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=_jsonable)


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

    Owner and mode stay, too: whoever could read the file still can.
    """
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


def stdout_console() -> Console:
    """A console for standard output: colours on a terminal only, no folding of lines elsewhere."""
    from rich.console import Console

    class PipedConsole(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to `clew.cli.errors`, as for commands that print without rich."""
            raise BrokenPipeError

    terminal = sys.stdout.isatty()
    return PipedConsole(
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=not terminal,
        width=None if terminal else UNFOLDED,
    )


def shown_source(source: str) -> str:
    """A source as a reader knows it: a path below the working directory is shown relative to it."""
    path = Path(source)
    here = Path.cwd()
    if path.is_absolute() and path.is_relative_to(here):
        return printable(str(path.relative_to(here)))
    return printable(source)
