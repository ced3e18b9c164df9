"""One at a time, over threads and processes, by a lock on a file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from clew.derived_files import make_file, make_folder
from clew.errors import StoreBusyError, StoreError


class FileLock:
    """A lock that any thread and process may wait for; it is not taken twice by one thread.

    The file is an empty SQLite database: its locks work on every system, and the system itself
    lets go of what a process held that was killed. Not `filelock`: an older Clew that is at work
    would not see its locks, and what is said below of errors would have to be written all the same.
    """

    def __init__(self, path: Path, seconds: float, busy: str) -> None:
        """`busy` says what the lock is for and what to do where it is not had within `seconds`."""
        self._path = path
        self._seconds = seconds
        self._busy = busy

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else is inside meanwhile.

        Raises `StoreBusyError` where another keeps the lock for too long, and `StoreError` where
        the file cannot be made.
        """
        with self._locked():
            yield

    def _locked(self) -> closing[sqlite3.Connection]:
        try:
            make_folder(self._path.parent)
            make_file(self._path)
            connection = sqlite3.connect(
                self._path, timeout=self._seconds, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            connection.close()
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise StoreBusyError(self._busy) from error
            raise self._unusable(error) from error
        return closing(connection)

    def _unusable(self, error: Exception) -> StoreError:
        return StoreError(
            f"cannot lock {str(self._path)!r} ({error}); check the folder's rights and the space on"
            " its disk"
        )
