"""Connections to a SQLite file, and transactions.

A transaction that is committed lasts through loss of power (`synchronous = FULL`: a sync each), or
where the caller says so from the next durable one on. The file is sound either way.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from clew.errors import StoreBusyError, StoreCorruptError, StoreError, StoreMismatchError
from clew.request_end import go_on
from clew.stores.backend import half_character

T = TypeVar("T")

# SQLite waits this long by itself; we repeat until the bound, so that Ctrl-C is heard meanwhile.
_WAIT_SECONDS = 0.1
_SETTINGS = ("PRAGMA foreign_keys = ON", "PRAGMA cache_size = -32768")
_FOR_WRITING = (
    "PRAGMA journal_mode = WAL",
    # On a Mac a sync alone leaves the data in the drive's own cache.
    "PRAGMA fullfsync = ON",
    # What is deleted is overwritten: it shall be neither in the file nor in a copy of it.
    "PRAGMA secure_delete = ON",
    # Fewer checkpoints than by default: indexing touches the same pages repeatedly.
    "PRAGMA wal_autocheckpoint = 4000",
)


class Database:
    """One SQLite file, shared by threads (a connection each) and by processes.

    Reads and writes are transactions: `with database.read() as connection` sees one state of
    the store throughout; `with database.write() as connection` writes all or nothing.

    A file that this process may not write to is opened read-only: nothing is put beside it.
    """

    def __init__(
        self,
        path: Path,
        busy_seconds: float,
        prepare: Callable[[sqlite3.Connection], None] = lambda connection: None,
    ) -> None:
        """`prepare` is called on each new connection, such as to attach another file."""
        self.path = path
        self.busy_seconds = busy_seconds
        self.read_only = path.is_file() and not all(
            os.access(place, os.W_OK) for place in (path, path.parent)
        )
        self._prepare = prepare
        self._connections: dict[threading.Thread, sqlite3.Connection] = {}
        self._batching: set[sqlite3.Connection] = set()
        self._at_work: Counter[threading.Thread] = Counter()
        # Threads whose commits are not synced, and whether there was any.
        self._grouping: dict[threading.Thread, bool] = {}
        self._beside = ExitStack()
        self._changed = threading.Condition()
        self._closed = False
        self._file: tuple[int, int] | None = None
        self.schema: int | None = None
        """The version that every transaction expects to find; None while it is being made."""

    def is_replaced(self) -> bool:
        """Whether the file that was opened is no longer the one at its path."""
        return self._file is not None and _identity(self.path) != self._file

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A transaction that sees one state of the store; inside another, that one's."""
        go_on()
        with self._translated(), self._connection() as connection:
            if connection.in_transaction:
                yield connection
                return
            # The first statement, not BEGIN, takes the lock and may find the store busy.
            self._patiently(connection, "BEGIN", "SELECT 1 FROM sqlite_master LIMIT 1")
            with _finished(connection):
                self._check_file(connection)
                yield connection

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction that alone may write; all of it lasts or, after any exception, nothing.

        One that is not `durable` may be lost with the power, as long as none follows that is.
        """
        with self._translated(), self._connection() as connection:
            if connection in self._batching:
                with _savepoint(connection):
                    yield connection
                return
            self._begin_writing(connection, durable)
            with self._kept(connection):
                yield connection

    def rows(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """The rows of one question, in a transaction of its own or the one under way."""
        with self.read() as connection:
            return connection.execute(sql, values).fetchall()

    def change(
        self, sql: str, values: Sequence[Any] | Mapping[str, Any] = (), *, durable: bool = True
    ) -> int:
        """Make one change, in a transaction of its own; how many rows it changed."""
        with self.write(durable=durable) as connection:
            return connection.execute(sql, values).rowcount

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Give this thread's writes inside one commit; each still lasts whole or not at all.

        What was written before an exception lasts. Other writers wait until the end.
        """
        with self._translated(), self._connection() as connection:
            self._begin_writing(connection)
            self._batching.add(connection)
            try:
                yield
            finally:
                self._batching.discard(connection)
                if connection.in_transaction:  # SQLite itself rolls back when the disk is full
                    with self._kept(connection):
                        pass

    @contextmanager
    def grouping(self) -> Iterator[None]:
        """Sync this thread's commits inside not one by one but together, at the end."""
        thread = threading.current_thread()
        inner = thread in self._grouping
        self._grouping.setdefault(thread, False)
        try:
            yield
        finally:
            written = not inner and self._grouping.pop(thread)
        if written:
            # A durable commit makes all before it durable; one that changes nothing would not.
            with self.write() as connection:
                connection.execute(
                    "INSERT INTO meta VALUES ('synced', 1)"
                    " ON CONFLICT (name) DO UPDATE SET value = value + 1"
                )

    def _begin_writing(self, connection: sqlite3.Connection, durable: bool = True) -> None:
        self.require_writable()
        if connection.in_transaction:
            raise StoreError(
                f"cannot begin to write to the store {str(self.path)!r} while this thread reads"
                " one state of it or writes a batch; leave `reading()` or `batch()` first"
            )
        if (thread := threading.current_thread()) in self._grouping:
            durable, self._grouping[thread] = False, True
        level = "FULL" if durable else "NORMAL"
        self._patiently(connection, f"PRAGMA synchronous = {level}", "BEGIN IMMEDIATE")

    @contextmanager
    def _kept(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Commit to the file that is at the path, and to no other; or roll back."""
        with _finished(connection):
            self._check_file(connection)
            yield
        if self.is_replaced():  # nobody will read what was written
            raise _replaced(self.path)

    def _check_file(self, connection: sqlite3.Connection) -> None:
        """Raise where the file is another one by now, or was written by another version of Clew."""
        if self.is_replaced():
            raise _replaced(self.path)
        if self.schema is not None:
            found = read_meta(connection, "schema_version", int, 0)
            if found != self.schema:
                raise StoreMismatchError(
                    f"the store {str(self.path)!r} has schema version {found} by now, and this"
                    f" process works with {self.schema}: another version of Clew changed it; end"
                    " this process and start it with that version"
                )

    def require_writable(self) -> None:
        """Raise `StoreError` where the file can only be read."""
        if self.read_only:
            raise StoreError(
                f"the store {str(self.path)!r} can be read here, but not written to; give this user"
                " the right to write to the file and its folder, or work on a copy (`clew copy`)"
            )

    def vacuum(self) -> None:
        """Write the file anew, without any trace of what was deleted; others wait."""
        self.require_writable()
        with self.write() as connection:
            connection.execute("INSERT INTO keywords (keywords) VALUES ('optimize')")
        with self._translated(), self._connection() as connection:
            for step in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                self._patiently(connection, step)

    def copy_for_this_process(self) -> Database:
        """A copy that can be written to and goes when this database is closed."""
        folder = self._beside.enter_context(tempfile.TemporaryDirectory(prefix="clew-"))
        path = Path(folder) / self.path.name
        with self.read() as connection, closing(sqlite3.connect(path)) as written:
            connection.backup(written)
        copy = Database(path, self.busy_seconds, self._prepare)
        self._beside.callback(copy.close)
        return copy

    def close(self) -> None:
        """Close every thread's connection, after what each is at; may be called twice.

        A connection that is used while it is closed takes the process with it. A thread that is at
        work for longer than `busy_seconds` closes its own when it is done.
        """
        self._beside.close()
        here = threading.current_thread()
        with self._changed:
            self._closed = True
            self._changed.wait_for(
                lambda: not any(thread is not here for thread in self._at_work), self.busy_seconds
            )
            for thread in [t for t in self._connections if t is here or t not in self._at_work]:
                self._connections.pop(thread).close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection, which nobody closes meanwhile."""
        thread = threading.current_thread()
        with self._changed:
            if self._closed and thread not in self._at_work:
                raise StoreError(f"the store {str(self.path)!r} is closed; open it again")
            self._at_work[thread] += 1
        try:
            yield self._connections.get(thread) or self._connect(thread)
        finally:
            with self._changed:
                self._at_work[thread] -= 1
                if not self._at_work[thread]:
                    del self._at_work[thread]
                    if self._closed and thread in self._connections:
                        self._connections.pop(thread).close()
                    self._changed.notify_all()

    def _connect(self, thread: threading.Thread) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._read_only_address() if self.read_only else self.path,
            timeout=min(_WAIT_SECONDS, self.busy_seconds),
            isolation_level=None,  # transactions begin and end where we say so
            check_same_thread=False,  # `close` may come from another thread
            uri=self.read_only,
        )
        try:
            self._patiently(connection, *_SETTINGS, *(() if self.read_only else _FOR_WRITING))
            connection.create_function("crc32", 1, checksum, deterministic=True)
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        with self._changed:
            self._file = self._file or _identity(self.path)
            for other in [t for t in self._connections if not t.is_alive()]:
                self._connections.pop(other).close()
            self._connections[thread] = connection
        return connection

    def _read_only_address(self) -> str:
        """What SQLite opens without locks or files of its own, unless a writer left a log."""
        log = self.path.with_name(f"{self.path.name}-wal")
        unchanging = "" if log.is_file() and log.stat().st_size else "&immutable=1"
        return f"{self.path.resolve().as_uri()}?mode=ro{unchanging}"

    def _patiently(self, connection: sqlite3.Connection, *statements: str) -> None:
        """Run statements, all again while the store is busy, until the bound has passed."""
        deadline = time.monotonic() + self.busy_seconds
        while True:
            try:
                for statement in statements:
                    connection.execute(statement)
                return
            except sqlite3.OperationalError as error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if primary_code(error) not in BUSY or time.monotonic() >= deadline:
                    raise
                time.sleep(0.002)  # some kinds of busy do not wait by themselves

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise translated(
                error, self.path, self.busy_seconds, read_only=self.read_only
            ) from error
        except UnicodeEncodeError as error:
            raise half_character(error) from error
        except UnicodeDecodeError as error:
            raise damaged(error, self.path) from error


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _replaced(path: Path) -> StoreError:
    return StoreError(
        f"the store {str(path)!r} was replaced or removed since it was opened here, and nothing was"
        " written to what is there now: open it again (a server does so by itself), then repeat"
    )


def checksum(value: object) -> int | None:
    """What SQL calls `crc32(blob)`; NULL for anything but a blob."""
    return zlib.crc32(value) if isinstance(value, bytes) else None


def read_meta(
    connection: sqlite3.Connection, name: str, convert: Callable[[Any], T], default: object
) -> T:
    """A value of `meta`, or the default. Raises `StoreCorruptError` where it cannot be read."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    value = row[0] if row else default
    try:
        return convert(value)
    except (TypeError, ValueError) as error:
        raise StoreCorruptError(
            f"the store is damaged: its {name} is {value!r}, which cannot be read; restore it from"
            " a backup, or delete it and index again"
        ) from error


@contextmanager
def _finished(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit, or roll back after any exception, Ctrl-C among them."""
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """A part of a transaction that is undone by itself after an exception."""
    connection.execute("SAVEPOINT part")
    try:
        yield
        connection.execute("RELEASE part")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO part")
            connection.execute("RELEASE part")
        raise


# The one place where SQLite's errors become Clew's.


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
