"""Files and folders for the user alone who made them, whatever the umask says.

What there is already keeps the mode that it was given.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def private(path: str, flags: int) -> int:
    """An `opener` for `open`: a file that it makes has the mode 0600."""
    return os.open(path, flags, 0o600)


def make_file(path: Path) -> None:
    """Make an empty file where there is none; SQLite gives its mode to what it puts beside it."""
    with suppress(FileExistsError), open(path, "xb", opener=private):
        pass


def make_folder(folder: Path) -> None:
    """Make a folder of mode 0700 where there is none, and those above it that are missing."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_folder(folder.parent)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:  # somebody else was faster, or it is a file
        if not folder.is_dir():
            raise


def is_private(path: Path) -> bool:
    """Whether nobody else may read or write a file or folder; on Windows modes do not tell."""
    return os.name == "nt" or not path.stat().st_mode & 0o077
