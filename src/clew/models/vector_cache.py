"""Embeddings of texts that were embedded before, by any document of any store of this user.

A file in the user's cache that only that user may read. It holds digests of texts, not texts. What
cannot be read of it is embedded again: nothing here ever fails a run.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.derived_files import make_file, make_folder

if TYPE_CHECKING:
    from clew.types import Vector, Vectors

_TABLE = """
CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, vector BLOB)
"""
_BUSY_SECONDS = 2.0
_ASKED_AT_ONCE = 500
_ROUNDING = 1e-3
"""By how much the length of a vector may differ from 1."""

_log = logging.getLogger("clew")


def default_folder() -> Path:
    """The user's cache folder, as the platform has it."""
    from platformdirs import user_cache_path

    return user_cache_path("clew", appauthor=False) / "models"


class VectorCache:
    """The newest `most` embeddings of one model."""

    def __init__(self, file: Path, model: str, most: int) -> None:
        """Nothing is read or written before it is needed."""
        self._file = file
        self._model = model.encode()
        self._most = most

    def embed(
        self, texts: Sequence[str], dimension: int, embed: Callable[[Sequence[str]], Vectors]
    ) -> Vectors:
        """(len(texts), dimension), in the order given; `embed` is asked for each new text once."""
        keys = [self._key(text) for text in texts]
        known = self._read(list(dict.fromkeys(keys)), dimension)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            made = dict(zip(new, embed(list(new.values())), strict=True))
            self._write(made)
            known |= made
        return np.array([known[key] for key in keys], np.float32).reshape(-1, dimension)

    def _key(self, text: str) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=16, key=self._digest).digest()

    @property
    def _digest(self) -> bytes:
        return hashlib.blake2b(self._model, digest_size=16).digest()

    def _read(self, keys: Sequence[bytes], dimension: int) -> dict[bytes, Vector]:
        found: dict[bytes, Vector] = {}
        try:
            with closing(self._connection()) as connection:
                for start in range(0, len(keys), _ASKED_AT_ONCE):
                    part = keys[start : start + _ASKED_AT_ONCE]
                    marks = ", ".join("?" * len(part))
                    rows = connection.execute(
                        f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part
                    )
                    found.update(_sound(dict(rows), dimension))
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)
        return found

    def _write(self, made: Mapping[bytes, Vector]) -> None:
        try:
            with closing(self._connection()) as connection, connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO vectors (key, vector) VALUES (?, ?)",
                    [(key, np.asarray(vector, "<f4").tobytes()) for key, vector in made.items()],
                )
                connection.execute(
                    "DELETE FROM vectors WHERE id <= (SELECT max(id) FROM vectors) - ?",
                    (self._most,),
                )
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def _connection(self) -> sqlite3.Connection:
        make_folder(self._file.parent)
        make_file(self._file)
        connection = sqlite3.connect(self._file, timeout=_BUSY_SECONDS)
        # What the power takes is embedded again.
        connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;" + _TABLE)
        return connection

    def _give_up(self, error: Exception) -> None:
        """Do without; a damaged file is made again."""
        _log.info("embeddings are not remembered in %s: %s", self._file, error)
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        ):
            for path in self._file.parent.glob(f"{self._file.name}*"):
                path.unlink(missing_ok=True)


def _sound(rows: Mapping[bytes, object], dimension: int) -> dict[bytes, Vector]:
    """Those rows that are unit vectors of that dimension."""
    found: dict[bytes, Vector] = {}
    for key, data in rows.items():
        if isinstance(data, bytes) and len(data) == 4 * dimension:
            vector = np.frombuffer(data, "<f4")
            if abs(float(vector @ vector) - 1) < _ROUNDING:
                found[key] = vector
    return found
