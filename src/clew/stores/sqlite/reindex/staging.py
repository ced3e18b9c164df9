"""Documents made again, kept beside the store until all of them can take their places at once.

The folder `.reindex` holds a file for one way of making documents (the target): of each document,
all that saving it takes, and when its former self was written, which tells whether it has changed
since. It is written document by document, so that whoever comes after a crash goes on.

One process at a time builds: it holds a lock on a file beside the folder.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import StoreBusyError, StoreError
from clew.private_files import make_file, make_folder
from clew.stores.file_lock import FileLock
from clew.stores.sqlite.connection import Database
from clew.stores.sqlite.tables import id_list
from clew.types import Document, Extraction, IndexedDocument, Split

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT = 1
"""Grows whenever what is staged means something else."""
_FOLDER = ".reindex"
_LOCK = ".reindex.lock"
_LOOK_SECONDS = 0.2
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

    pipeline_fingerprint: str
    embedder: str
    dimension: int

    @property
    def file_name(self) -> str:
        """The same for the same target, in every process."""
        said = json.dumps([FORMAT, self.pipeline_fingerprint, self.embedder, self.dimension])
        return f"{hashlib.sha256(said.encode()).hexdigest()[:16]}.db"


@dataclass(frozen=True, slots=True)
class _Parts:
    document: Document
    split: Split
    extraction: Extraction


class Staging:
    """The documents that are ready; made by `open_staging`."""

    def __init__(self, folder: Path, database: Database, target: Target) -> None:
        self.target = target
        self._folder = folder
        self._database = database

    def put(self, entry: IndexedDocument, written_at: str) -> None:
        """Keep a document, made from the one that was written at that moment."""
        parts = _Parts(entry.document, entry.split, entry.extraction)
        vectors = np.ascontiguousarray(entry.vectors, dtype="<f4").tobytes()
        row = (entry.document.id, written_at, _adapter().dump_json(parts).decode(), vectors)
        with self._database.write(durable=False) as connection:  # it can be made again
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
            pipeline_fingerprint=self.target.pipeline_fingerprint,
        )

    def missing(self, wanted: Mapping[str, str]) -> list[str]:
        """Those of the documents (when each was written, by id) that are not ready, in order."""
        sql = "SELECT id, written_at FROM staged WHERE id IN (SELECT value FROM json_each(?))"
        with self._database.read() as connection:
            ready = dict(connection.execute(sql, (id_list(wanted),)))
        return [id_ for id_, written_at in wanted.items() if ready.get(id_) != written_at]

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """An empty folder that is gone afterwards: on a full disk it must not be what fills it."""
        folder = self._folder / "copy"
        try:
            with _writing_to(self._folder):
                shutil.rmtree(folder, ignore_errors=True)
                make_folder(folder)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def remove(self) -> None:
        """Forget everything; nothing can be read or written afterwards."""
        self._database.close()
        shutil.rmtree(self._folder, ignore_errors=True)


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
        with _writing_to(folder):
            make_folder(folder)
            _remove_others(folder, target)
            make_file(folder / target.file_name)
        database = Database(folder / target.file_name, busy_seconds)
        try:
            with database.write() as connection:
                connection.execute(_SCHEMA)
            yield Staging(folder, database, target)
        finally:
            database.close()


@contextmanager
def _alone(path: Path, wait: Callable[[], None]) -> Iterator[None]:
    lock = FileLock(path, _LOOK_SECONDS, "another process reindexes this store; ask again later")
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(lock.held())
                break
            except StoreBusyError:
                wait()
        yield


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"cannot build in {str(folder)!r} ({error.strerror or error}); check the folder's"
            " rights and the space on its disk"
        ) from error


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
