r"""How the source of a document is spelled, so that things of two kinds never have the same one.

A file has its path, a record its file's and a key (`/notes/n.jsonl#1`), what is stated by hand a
name that nobody else may give (`memory:`, `entity:`), a text any other name.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from clew.errors import InputError

OBSERVATION, CARD = "memory:", "entity:"
"""What the sources of what is stated by hand begin with."""


def file_source(path: Path) -> str:
    r"""The source of a file's document: its absolute path, links resolved, with forward slashes.

    Bytes of a name that are no UTF-8 are written as `\xNN`, and so is what would make it the source
    of a record: a `#` behind anything but a blank.
    """
    posix = Path(os.path.realpath(path)).as_posix()
    name = os.fsencode(posix).decode("utf-8", "backslashreplace")
    return re.sub(r"(?<=[^/\s])#", r"\\x23", name)


def record_source(container: str, key: object) -> str:
    """The source of a record of a file, or of what a caller has named."""
    dot = "." if container[-1:].isspace() else ""  # so that no file has it
    return f"{container}{dot}#{key}"


def check_given(*sources: str) -> None:
    """Raise `InputError` for a source that a caller gave and that another kind of thing has."""
    for source in sources:
        if source.startswith((OBSERVATION, CARD)):
            raise InputError(
                f"source {source!r} cannot be: what begins with {OBSERVATION!r} or {CARD!r} is"
                " stated by hand (memory tools); give the text another source"
            )
