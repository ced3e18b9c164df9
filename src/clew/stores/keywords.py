"""The best chunks by their words: tantivy chooses candidates, whose terms are then compared.

Scores are those of FTS5, computed from the store's terms. What tantivy says of a chunk is at least
that, so that the search ends with the first candidate that could not be among the best any more.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.derived_files import (
    FileLock,
    checksum,
    derived_files,
    read_arrays,
    remove_files,
    write_arrays,
)
from clew.errors import ClewError
from clew.stores.remote_vectors import among

if TYPE_CHECKING:
    from clew.stores.large import Files, Floats, Phrase, TermFolder
    from clew.stores.snapshot import Snapshots
    from clew.types import Ids, Scores

# BM25 as FTS5 computes it, of passages whose terms are at hand.


K1, B = 1.2, 0.75
_LEAST = 1e-6
"""What FTS5 takes for the weight of words that most passages hold."""
_TOKEN = re.compile(r"[0-9a-z\x80-\U0010ffff]+")


def tokens(terms: str) -> list[str]:
    """The words of a chunk's terms as FTS5's tokenizer `ascii` splits them."""
    lowered = terms.lower()
    return lowered.split() if lowered.replace(" ", "").isalnum() else _TOKEN.findall(lowered)


def count(phrase: Phrase, words: list[str]) -> int:
    """How often a phrase stands in words."""
    if len(phrase) == 1:
        return words.count(phrase[0])
    size = len(phrase)
    return sum(tuple(words[i : i + size]) == phrase for i in range(len(words) - size + 1))


def phrase_weights(holders: Sequence[int], passages: int) -> Floats:
    """(p,) the weight of each phrase that so many of all passages hold."""
    held = np.array(holders, dtype=np.float64)
    found: Floats = np.log((passages - held + 0.5) / (held + 0.5))
    return np.where(found <= 0, _LEAST, found)


def bm25_scores(
    phrases: Sequence[Phrase], weight: Floats, texts: Sequence[list[str]], usual: float
) -> Floats:
    """(t,) score of each text, 0 where it holds no phrase; `usual` is the mean length of all."""
    # Most words of a question are not in a text: looking for them in a set is quicker.
    counts = [
        [count(p, words) if p[0] in there else 0 for p in phrases]
        for words, there in ((words, set(words)) for words in texts)
    ]
    held = np.array(counts, dtype=np.float64)
    lengths = np.array([len(words) for words in texts], dtype=np.float64)[:, np.newaxis]
    held = held.reshape(len(texts), len(phrases))
    return (weight * (held * (K1 + 1)) / (held + K1 * (1 - B + B * lengths / usual))).sum(axis=1)


_ROUNDING = 1.01
"""By how much a score of tantivy may be too low, beside what chunks deleted since make of it."""
_FIRST = 2, 100
"""So many times the chunks wanted, and so many more, are asked for at first."""
_CHEAPER, _MOST = 50, 1_000
"""The store's own table is faster where more candidates than that many times fewer than the chunks
are asked for, and never below so many."""


@dataclass(frozen=True)
class IndexState:
    """The index at one generation of the store; replaced whole, so that searches need no lock."""

    generation: int
    path: Path
    """The file that says what is in the folder."""
    folder: TermFolder
    ids: Ids
    """(n,) chunks of the folder that the store has, sorted."""
    gone: Ids
    """Chunks of the folder that the store has no more."""
    tail: dict[int, list[str]]
    """Words of the chunks that are not in the folder."""
    words: int
    """Of all chunks that the store has."""

    def weights(self, phrases: Sequence[Phrase]) -> Floats:
        """(p,) the weight of each phrase in the store."""
        tail = self.tail.values()
        held = [
            self.folder.holders(phrase, self.gone) + sum(count(phrase, w) > 0 for w in tail)
            for phrase in phrases
        ]
        return phrase_weights(held, len(self.ids) + len(tail))

    @property
    def usual(self) -> float:
        """Mean length of the chunks, in words; there is at least one."""
        return self.words / (len(self.ids) + len(self.tail))


def nearest(
    state: IndexState, source: Snapshots, terms: Sequence[str], limit: int, allowed: Ids | None
) -> tuple[Ids, Scores] | None:
    """See `ports.KeywordIndex`; None where too many candidates would have to be compared."""
    phrases = [tuple(tokens(term)) for term in dict.fromkeys(terms)]
    phrases = [phrase for phrase in phrases if phrase]
    found = nothing = np.empty(0, dtype=np.int64)
    scores = np.empty(0, dtype=np.float64)
    if not phrases or limit <= 0 or not state.words:
        return found, scores.astype(np.float32)
    weights = state.weights(phrases)
    all_ids = len(state.ids)
    most = max(_MOST, all_ids // _CHEAPER)
    share = 1.0 if allowed is None else min(1.0, max(len(allowed), 1) / max(all_ids, 1))
    seen, wanted = 0, int((_FIRST[0] * limit + _FIRST[1]) / share)
    few = allowed is not None and len(allowed) <= most // 10
    tail = np.array(sorted(state.tail), dtype=np.int64)
    eligible = tail if allowed is None else np.intersect1d(tail, allowed)
    texts = [(i, state.tail[i]) for i in eligible.tolist()]
    while few or wanted <= most:
        new, ceiling = (nothing if allowed is None else allowed), 0.0
        if not few:
            new, likely = state.folder.best(phrases, weights, wanted)
            if len(new) == wanted:  # there may be others, with no higher score than the last
                ceiling = float(likely[-1]) * (_ROUNDING + state.folder.dead)
            seen, new = wanted, new[seen:]
            new = new if allowed is None else new[np.isin(new, allowed)]
        rows = source.chunk_terms(new[among(state.ids, new)])
        texts += [(i, tokens(held)) for i, held in rows]
        ids = np.array([i for i, _ in texts], dtype=np.int64)
        more = bm25_scores(phrases, weights, [words for _, words in texts], state.usual)
        found, scores = np.concatenate([found, ids]), np.concatenate([scores, more])
        best = np.lexsort((found, -scores))[:limit]
        found, scores, texts = found[best], scores[best], []
        if not ceiling or (len(found) == limit and scores[-1] > ceiling):
            return found[scores > 0], scores[scores > 0].astype(np.float32)
        wanted *= 4
    return None


# An index of words that is derived from the store and kept in step with it, as vectors are.
#
# The folder `keywords` holds the index. The file `keywords-<generation>.arrays` says what is in it:
# ids of chunks (int64, sorted), their lengths (int64, in words), and size and CRC-32 of each file
# of the folder. A folder that is not as its file says, as one that a killed process left, counts as
# missing.
#
# `persist` brings it up to the store. A question takes in a few changes by itself: new chunks are
# compared one by one, those deleted are left out. Where more has changed, while the folder is being
# verified, and while another process writes it, the store's own table answers.


KIND = "keywords"
FEW_CHANGES = 256
"""Chunks, saved and deleted, that a question takes in by itself."""
_COMPARED = 300  # more than may have been deleted without a new file

_log = logging.getLogger("clew")


class _Held(NamedTuple):
    """What a folder holds, by its file."""

    path: Path
    ids: Ids
    lengths: Ids
    files: Files


class DerivedKeywords:
    """An index beside a store of `least` chunks or more; threads and processes may share it."""

    def __init__(
        self, source: Snapshots, place: Path, *, least: int, few: int = FEW_CHANGES
    ) -> None:
        """Nothing is read before it is needed; `place` is the store's folder."""
        self._source = source
        self._place = place
        self._folder = place / KIND
        self._least = least
        self._few = few
        self._turn = _turn(place)
        self._lock = threading.Lock()
        self._state: IndexState | None = None
        self._seen: tuple[int, int] | None = None
        self._held: _Held | None = None
        self._reader: threading.Thread | None = None
        self._sound: dict[Path, bool | None] = {}
        """Of each file, whether the folder is as it says; None while that is being verified."""

    def search(
        self, terms: Sequence[str], limit: int, allowed: Ids | None
    ) -> tuple[Ids, Scores] | None:
        """What `ports.KeywordIndex` finds; None where the store's own table is to be asked."""
        with self._source.reading():
            state = self._current()
            if state is None:
                return None
            try:
                return nearest(state, self._source, terms, limit, allowed)
            except (OSError, ValueError) as error:
                _log.warning("%s cannot be searched: %s", self._folder, error)
                self._sound[state.path] = False
                self._seen = None
                return None

    def persist(self) -> None:
        """Bring the index up to the store, where enough has changed and nobody else does."""
        if self._reader is not None:
            self._reader.join()
        try:
            with self._turn.held(), self._source.reading():
                self._bring()
        except (ClewError, OSError, ValueError) as error:  # the store's own table is there
            _log.info("the keywords in %s stay as they are: %s", self._folder, error)

    # --- asking

    def _current(self) -> IndexState | None:
        """The index of now; None where there is none that can be asked."""
        seen = self._source.generation(), self._place.stat().st_mtime_ns
        with self._lock:
            if seen != self._seen:
                held = self._newest(seen[0])
                waiting = held is not None and self._is_sound(held) is None
                self._state = None if held is None or waiting else self._opened(held, seen[0])
                self._seen = None if waiting else seen
            return self._state

    def _newest(self, generation: int) -> _Held | None:
        """The newest file that is not ahead of the store."""
        files = derived_files(self._place, KIND)
        for path in sorted(files, key=files.__getitem__, reverse=True):
            if files[path] <= generation and self._sound.get(path) is not False:
                if self._held is None or self._held.path != path or not self._sound.get(path):
                    self._held = _read(path)
                if self._held is not None:
                    return self._held
        return None

    def _is_sound(self, held: _Held) -> bool | None:
        """Whether the folder is as its file says; None while a thread reads it."""
        if held.path not in self._sound:
            self._sound[held.path] = None
            self._reader = threading.Thread(target=self._verify, args=[held], daemon=True)
            self._reader.start()
        return self._sound[held.path]

    def _verify(self, held: _Held) -> None:
        if not self._is_whole(held):
            with suppress(ClewError), self._turn.held():  # else another process is at work on it
                _log.warning("%s is damaged; it is made again from the database", self._folder)
                remove_files([held.path])

    def _is_whole(self, held: _Held) -> bool:
        """Whether the folder is as its file says; reads all of it, once."""
        if not self._sound.get(held.path):
            self._sound[held.path] = not any(_changed(self._folder, held.files))
        return bool(self._sound[held.path])

    def _opened(self, held: _Held, generation: int) -> IndexState | None:
        """The index with what changed since; None where that is much, or another process writes."""
        new, gone = self._changes(held)
        if not self._sound[held.path] or len(new) + len(gone) > self._few:
            return None
        before = self._state
        known = before is not None and before.path == held.path
        folder = before.folder if before and known else self._open_folder(held)
        if folder is None:
            return None
        tail = {chunk_id: tokens(terms) for chunk_id, terms in self._source.chunk_terms(new)}
        living = ~np.isin(held.ids, gone)
        words = int(held.lengths[living].sum()) + sum(map(len, tail.values()))
        return IndexState(generation, held.path, folder, held.ids[living], gone, tail, words)

    def _open_folder(self, held: _Held) -> TermFolder | None:
        """The folder as its file says; None where it is another store's, or is being written."""
        from clew.stores.large import TermFolder

        with suppress(OSError, ValueError):
            folder = TermFolder(self._folder)
            unchanged = checksum(self._folder / "meta.json") == held.files["meta.json"]
            return folder if unchanged and self._is_ours(held) else None
        return None

    def _changes(self, held: _Held) -> tuple[Ids, Ids]:
        """Chunks that the store has and the folder has not, and the other way round."""
        last = int(held.ids[-1]) if len(held.ids) else 0
        new = self._source.chunk_ids_after(last)
        there = any(self._source.chunk_terms(held.ids[-1:]))
        if there and self._source.chunk_count() == len(held.ids) + len(new):  # none was deleted
            return new, held.ids[:0]
        ids = self._source.chunk_ids()
        return ids[~np.isin(ids, held.ids)], held.ids[~np.isin(held.ids, ids)]

    def _is_ours(self, held: _Held) -> bool:
        """Whether the newest chunks that folder and store share have the same lengths.

        After a backup was brought back, the same ids may stand for other texts.
        """
        newest = dict(zip(held.ids[-_COMPARED:].tolist(), held.lengths[-_COMPARED:], strict=True))
        found = self._source.chunk_terms(held.ids[-_COMPARED:])
        same = [len(tokens(terms)) == newest[chunk_id] for chunk_id, terms in found]
        return any(same) and all(same)

    # --- writing

    def _bring(self) -> None:
        from clew.stores.large import content_of, write_terms

        generation = self._source.generation()
        if self._source.chunk_count() < self._least:
            remove_files(derived_files(self._place, KIND))
            return
        held = self._newest(generation)
        if held is not None and self._is_ours(held):
            if sum(map(len, self._changes(held))) <= self._few:
                return
            held = held if self._is_whole(held) else None
        else:
            held = None
        nothing = np.empty(0, dtype=np.int64)
        before = held or _Held(self._folder, nothing, nothing, {})
        new, gone = self._changes(before)
        rows = ((chunk_id, tokens(terms)) for chunk_id, terms in self._source.chunk_terms(new))
        added, lengths = write_terms(self._folder, rows, gone, anew=held is None)
        living = ~np.isin(before.ids, gone)
        ids = np.concatenate([before.ids[living], added])
        order = np.argsort(ids)
        files = content_of(self._folder, before.files)
        arrays = {
            "ids": ids[order],
            "lengths": np.concatenate([before.lengths[living], lengths])[order],
            "files": np.frombuffer(json.dumps(files).encode(), dtype=np.uint8),
        }
        path = write_arrays(self._place, KIND, generation, arrays)
        with self._lock:  # what there was of that generation may have had the same name
            self._sound[path] = True
            self._held = self._state = self._seen = None


def _read(path: Path) -> _Held | None:
    """What a file says; None where it is damaged."""
    with suppress(KeyError, ValueError):
        arrays = read_arrays(path) or {}
        files = json.loads(arrays["files"].tobytes())
        return _Held(path, arrays["ids"], arrays["lengths"], files)
    return None


def _turn(place: Path) -> FileLock:
    """Held by the process that writes the folder."""
    return FileLock(place / "keywords.lock", 0, "another process writes the keywords")


def damaged_keywords(place: Path) -> Iterator[str]:
    """Names of the files of the folder that are not as the newest file says; reads all of them.

    Where another process writes them now, they are not looked at.
    """
    files = derived_files(place, KIND)
    newest = max(files, key=files.__getitem__, default=None)
    with suppress(ClewError, OSError), _turn(place).held():
        held = None if newest is None else _read(newest)
        for name in _changed(place / KIND, held.files) if held else ():
            yield f"{KIND}/{name}"


def _changed(folder: Path, files: Files) -> Iterator[str]:
    """Names of files that are not what they were, or cannot be read."""
    for name, of in files.items():
        try:
            same = checksum(folder / name) == list(of)
        except OSError:
            same = False
        if not same:
            yield name
