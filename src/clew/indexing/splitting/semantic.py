"""Where the topic turns: adjacent sentences whose embeddings differ more than most do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clew.indexing.splitting.units import Break, Unit, mark

if TYPE_CHECKING:
    from clew.types import Vectors

_PERCENTILE = 20.0
"""The share of borders, least similar first, that are turns of topic."""
_REACH = 1
"""Neighbours on either side that are embedded with a sentence; one alone says too little."""
_FEWEST = 4
"""With fewer sentences there is no saying what is usual."""


def mark_topics(
    units: Sequence[Unit], text: str, embed_documents: Callable[[Sequence[str]], Vectors]
) -> list[Unit]:
    """The units, with `Break.TOPIC` where similarity drops to the lowest fifth of the document's.

    Borders that are stronger than a sentence's already (headings, pages) keep their strength.
    """
    if len(units) < _FEWEST:
        return list(units)
    vectors = embed_documents(_windows(units, text))
    # Rounded: what differs by less is no turn.
    similarities = np.einsum("ij,ij->i", vectors[:-1], vectors[1:]).round(3)
    padded = np.pad(similarities, 1, constant_values=similarities.max())
    # Only the lowest point of a slope: a topic is more than one sentence.
    lowest = (similarities < padded[:-2]) & (similarities <= padded[2:])
    low = similarities <= np.percentile(similarities, _PERCENTILE)
    turns = [units[i + 1] for i in np.flatnonzero(lowest & low).tolist()]
    return mark(
        units,
        {u.start: Break.TOPIC for u in turns if Break.SENTENCE <= u.strength < Break.TOPIC},
    )


def _windows(units: Sequence[Unit], text: str) -> list[str]:
    last = len(units) - 1
    return [
        text[units[max(0, i - _REACH)].start : units[min(last, i + _REACH)].end]
        for i in range(len(units))
    ]
