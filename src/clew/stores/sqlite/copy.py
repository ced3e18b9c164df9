"""Opening the file of a store to copy it, or to copy into it."""

from __future__ import annotations

import os
import tempfile
from contextlib import closing
from pathlib import Path

from clew.errors import InputError, StoreError
from clew.private_files import make_folder
from clew.stores.copy import NOT_BEGUN
from clew.stores.sqlite.backend import SqliteBackend, folder_place
from clew.stores.sqlite.migrations import open_database
from clew.stores.statements.state import REMEMBER

COPY_PREFIX = ".clew-copy-"
"""Of folders in which a store is put together; those that were left are removed by `backup`."""


def open_for_copying(
    folder: Path, *, busy_seconds: float = 30.0, make: bool = False
) -> SqliteBackend:
    """Open `folder/clew.db`; with `make`, one is made where there is none.

    Raises `InputError` where there is none, else what `SqliteStore` raises.
    """
    if make:
        _make(folder, busy_seconds)
    elif not (folder / "clew.db").is_file():
        raise InputError(
            f"there is no store {folder_place(folder)}; give the one to copy with --from and"
            " --namespace"
        )
    return SqliteBackend(open_database(folder, busy_seconds, lambda connection: None))


def _make(folder: Path, busy_seconds: float) -> None:
    """Put a store where there is none, which from its first moment is an unfinished copy."""
    place = folder / "clew.db"
    if place.exists():
        return
    try:
        make_folder(folder)
        with tempfile.TemporaryDirectory(dir=folder, prefix=COPY_PREFIX) as beside:
            made = open_database(Path(beside), busy_seconds, lambda connection: None)
            with closing(made), made.write() as connection:
                connection.execute(REMEMBER.sql, {"name": "copying", "value": NOT_BEGUN})
            _put(Path(beside) / place.name, place)
    except OSError as error:
        raise StoreError(
            f"cannot make a store in {str(folder)!r} ({error.strerror}); give another place with"
            " --to"
        ) from error


def _put(made: Path, place: Path) -> None:
    try:
        os.link(made, place)
    except FileExistsError:  # another copy was faster
        pass
    except OSError:  # a disk without links
        os.replace(made, place)
