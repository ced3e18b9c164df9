"""Exact nearest neighbours over a matrix that is mapped from a file derived from the store.

The file `vectors-<generation>.arrays` holds the chunks' ids (int64), sorted, and their vectors
(float32, unit length). What was saved since lies in memory as a tail, what was deleted is masked;
once either grows, a new file is written. A file is verified in the background while the question is
prepared; nothing is answered from it before that is done, and a damaged one is made again.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.derived_files import MappedArrays, derived_files, remove_files, write_arrays
from clew.errors import StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.ports import VectorSource
    from clew.types import Ids, Scores, Vector, Vectors

_WORTH_SHARE = 0.1
_WORTH_CHUNKS = 1000  # below this, reading the store is as fast as mapping a file
_BLOCK = 8192
_FEW = 4  # times as long as in their order takes it to read rows one by one
# Products of a matrix in float32 differ in the last bits with a row's position: rows this near to
# the worst one kept are compared again, in float64, so that order and ties are exact.
_ROUNDING = 1e-4

_SAME = 1e-3  # between the values of two embeddings of one text by one model

_log = logging.getLogger("clew")


@dataclass(frozen=True, slots=True)
class _State:
    """The matrix at one generation; replaced whole, so that searches need no lock."""

    generation: int
    base: Vectors
    """(b, dim), usually mapped from a file."""
    tail: Vectors
    """(t, dim), saved since."""
    ids: Ids
    """(b + t,) ids of the rows of both, sorted."""
    alive: NDArray[np.bool_]
    """(b + t,) False where the chunk was deleted."""
    file: MappedArrays | None = None
    """What `base` is mapped from."""

    def is_sound(self) -> bool:
        """Whether the file is as it was written; waits until all of it has been read."""
        return self.file is None or self.file.is_sound()

    def rows(self, positions: NDArray[np.intp]) -> Vectors:
        """(len(positions), dim) rows of base and tail together."""
        size = len(self.base)
        found = np.empty((len(positions), self.base.shape[1]), dtype=np.float32)
        low = positions < size
        found[low] = self.base[positions[low]]
        found[~low] = self.tail[positions[~low] - size]
        return found

    def scores(self, vector: Vector, positions: NDArray[np.intp]) -> Scores:
        """(len(positions),) cosines, rounded; of few rows without reading all others."""
        if len(positions) * _FEW < len(self.ids):
            return self.rows(positions) @ vector
        return np.concatenate([self.base @ vector, self.tail @ vector])[positions]

    def worth_writing(self) -> bool:
        """Whether tail or deleted rows outgrow the file."""
        changed = len(self.tail) + int(np.count_nonzero(~self.alive))
        return changed > max(_WORTH_CHUNKS, _WORTH_SHARE * len(self.base))


class VectorMatrix:
    """`ports.SyncedVectorIndex` over a store's embeddings; threads may share one."""

    def __init__(self, store: VectorSource, folder: Path, kind: str = "vectors") -> None:
        """Nothing is read before it is needed; `kind` names the file in the store's `folder`."""
        self._store = store
        self._folder = folder
        self._kind = kind
        self._lock = threading.Lock()
        self._state: _State | None = None

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """See `ports.VectorIndex`. Raises `StoreError` for a vector of another dimension."""
        state = self._current()
        if not state.alive.any() or limit <= 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        check_dimension(vector, state.base.shape[1])
        eligible = state.alive if allowed is None else state.alive & np.isin(state.ids, allowed)
        return _best(state, vector, np.flatnonzero(eligible), limit)

    def vectors(self, chunk_ids: Sequence[int] | Ids) -> Vectors:
        """See `ports.VectorIndex`."""
        state = self._current()
        wanted = np.asarray(chunk_ids, dtype=np.int64)
        positions = np.searchsorted(state.ids, wanted)
        known = positions < len(state.ids)
        known[known] = (state.ids[positions[known]] == wanted[known]) & state.alive[
            positions[known]
        ]
        if not known.all():
            raise unknown_chunks(wanted[~known])
        return state.rows(positions)

    def refresh(self) -> None:
        """Take in what was saved and deleted since; a single read where nothing was."""
        self._latest()

    def persist(self) -> None:
        """Write the file now, so that the next process starts from it."""
        state = self._current()
        with self._lock:
            try:
                self._state = self._write(state)
            except OSError as error:
                raise StoreError(
                    f"cannot write vectors to {str(self._folder)!r} ({error.strerror}); they are"
                    " derived from the store: free some space or check the folder's rights"
                ) from error

    def state(self) -> dict[str, Any]:
        """See `ports.SyncedVectorIndex`."""
        held = self._current()
        return {
            "backend": "store",
            "available": True,
            "connected": True,
            "version": "",
            "points": int(np.count_nonzero(held.alive)),
            "problem": "",
        }

    def close(self) -> None:
        """See `ports.SyncedVectorIndex`; there is nothing to let go of."""

    def _current(self) -> _State:
        """The state of now, which may be answered from."""
        state = self._latest()
        if state.is_sound():
            return state
        with self._lock:
            self._state = self._sound(self._state or state)
            return self._state

    def _latest(self) -> _State:
        """The state of now; its file may still be read for damage."""
        state = self._state
        if state is not None and state.generation == self._store.generation():
            return state
        with self._lock:
            with self._store.reading():
                state = self._read(self._state or self._load())
            if state.worth_writing():
                state = self._kept(self._sound(state))
            self._state = state
            return state

    def _sound(self, state: _State) -> _State:
        """The state, read from the store where its file is damaged."""
        if state.file is None or state.file.is_sound():
            return state
        _log.warning("%s is damaged; the vectors are read from the database", state.file.path)
        remove_files([state.file.path])
        with self._store.reading():
            return self._kept(self._read(_nothing()))

    def _kept(self, state: _State) -> _State:
        """The state, written to a file where that can be done."""
        try:
            return self._write(state) if os.access(self._folder, os.W_OK) else state
        except OSError as error:  # searching goes on from memory
            _log.warning("cannot write vectors to %s: %s", self._folder, error)
            return state

    def _read(self, before: _State) -> _State:
        """The state of now, from an earlier one."""
        generation = self._store.generation()
        if generation == before.generation:
            return before
        if len(before.ids) and not self._is_ours(before):
            before = _nothing()
        last = int(before.ids[-1]) if len(before.ids) else 0
        new_ids, new = self._store.embeddings(after=last)
        ids = np.concatenate([before.ids, new_ids])
        chunk_ids = self._store.chunk_ids()
        alive = np.isin(ids, chunk_ids)
        if len(before.ids) == 0:
            return _State(generation, new, new[:0], ids, alive)
        if np.count_nonzero(alive) < len(chunk_ids):  # a backup brought old chunks back
            return self._read(_nothing())
        tail = np.concatenate([before.tail, new])
        return _State(generation, before.base, tail, ids, alive, before.file)

    def _load(self) -> _State:
        """The newest file that is the store's; an empty state where there is none."""
        generation = self._store.generation()
        files = derived_files(self._folder, self._kind)
        for path in sorted(files, key=files.__getitem__, reverse=True):
            state = _mapped(path, files[path]) if files[path] <= generation else None
            if state is not None and self._is_ours(state):
                return state
        return _nothing()

    def _is_ours(self, state: _State) -> bool:
        """Whether the last living row of a file, or of the state before, is the store's.

        After a backup was brought back, or every text was embedded by another model, the same ids
        stand for other vectors.
        """
        living = np.flatnonzero(np.isin(state.ids, self._store.chunk_ids()))
        if len(living) == 0:
            return False
        last = living[-1]
        ids, rows = self._store.embeddings(after=int(state.ids[last]) - 1)
        return len(ids) > 0 and np.allclose(rows[0], state.rows(living[-1:])[0], atol=_SAME)

    def _write(self, state: _State) -> _State:
        """Write the living rows to a file of their own and map it."""
        living = np.flatnonzero(state.alive)
        current = state.file is not None and len(living) == len(state.base)
        if len(living) == 0 or (current and len(state.tail) == 0):
            return state
        # In blocks, so that the matrix is never in memory twice.
        blocks = (living[start : start + _BLOCK] for start in range(0, len(living), _BLOCK))
        path = write_arrays(
            self._folder,
            self._kind,
            state.generation,
            {"ids": state.ids[living], "vectors": map(state.rows, blocks)},
        )
        return _mapped(path, state.generation) or state


