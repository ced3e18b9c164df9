"""Nearest neighbours over a matrix that is mapped from a file derived from the store.

The file `vectors-<generation>.arrays` holds the chunks' ids (int64), sorted, their vectors
(float32, unit length), and where there are many also their codes. What was saved since lies in
memory as a tail, what was deleted is masked; once either grows, a new file is written. A file is
verified in the background while the question is prepared; nothing is answered from it before that
is done, and a damaged one is made again.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from clew.derived_files import MappedArrays, derived_files, remove_files, write_arrays
from clew.errors import StoreError

if TYPE_CHECKING:
    from turbovec import TurboQuantIndex

    from clew.ports import Embedder, SyncedVectorIndex
    from clew.stores.store import Store
    from clew.types import Ids, Scores, Vector, Vectors

Embeddings: TypeAlias = "Callable[[int], tuple[Ids, Vectors]]"
"""Chunks with an id above the one given, by id, and their embeddings."""
KIND = "vectors"
"""Of the file of a store's own vectors."""
_WORTH_SHARE = 0.1
_WORTH_CHUNKS = 1000  # below this, reading the store is as fast as mapping a file
_BLOCK = 8192
_SAME = 1e-3  # between the values of two embeddings of one text by one model

_log = logging.getLogger("clew")


class VectorMatrix:
    """`ports.SyncedVectorIndex` over a store's embeddings; threads may share one."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        kind: str = KIND,
        *,
        coded_from: int | None = None,
        embeddings: Embeddings | None = None,
    ) -> None:
        """Nothing is read before it is needed; `kind` names the file in the store's `folder`.

        A file of `coded_from` rows or more holds their codes, too (`wiring.used_from`). The
        vectors are the store's own, or those that `embeddings` gives.
        """
        self._store = store
        self._embeddings = embeddings or store.embeddings
        self._folder = folder
        self._kind = kind
        self._coded_from = coded_from
        self._lock = threading.Lock()
        self._state: MatrixRows | None = None
        self._mentions_version = -1

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """See `ports.VectorIndex`. Raises `StoreError` for a vector of another dimension."""
        state = self._current()
        if not state.alive.any() or limit <= 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        check_dimension(vector, state.base.shape[1])
        eligible = state.alive if allowed is None else state.alive & np.isin(state.ids, allowed)
        return nearest_rows(state, vector, np.flatnonzero(eligible), limit)

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

    def _current(self) -> MatrixRows:
        """The state of now, which may be answered from."""
        state = self._latest()
        if state.is_sound():
            return state
        with self._lock:
            self._state = self._sound(self._state or state)
            return self._state

    def _latest(self) -> MatrixRows:
        """The state of now; its file may still be read for damage."""
        state = self._state
        if state is not None and state.generation == self._store.generation():
            return state
        with self._lock:
            with self._store.reading():
                state = self._read(self._state or self._load())
            # Where tail or deleted rows outgrow the file.
            changed = len(state.tail) + int(np.count_nonzero(~state.alive))
            if changed > max(_WORTH_CHUNKS, _WORTH_SHARE * len(state.base)):
                state = self._kept(self._sound(state))
            self._state = state
            return state

    def _sound(self, state: MatrixRows) -> MatrixRows:
        """The state, read from the store where its file is damaged."""
        if state.file is None or state.file.is_sound():
            return state
        _log.warning("%s is damaged; the vectors are read from the database", state.file.path)
        remove_files([state.file.path])
        with self._store.reading():
            return self._kept(self._read(no_rows()))

    def _kept(self, state: MatrixRows) -> MatrixRows:
        """The state, written to a file where that can be done."""
        try:
            return self._write(state) if os.access(self._folder, os.W_OK) else state
        except OSError as error:  # searching goes on from memory
            _log.warning("cannot write vectors to %s: %s", self._folder, error)
            return state

    def _read(self, before: MatrixRows) -> MatrixRows:
        """The state of now, from an earlier one."""
        generation = self._store.generation()
        if generation == before.generation:
            return before
        if len(before.ids) and not self._is_ours(before):
            before = no_rows()
        last = int(before.ids[-1]) if len(before.ids) else 0
        new_ids, new = self._embeddings(last)
        ids = np.concatenate([before.ids, new_ids])
        alive = np.concatenate([before.alive, np.ones(len(new_ids), dtype=bool)])
        if len(before.ids) == 0:
            return MatrixRows(generation, new, new[:0], ids, alive)
        count, version = self._store.chunk_count(), self._store.mentions_version()
        if np.count_nonzero(alive) != count:  # some were deleted
            deleted = self._store.deleted_since(before.generation)
            alive &= ~np.isin(ids, [] if deleted is None else deleted)
        # Not known which, or a backup may have brought back as many as are gone.
        known = self._store.moved_since(self._mentions_version) is not None
        self._mentions_version = version
        if np.count_nonzero(alive) != count or not known:
            alive = np.isin(ids, self._store.chunk_ids())
        if np.count_nonzero(alive) < count:  # a backup brought old chunks back
            return self._read(no_rows())
        tail = np.concatenate([before.tail, new])
        return replace(before, generation=generation, tail=tail, ids=ids, alive=alive)

    def _load(self) -> MatrixRows:
        """The newest file that is the store's; an empty state where there is none."""
        generation = self._store.generation()
        files = derived_files(self._folder, self._kind)
        for path in sorted(files, key=files.__getitem__, reverse=True):
            state = self._mapped(path, files[path]) if files[path] <= generation else None
            if state is not None and self._is_ours(state):
                return state
        return no_rows()

    def _is_ours(self, state: MatrixRows) -> bool:
        """Whether the last living row of a file, or of the state before, is the store's.

        After a backup was brought back, or every text was embedded by another model, the same ids
        stand for other vectors.
        """
        last = len(state.ids) - 1
        ids, rows = self._embeddings(int(state.ids[last]) - 1)
        if not len(ids) or ids[0] != state.ids[last]:  # that one was deleted
            living = np.flatnonzero(np.isin(state.ids, self._store.chunk_ids()))
            if len(living) == 0:
                return False
            last = int(living[-1])
            ids, rows = self._embeddings(int(state.ids[last]) - 1)
        return len(ids) > 0 and np.allclose(rows[0], state.rows(np.array([last]))[0], atol=_SAME)

    def _write(self, state: MatrixRows) -> MatrixRows:
        """Write the living rows to a file of their own and map it."""
        living = np.flatnonzero(state.alive)
        least, width = self._coded_from, state.base.shape[1]
        coded = least is not None and len(living) >= least and width % _WIDTH == 0
        whole = state.file is not None and len(living) == len(state.base) == len(state.ids)
        if len(living) == 0 or (whole and (state.codes is not None or not coded)):
            return state
        # In blocks, so that the matrix is never in memory twice.
        blocks = [living[start : start + _BLOCK] for start in range(0, len(living), _BLOCK)]
        arrays: dict[str, Any] = {"ids": state.ids[living], "vectors": map(state.rows, blocks)}
        if coded:
            arrays["codes"] = make_codes(map(state.rows, blocks), width)
        path = write_arrays(self._folder, self._kind, state.generation, arrays)
        return self._mapped(path, state.generation) or state

    def _mapped(self, path: Path, generation: int) -> MatrixRows | None:
        """The rows in a file; without their codes where none are wanted."""
        state = mapped_rows(path, generation)
        return replace(state, codes=None) if state and self._coded_from is None else state


