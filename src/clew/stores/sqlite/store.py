"""The default store: one SQLite file, which is the whole truth of a namespace, and its search.

Words: BM25 in FTS5, over terms that Clew has analysed itself. The tokenizer is `ascii`: it splits
at the spaces between terms and leaves every letter beyond ASCII alone, so that terms of any script
come back as they were given.

Beside it: the journal of a store that is on a server, and opening a file to copy it, or to copy
into it.
"""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError, StoreError
from clew.private_files import make_folder
from clew.stores.copy import NOT_BEGUN
from clew.stores.documents.earlier import KEEP_VERSIONS
from clew.stores.sqlite.backend import SqliteBackend, damaged_embedding, folder_place
from clew.stores.sqlite.connection import Database
from clew.stores.sqlite.schema import open_database
from clew.stores.state import REMEMBER
from clew.stores.store import Store
from clew.types import CheckReport

if TYPE_CHECKING:
    from clew.ports.upkeep import Progress
    from clew.stores.keywords.derived import DerivedKeywords
    from clew.types import Ids, Scores, Vectors

_CHUNKS = 10_000
"""Chunks whose terms are read at once."""


class SqliteStore(Store):
    """`ports.Store` on `folder/clew.db`; threads may share one, processes may open their own.

    Raises `StoreMismatchError` for a store of another embedder or schema,
    `StoreCorruptError` for a damaged file, and `StoreBusyError` where another process keeps the
    store locked for longer than `busy_seconds`. Of `indexed_from` chunks or more, words are sought
    in an index beside it, where that is up to the store.
    """

    backend: SqliteBackend

    def __init__(
        self,
        folder: Path,
        *,
        busy_seconds: float = 30.0,
        embedder: tuple[str, int] | None = None,
        functional: Collection[str] | None = None,
        keep_versions: int = KEEP_VERSIONS,
        indexed_from: int | None = None,
    ) -> None:
        """Open the store in `folder`, made where it does not exist; the rest as in `Store`."""
        backend = SqliteBackend(open_database(folder, busy_seconds))
        super().__init__(
            backend, embedder=embedder, functional=functional, keep_versions=keep_versions
        )
        self.keyword_index: DerivedKeywords | None = None
        if indexed_from is not None:
            from clew.stores.keywords.derived import DerivedKeywords

            self.keyword_index = DerivedKeywords(self, folder, least=indexed_from)

    @property
    def database(self) -> Database:
        """The file, for what else is kept in it."""
        return self.backend.database

    def identity(self) -> str:
        """What tells this store from every other one, for good; its backups carry it."""
        with self.database.read() as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = 'store_id'").fetchone()
        return str(row[0])

    def check(self, repair: bool = False, progress: Progress | None = None) -> CheckReport:
        """See `ports.StoreUpkeep`."""
        from clew.stores.sqlite.check import SqliteCheck

        return SqliteCheck(self.backend, progress).run(repair=repair)

    # --- searching

    def search_keywords(
        self, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """See `ports.KeywordIndex`; by the index beside the store where that is up to it."""
        if self.keyword_index is not None:
            found = self.keyword_index.search(terms, limit, allowed)
            if found is not None:
                return found
        return self._search_table(terms, limit, allowed)

    def _search_table(
        self, terms: Sequence[str], limit: int, allowed: Ids | None
    ) -> tuple[Ids, Scores]:
        phrases = " OR ".join(_quoted(term) for term in dict.fromkeys(terms))
        values: list[str | int] = [phrases]
        among = ""
        if allowed is not None:
            # The plus keeps SQLite from running the whole query once for each rowid.
            among = "AND +rowid IN (SELECT value FROM json_each(?))"
            values.append(json.dumps(allowed.tolist()))
        rows: list[tuple[int, float]] = []
        if phrases and limit > 0:
            sql = f"""
                SELECT rowid, -bm25(keywords) AS score FROM keywords
                WHERE keywords MATCH ? {among} ORDER BY score DESC, rowid LIMIT ?"""
            with self.database.read() as connection:
                rows = connection.execute(sql, [*values, limit]).fetchall()
        return (
            np.array([row[0] for row in rows], dtype=np.int64),
            np.array([row[1] for row in rows], dtype=np.float32),
        )

    def chunk_terms(self, chunk_ids: Ids) -> Iterator[tuple[int, str]]:
        """(id, terms) of those of the chunks that there are."""
        sql = "SELECT rowid, terms FROM keywords WHERE rowid IN (SELECT value FROM json_each(?))"
        with self.database.read() as connection:
            for start in range(0, len(chunk_ids), _CHUNKS):
                some = json.dumps(chunk_ids[start : start + _CHUNKS].tolist())
                yield from connection.execute(sql, (some,)).fetchall()

    def write_indexes(self) -> None:
        """See `ports.StoreUpkeep`."""
        if self.keyword_index is not None:
            self.keyword_index.persist()

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """See `ports.SnapshotSource`. Raises `StoreCorruptError` for one that is damaged."""
        with self.database.read() as connection:
            sql = "SELECT count(*) FROM embeddings WHERE chunk_id > ?"
            count = connection.execute(sql, (after,)).fetchone()[0]
            dimension = self.embedder()
            ids = np.empty(count, dtype=np.int64)
            vectors = np.empty((count, dimension[1] if dimension else 0), dtype=np.float32)
            rows = connection.execute(
                "SELECT chunk_id, vector, checksum FROM embeddings"
                " WHERE chunk_id > ? ORDER BY chunk_id",
                (after,),
            )
            for position, (chunk_id, vector, checksum) in enumerate(rows):
                if not isinstance(vector, bytes) or zlib.crc32(vector) != checksum:
                    raise damaged_embedding(connection, chunk_id)
                ids[position] = chunk_id
                vectors[position] = np.frombuffer(vector, dtype="<f4")
        return ids, vectors


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


# --- beside the store --------------------------------------------------------------------

_JOURNAL = "journal.db"
"""Jobs and the audit log of a store that is on a server."""


def open_journal(folder: Path, busy_seconds: float) -> Database:
    """The journal in a folder, made where there is none; tables of a store stay empty in it."""
    return open_database(folder, busy_seconds, _JOURNAL)


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
    return SqliteBackend(open_database(folder, busy_seconds))


def _make(folder: Path, busy_seconds: float) -> None:
    """Put a store where there is none, which from its first moment is an unfinished copy."""
    place = folder / "clew.db"
    if place.exists():
        return
    try:
        make_folder(folder)
        with tempfile.TemporaryDirectory(dir=folder, prefix=COPY_PREFIX) as beside:
            made = open_database(Path(beside), busy_seconds)
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
