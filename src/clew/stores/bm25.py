"""BM25 as FTS5 computes it, of passages whose terms are at hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Phrase: TypeAlias = tuple[str, ...]
"""Words that must stand in a row."""


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


def weights(holders: Sequence[int], passages: int) -> Floats:
    """(p,) the weight of each phrase that so many of all passages hold."""
    held = np.array(holders, dtype=np.float64)
    found: Floats = np.log((passages - held + 0.5) / (held + 0.5))
    return np.where(found <= 0, _LEAST, found)


def scores(
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