# The rows of a matrix at one generation of its store, and the nearest among them.


_FEW = 4  # times as long as in their order takes it to read rows one by one
# Products of a matrix in float32 differ in the last bits with a row's position: rows this near to
# the worst one kept are compared again, in float64, so that order and ties are exact.
_ROUNDING = 1e-4
_BLOCK_ROWS, _SHARED = 1_000, 100_000
"""Rows that one thread multiplies at a time, and from how many on all threads do so together."""
_CANDIDATES = 4, 100
"""So many times the rows that are wanted, and so many more, are chosen by their codes: among these
were all of the nearest 100 of 27,000 texts (docs/scale.md)."""


@dataclass(frozen=True, slots=True)
class MatrixRows:
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
    codes: Codes | None = None
    """Of the rows of `base`."""

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
            return _products(self.rows(positions), vector)
        return np.concatenate([_products(part, vector) for part in (self.base, self.tail)])[
            positions
        ]

    def candidates(
        self, vector: Vector, eligible: NDArray[np.intp], limit: int
    ) -> NDArray[np.intp]:
        """Those of the eligible positions among which are the `limit` nearest.

        Where there are codes, one of the nearest may be missing once in a thousand times.
        """
        wanted = _CANDIDATES[0] * limit + _CANDIDATES[1]
        if self.codes is not None and len(eligible) > _FEW * wanted:
            found = self._by_codes(self.codes, vector, eligible, wanted)
            if len(found) and not self._ends_with_equals(found, vector, limit):
                return found
        scores = self.scores(vector, eligible)
        worst = np.partition(scores, -limit)[-limit]
        return eligible[scores >= worst - _ROUNDING]

    def _by_codes(
        self, codes: Codes, vector: Vector, eligible: NDArray[np.intp], wanted: int
    ) -> NDArray[np.intp]:
        """About the nearest rows of `base`, and all of the tail, which has no codes.

        None where another version of turbovec wrote the codes.
        """
        size = len(self.base)
        mask = np.zeros(size, dtype=np.bool_)
        mask[eligible[eligible < size]] = True
        with suppress(ValueError):
            found = codes.nearest(vector, wanted, mask)
            return np.concatenate([found, eligible[eligible >= size]])
        return eligible[:0]

    def _ends_with_equals(self, found: NDArray[np.intp], vector: Vector, limit: int) -> bool:
        """Whether rows that were not found may be as near as the last one wanted.

        So it is where a text is there hundreds of times.
        """
        scores = self.rows(found) @ vector
        return bool(np.partition(scores, -limit)[-limit] <= scores.min() + _ROUNDING)


