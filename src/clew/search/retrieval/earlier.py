"""Passages of earlier versions that stood at the moment asked for.

They are in no index. Few documents change, so that those of one moment are read and compared whole.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.ports import Store
    from clew.search.options import Options
    from clew.types import PassageRecord, Vector

MOST = 20_000
"""Passages of earlier versions that a question reads, at most."""


class EarlierPassage(NamedTuple):
    """A passage of a version that was replaced."""

    record: PassageRecord
    counts: Counter[str]
    """How often it holds each term."""
    vector: Vector | None
    """None where another model made it than the store's."""

    @property
    def id(self) -> int:
        """No passage that the store holds has it."""
        return self.record.chunk.id


def read_earlier(store: Store, options: Options) -> dict[int, EarlierPassage]:
    """By id: the passages replaced since that stood at the moment asked for, within the filters."""
    found = _standing(store, options)
    return {passage.id: passage for passage in islice(found, MOST)}


def _standing(store: Store, options: Options) -> Iterator[EarlierPassage]:
    if options.as_of is None:
        return
    period = options.period
    for version in store.earlier_at(options.as_of, options.where):
        vectors = [None] * len(version.passages) if version.vectors is None else version.vectors
        for record, terms, vector in zip(version.passages, version.terms, vectors, strict=True):
            if period is None or any(period.overlaps(time) for time in record.times):
                yield EarlierPassage(record, Counter(terms.split()), vector)
