"""Where a question's terms stand in sentences, read from the sentences and not from the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import find_sorted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Ints, Snapshot

_LAST_BITS = np.uint64(0xFFF)


def sentences_by_owner(snapshot: Snapshot, rows: Ints) -> tuple[Ints, Ints]:
    """Rows of the chunks' sentences and contexts, and which of the chunks each belongs to."""
    starts = snapshot.sentence_starts[rows]
    counts = snapshot.sentence_starts[rows + 1] - starts
    owner = np.repeat(np.arange(len(rows)), counts)
    first = np.cumsum(counts) - counts
    return np.arange(counts.sum()) - first[owner] + starts[owner], owner


def find_terms_in(snapshot: Snapshot, term_rows: Ints, sentences: Ints) -> tuple[Ints, Ints]:
    """Each place where one of some terms stands in one of some sentences.

    Returns the sentence's and the term's place in what was given, sentence by sentence.
    """
    hashes = snapshot.vocabulary[term_rows]
    order = np.argsort(hashes)
    entries, owner = snapshot.sentence_terms.entries(sentences)
    held, places = find_few(hashes[order], snapshot.sentence_terms.items[entries])
    return owner[held], order[places]


def find_few(wanted: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> tuple[Ints, Ints]:
    """Where a few sorted hashes stand among very many: the places there, and which it is of each.

    Their last bits tell most of the others apart before any is searched for.
    """
    may_be = np.zeros(_LAST_BITS + 1, dtype=bool)
    may_be[wanted & _LAST_BITS] = True
    near = np.flatnonzero(may_be[hashes & _LAST_BITS])
    which, held = find_sorted(wanted, hashes[near])
    return near[held], which[held]
