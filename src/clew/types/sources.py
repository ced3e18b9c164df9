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

    Bytes of a name that are no UTF-8 are written as `\xNN`, and so are what would make it the
    source of a record, a `#` behind anything but a blank, and the backslash of a `\x` of its own:
    no two files have one source.
    """
    posix = os.fsencode(Path(os.path.realpath(path)).as_posix())
    name = posix.replace(b"\\x", b"\\x5cx").decode("utf-8", "backslashreplace")
    return re.sub(r"(?<=[^/\s])#", r"\\x23", name)


def source_path(source: str) -> Path:
    """The path of the file that has this source, byte for byte."""
    escaped = re.compile(rb"\\x([0-9a-f]{2})")
    name = escaped.sub(lambda found: bytes([int(found[1], 16)]), source.encode())
    return Path(os.fsdecode(name))


def record_source(container: str, key: object) -> str:
    """The source of a record of a file, or of what a caller has named."""
    # So that no file has it, nor a record of a container that ends in the dot itself.
    dot = "." if container.rstrip(".")[-1:].isspace() else ""
    return f"{container}{dot}#{key}"


def check_given(*sources: str) -> None:
    """Raise `InputError` for a source that a caller gave and that another kind of thing has."""
    for source in sources:
        if source.startswith((OBSERVATION, CARD)):
            raise InputError(
                f"source {source!r} cannot be: what begins with {OBSERVATION!r} or {CARD!r} is"
                " stated by hand (memory tools); give the text another source"
            )
