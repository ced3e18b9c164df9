"""The one place where SQLite's errors become Clew's."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from clew.errors import StoreBusyError, StoreCorruptError, StoreError

BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_LEAST_FREE = 1 << 16
"""Bytes; with less, not even a store that is only read can be opened."""
_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and repeat the command",
    sqlite3.SQLITE_READONLY: "it cannot be written to; check the rights of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check that its folder exists and can be written",
    sqlite3.SQLITE_IOERR: "the disk reports an error; check the disk, then run `clew check`",
}


def damaged(error: Exception, path: Path) -> StoreCorruptError:
    """The error of a file that cannot be read."""
    return StoreCorruptError(
        f"the store {str(path)!r} is damaged ({error}); `clew check` says what is"
        " affected: restore the file from a backup, or delete it and index again"
    )


def translated(
    error: sqlite3.Error, file: Path, busy_seconds: float, *, read_only: bool
) -> StoreError:
    """The error of Clew for one of SQLite's."""
    path, code = str(file), primary_code(error)
    if code in BUSY:
        return StoreBusyError(
            f"the store {path!r} was locked by another process for longer than"
            f" {busy_seconds:g} s; wait until that process has finished, or raise the"
            " setting busy_seconds"
        )
    if code in _DAMAGED or is_undecodable(error):
        return damaged(error, file)
    if read_only and code == sqlite3.SQLITE_CANTOPEN:
        return StoreError(
            f"the store {path!r} can only be read here, and its last changes are still in"
            f" {path + '-wal'!r}: open it once where it can be written, or copy it with"
            " `clew backup` there"
        )
    if code == sqlite3.SQLITE_IOERR and shutil.disk_usage(file.parent).free < _LEAST_FREE:
        code = sqlite3.SQLITE_FULL  # SQLite says so of its files, but not of memory that it shares
    advice = _ADVICE.get(code, "run `clew check` to see whether the store is sound")
    return StoreError(f"the store {path!r} failed ({error}): {advice}")


def is_undecodable(error: sqlite3.Error) -> bool:
    """Whether a text is no UTF-8: Python's own error, which has no code."""
    return "decode to UTF-8" in str(error)


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's result code without its extension; 0 where Python itself raised the error."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