def _products(rows: Vectors, vector: Vector) -> Scores:
    """(n,) of each row with the vector.

    A block at a time, unless they are very many: BLAS would share a larger product among threads,
    which go on spinning for a tenth of a second, beside whatever comes next.
    """
    block = _BLOCK_ROWS if len(rows) < _SHARED else len(rows)
    found = [rows[start : start + block] @ vector for start in range(0, len(rows), block or 1)]
    return np.concatenate([*found, np.empty(0, np.float32)])


def nearest_rows(
    state: MatrixRows, vector: Vector, eligible: NDArray[np.intp], limit: int
) -> tuple[Ids, Scores]:
    """Ids of the best eligible rows and their exact scores; ties go to the smaller id."""
    if len(eligible) > limit:
        eligible = state.candidates(vector, eligible, limit)
    rows = state.rows(eligible).astype(np.float64)
    exact = (rows * vector).sum(axis=1).astype(np.float32)
    return best_first(state.ids[eligible], exact, limit)


def no_rows() -> MatrixRows:
    """The matrix of a store that was never read."""
    empty = np.empty((0, 0), dtype=np.float32)
    return MatrixRows(-1, empty, empty, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_))


def mapped_rows(path: Path, generation: int) -> MatrixRows | None:
    """The rows in a file; None where it cannot be read, since it can be made again."""
    try:
        file = MappedArrays(path)
        ids, vectors = np.array(file.arrays["ids"]), file.arrays["vectors"]
    except (OSError, ValueError, KeyError):
        return None
    codes = Codes(file.arrays["codes"]) if "codes" in file.arrays else None
    alive = np.ones(len(ids), dtype=np.bool_)
    return MatrixRows(generation, vectors, vectors[:0], ids, alive, file, codes)


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


# Rows of a matrix in four bits a number, many times faster to compare than the rows: turbovec.
#
# Codes choose candidates, which are then compared by their rows. They are kept in the matrix's
# file, where that has many rows: beside it they cost an eighth of its size.


_BITS = 4
_WIDTH = 8
"""Rows have codes that have a multiple of so many numbers."""


def make_codes(blocks: Iterable[Vectors], dimension: int) -> NDArray[np.uint8]:
    """The codes of rows that come in blocks, as a file keeps them."""
    from turbovec import TurboQuantIndex

    index = TurboQuantIndex(dim=dimension, bit_width=_BITS)
    for rows in blocks:
        index.add(np.ascontiguousarray(rows))
    return np.frombuffer(index.to_bytes(), dtype=np.uint8)


class Codes:
    """The codes of a file; they are read when they are first asked."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        """`data` as `make_codes` returns it."""
        self._data = data

    def nearest(self, vector: Vector, limit: int, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Positions of about the nearest rows among those of the mask, which has one value a row.

        Raises `ValueError` where another version of turbovec wrote the codes.
        """
        _, found = self._index.search(vector[np.newaxis], limit, mask=mask)
        return found[0].astype(np.intp)

    @cached_property
    def _index(self) -> TurboQuantIndex:
        from turbovec import TurboQuantIndex

        return TurboQuantIndex.from_bytes(self._data.tobytes())


# Vectors of the passages' own texts, without their context: derived from the store like a matrix.


@dataclass(slots=True)
class TextEmbeddings:
    """Embeds the texts that the store holds, once a passage."""

    store: Store
    embedder: Embedder
    _known: dict[int, Vector] = field(default_factory=dict)

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """Chunks with an id above `after`, by id, and the embeddings of their texts.

        What the call before this one embedded is not embedded again: a matrix asks twice, whether
        it is the store's by its last row, then for all that is new.
        """
        passages = list(self.store.passages(after))
        known, self._known = self._known, {}
        texts = [p.text for p in passages if p.chunk_id not in known]
        made = iter(self.embedder.embed_documents(texts) if texts else ())
        rows = {
            p.chunk_id: known[p.chunk_id] if p.chunk_id in known else next(made) for p in passages
        }
        if after and not known:
            self._known = rows
        vectors = np.array(list(rows.values()), dtype=np.float32)
        return np.array(list(rows), np.int64), vectors.reshape(-1, self.embedder.dimension)


def kept_embeddings(store: Store, kept: SyncedVectorIndex) -> Embeddings:
    """The vectors that an index of the store's chunks keeps, for another index."""

    def embeddings(after: int) -> tuple[Ids, Vectors]:
        with store.reading():
            newer = store.chunk_ids_after(after)
            return newer, kept.vectors(newer)

    return embeddings


class TextVectors(NamedTuple):
    """The vectors of texts alone, in two places or twice in one."""

    own: SyncedVectorIndex
    """Kept beside the store, so that each text is embedded once."""
    searched: SyncedVectorIndex
    """Where they are searched."""