def _best(
    state: _State,
    vector: Vector,
    eligible: NDArray[np.intp],
    limit: int,
) -> tuple[Ids, Scores]:
    """Ids of the best eligible rows and their exact scores; ties go to the smaller id."""
    if len(eligible) > limit:
        candidates = state.scores(vector, eligible)
        worst = np.partition(candidates, -limit)[-limit]
        eligible = eligible[candidates >= worst - _ROUNDING]
    rows = state.rows(eligible).astype(np.float64)
    exact = (rows * vector).sum(axis=1).astype(np.float32)
    return best_first(state.ids[eligible], exact, limit)


def _nothing() -> _State:
    empty = np.empty((0, 0), dtype=np.float32)
    return _State(-1, empty, empty, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_))


def _mapped(path: Path, generation: int) -> _State | None:
    """The state in a file; None where it cannot be read, since it can be made again."""
    try:
        file = MappedArrays(path)
        ids, vectors = np.array(file.arrays["ids"]), file.arrays["vectors"]
    except (OSError, ValueError, KeyError):
        return None
    return _State(generation, vectors, vectors[:0], ids, np.ones(len(ids), dtype=np.bool_), file)


def check_dimension(vector: Vector, dimension: int) -> None:
    """Raise `StoreError` for a vector that is not of the store's embedder."""
    if vector.shape != (dimension,):
        raise StoreError(
            f"cannot search for a vector of shape {vector.shape!r}; expected {(dimension,)!r},"
            " from the embedder that the store was built with"
        )


def unknown_chunks(unknown: Ids) -> StoreError:
    """The error for ids of chunks that are not in the store now."""
    return StoreError(
        f"no embedding of the chunks {unknown[:5].tolist()!r}; expected ids of chunks that are in"
        " the store now: search again"
    )


def best_first(ids: Ids, scores: Scores, limit: int) -> tuple[Ids, Scores]:
    """The `limit` best with scores from -1 to 1, best first; ties go to the smaller id."""
    scores = np.clip(scores, -1.0, 1.0)
    order = np.lexsort((ids, -scores))[:limit]
    return ids[order], scores[order]
