"""Documents made anew, kept beside the store until all of them can take their places at once.

The folder `.reindex` holds a file for one way of making documents (the target): of each document,
all that saving it takes, and when its former self was written, which tells whether it has changed
since. It is written document by document, so that whoever comes after a crash goes on.

One process at a time builds: it holds a lock on a file beside the folder, which the system takes
back when the process ends, however it ends.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import StoreError
from clew.stores.sqlite_connection import Database
from clew.stores.sqlite_documents import id_list
from clew.types import Document, Extraction, IndexedDocument, Split

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT = 1
"""Grows whenever what is staged means something else."""
_FOLDER = ".reindex"
_LOCK = ".reindex.lock"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS staged (
    id TEXT PRIMARY KEY,
    written_at TEXT NOT NULL,
    parts TEXT NOT NULL,
    vectors BLOB NOT NULL
)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """How documents are to be made."""

    recipe: str
    embedder: str
    dimension: int

    @property
    def file_name(self) -> str:
        """The same for the same target, in every process."""
        said = json.dumps([FORMAT, self.recipe, self.embedder, self.dimension])
        return f"{hashlib.sha256(said.encode()).hexdigest()[:16]}.db"


@dataclass(frozen=True, slots=True)
class _Parts:
    document: Document
    split: Split
    extraction: Extraction


class Staging:
    """The documents that are ready; made by `open_staging`."""

    def __init__(self, folder: Path, database: Database, target: Target) -> None:
        self.folder = folder
        """For what else is built there; removed with it."""
        self.target = target
        self._database = database

    def put(self, entry: IndexedDocument, written_at: str) -> None:
        """Keep a document, made from the one that was written at that moment."""
        parts = _Parts(entry.document, entry.split, entry.extraction)
        vectors = np.ascontiguousarray(entry.vectors, dtype="<f4").tobytes()
        row = (entry.document.id, written_at, _adapter().dump_json(parts).decode(), vectors)
        with self._database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO staged VALUES (?, ?, ?, ?)", row)

    def get(self, document_id: str) -> IndexedDocument:
        """A document that is ready, but for its links."""
        with self._database.read() as connection:
            sql = "SELECT parts, vectors FROM staged WHERE id = ?"
            parts, vectors = connection.execute(sql, (document_id,)).fetchone()
        made = _adapter().validate_json(parts)
        return IndexedDocument(
            document=made.document,
            split=made.split,
            vectors=np.frombuffer(vectors, dtype="<f4").reshape(-1, self.target.dimension),
            extraction=made.extraction,
            recipe=self.target.recipe,
        )

    def missing(self, wanted: Mapping[str, str]) -> list[str]:
        """Those of the documents (when each was written, by id) that are not ready, in order."""
        sql = "SELECT id, written_at FROM staged WHERE id IN (SELECT value FROM json_each(?))"
        with self._database.read() as connection:
            ready = dict(connection.execute(sql, (id_list(wanted),)))
        return [id_ for id_, written_at in wanted.items() if ready.get(id_) != written_at]

    def remove(self) -> None:
        """Forget everything; nothing can be read or written afterwards."""
        self._database.close()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def open_staging(
    store_folder: Path, target: Target, busy_seconds: float, wait: Callable[[], None]
) -> Iterator[Staging]:
    """What is ready for a target; what was made for another one is removed.

    `wait` is called again and again while another process (or thread) builds. Raises `StoreError`
    where the folder cannot be written.
    """
    folder = store_folder / _FOLDER
    with _alone(store_folder / _LOCK, wait):
        try:
            folder.mkdir(exist_ok=True)
            _remove_others(folder, target)
        except OSError as error:
            raise StoreError(
                f"cannot build in {str(folder)!r} ({error.strerror or error}); check the folder's"
                " rights and the space on its disk"
            ) from error
        database = Database(folder / target.file_name, busy_seconds, lambda connection: None)
        try:
            with database.write() as connection:
                connection.execute(_SCHEMA)
            yield Staging(folder, database, target)
        finally:
            database.close()


@contextmanager
def _alone(lock: Path, wait: Callable[[], None]) -> Iterator[None]:
    """Hold a lock that lasts no longer than the process; the file is empty, and stays."""
    try:
        connection = sqlite3.connect(lock, timeout=0, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise _cannot_lock(lock, error) from error
    with closing(connection):
        while not _locked(connection, lock):
            wait()
        yield


def _locked(connection: sqlite3.Connection, lock: Path) -> bool:
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise _cannot_lock(lock, error) from error
        return False
    return True


def _cannot_lock(lock: Path, error: sqlite3.OperationalError) -> StoreError:
    return StoreError(
        f"cannot lock {str(lock)!r} ({error}); check the rights of the store's folder"
    )


def _remove_others(folder: Path, target: Target) -> None:
    for path in folder.iterdir():
        if path.is_dir():  # a copy that was not finished
            shutil.rmtree(path)
        elif not path.name.startswith(target.file_name):
            path.unlink()


@cache
def _adapter() -> TypeAdapter[_Parts]:
    """Reads and writes a document's parts as JSON; made when it is first needed."""
    from pydantic import TypeAdapter

    return TypeAdapter(_Parts)
