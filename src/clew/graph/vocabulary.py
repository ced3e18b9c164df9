"""The words of a store as its texts spell them, for questions that spell them otherwise.

Derived like a snapshot, and kept beside it as `words-<generation>.arrays`: texts are read once, new
ones are added. Words of texts that are gone stay until most of what was read is gone: whoever asks
for a word looks up whether the store still holds it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.derived_files import derived_files, read_arrays, write_arrays
from clew.text import words

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from clew.stores.store import Store

FORMAT = 1
"""Grows whenever what is stored means something else."""
CHANGES = 100
"""Changes of the store after which its words are written down again: a file costs as much as the
store has words, and reading what is new little."""
SHORTEST, LONGEST = 4, 30
"""Letters of a word that is kept."""
APART = 2_000
"""New words, at most, that are kept apart: to join them to the others costs as much as all do."""
MOST_WORDS = 1_000_000
"""Words that are kept; of a larger store those that were read first."""
_KIND = "words"
_LAST_ALPHABET = "\u0e00"
"""Before it stand the alphabets of Europe, the Near East and India; typing errors in other scripts
are other characters, not other letters of a word."""


@dataclass(frozen=True)
class Vocabulary:
    """Words of the texts that a store held, folded, each once; the newest few apart from others."""

    generation: int
    last_chunk: int
    """Id of the last chunk that was read."""
    chunks: int
    """How many were read."""
    words: frozenset[str]
    """Those that `earlier` has not."""
    earlier: Vocabulary | None = None

    @property
    def layers(self) -> list[Vocabulary]:
        """This one, and the one with most of the words."""
        return [self] if self.earlier is None else [self, self.earlier]

    @property
    def all_words(self) -> set[str]:
        """The words of all layers."""
        return set().union(*(layer.words for layer in self.layers))

    @cached_property
    def by_sound(self) -> dict[str, dict[str, str]]:
        """Words of this layer and their `sound`, by its first letter."""
        found: dict[str, dict[str, str]] = {}
        for word in self.words:
            heard = sound(word)
            found.setdefault(heard[0], {})[word] = heard
        return found


def sound(word: str) -> str:
    """A folded word as it sounds, as far as spellings that are often confused go."""
    return word.replace("ph", "f")


def words_of(text: str) -> set[str]:
    """The words of a text that a vocabulary keeps."""
    return {
        word
        for word in words(text)
        if SHORTEST <= len(word) <= LONGEST and word.isalpha() and word[0] < _LAST_ALPHABET
    }


def current_vocabulary(
    source: Store, folder: Path, previous: Vocabulary | None = None
) -> Vocabulary:
    """The store's words at its present generation, from the nearest ones that there are."""
    if previous is not None and previous.generation == source.generation():
        return previous
    with source.reading():
        generation, present = source.generation(), source.chunk_count()
        known = previous or _newest(folder, generation)
        if known is not None and known.generation == generation:
            return known
        new = _extended(known, source, generation)
        # After many changes most words may be gone; of chunks with lower ids than those known none
        # was read.
        if not present <= new.chunks <= 2 * present:
            new = _extended(None, source, generation)
    if known is None:  # the next process need not read all texts, too
        _write(new, folder)
    return new


def persist_vocabulary(source: Store, folder: Path) -> None:
    """Write the words down where that is not done, or was done many changes ago."""
    written = derived_files(folder, _KIND).values()
    if source.generation() - max(written, default=-CHANGES) >= CHANGES:
        _write(current_vocabulary(source, folder), folder)


def _write(vocabulary: Vocabulary, folder: Path) -> None:
    numbers = [FORMAT, vocabulary.last_chunk, vocabulary.chunks]
    text = "\n".join(sorted(vocabulary.all_words)).encode()
    arrays: dict[str, NDArray[Any]] = {
        "numbers": np.array(numbers, dtype=np.int64),
        "words": np.frombuffer(text, dtype=np.uint8),
    }
    with suppress(OSError):  # it costs time, no more
        write_arrays(folder, _KIND, vocabulary.generation, arrays)


def _extended(known: Vocabulary | None, source: Store, generation: int) -> Vocabulary:
    """The words known, and those of the chunks after the last one known: few of them stay apart."""
    base = known and (known.earlier or known)
    new = set(known.words) if known and known.earlier else set[str]()
    room = MOST_WORDS - (len(base.words) if base else 0)
    last, chunks = (known.last_chunk, known.chunks) if known else (0, 0)
    for row in source.passages(last):
        last, chunks = row.chunk_id, chunks + 1
        if len(new) < room:
            new |= words_of(row.context) | words_of(row.text)
    if base is None:
        return Vocabulary(generation, last, chunks, frozenset(new))
    new -= base.words
    if len(new) > APART:
        return Vocabulary(generation, last, chunks, base.words | new)
    return Vocabulary(generation, last, chunks, frozenset(new), base)


def _newest(folder: Path, generation: int) -> Vocabulary | None:
    """The newest ones that are not ahead of the store and can be read."""
    files = derived_files(folder, _KIND)
    for path in sorted(files, key=files.__getitem__, reverse=True):
        arrays = read_arrays(path) if files[path] <= generation else None
        if arrays is not None:
            with suppress(KeyError, ValueError):
                version, last, chunks = arrays["numbers"].tolist()
                if version == FORMAT:
                    held = arrays["words"].tobytes().decode().split("\n")
                    return Vocabulary(files[path], last, chunks, frozenset(filter(None, held)))
    return None
