"""Functional relations: of those from one entity, a later one ends an earlier one.

A person lives in one place at a time: where two facts of a type that is declared functional, or of
one meaning with it (`works_at` and `works_for`), lead from one entity to different ones, the
earlier holds until the later begins. A fact begins with
its `valid_from`, else, to find its place among the others, when its passage was said; one without
either is older than those that have one, and begins with its `recorded_at`.
`valid_until` is derived from `stated_until` (what the text says) and from the other facts, is kept
right whenever they change, and nothing is ever deleted by a contradiction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple

from clew.stores.backend import Backend, to_text
from clew.stores.documents.chunk_dates import moment_of
from clew.stores.statements.relations import ALL_FACTS, FACTS_FROM, FORGET_ENDS, HEADS_OF_TAILS
from clew.types.relation_types import meaning_of

FOREVER = "9999-12-31T23:59:59.999999+00:00"
"""A time after all others, as they are stored."""


class Fact(NamedTuple):
    """A functional relation, with times as they are stored: they compare as text."""

    id: int
    head: int
    relation_type: str
    tail: int
    is_dated: bool
    start: str
    stated_until: str | None
    valid_until: str | None
    """What the store shows."""


_place = attrgetter("is_dated", "start")


def _group(fact: Fact) -> tuple[int, str]:
    return fact.head, meaning_of(fact.relation_type)


def ends(facts: Iterable[Fact]) -> Iterator[tuple[Fact, str | None]]:
    """Each fact of one entity and meaning with its end: the earliest start of a later, other fact.

    The end that the text states goes before where it is earlier; None where there is neither.
    Facts that begin at once do not end each other.
    """
    starts: dict[int, str] = {}  # earliest start of a later fact, of two tails at most
    latest_first = sorted(facts, key=_place, reverse=True)
    for _, together in groupby(latest_first, key=_place):
        level = list(together)
        for fact in level:
            found = [start for tail, start in starts.items() if tail != fact.tail]
            stated = [fact.stated_until] if fact.stated_until else []
            yield fact, min([*found, *stated], default=None)
        for fact in level:
            starts[fact.tail] = min(fact.start, starts.get(fact.tail, FOREVER))
        starts = dict(nsmallest(2, starts.items(), key=itemgetter(1)))


def all_ends(facts: Iterable[Fact]) -> Iterator[tuple[Fact, str | None]]:
    """Each fact of any entities and meanings with its end."""
    for _, of_group in groupby(sorted(facts, key=_group), key=_group):
        yield from ends(of_group)


def derived_ends(facts: Iterable[Fact]) -> dict[int, str | None]:
    """Every fact's end by its id."""
    return {fact.id: until for fact, until in all_ends(facts)}


def changed_ends(facts: Iterable[Fact]) -> list[tuple[int, str | None]]:
    """(id, end) of the facts of which the store shows another end."""
    return [(fact.id, until) for fact, until in all_ends(facts) if until != fact.valid_until]


# --- in a store --------------------------------------------------------------------------


def recompute_valid_until(
    backend: Backend, heads: Collection[int], functional: Sequence[str]
) -> set[tuple[int, str, int]]:
    """Derive the ends of the functional relations from the entities given; call inside `write`.

    Returns (head, type, tail) of those of which the end changed.
    """
    if not (heads and functional):
        return set()
    return _write_ends(backend, read_facts(backend, functional, heads))


def recompute_all(backend: Backend, functional: Sequence[str]) -> None:
    """Derive every relation's end; call inside `write`."""
    backend.execute(FORGET_ENDS)
    _write_ends(backend, read_facts(backend, functional))


def _write_ends(backend: Backend, facts: Sequence[Fact]) -> set[tuple[int, str, int]]:
    ends = dict(changed_ends(facts))
    if ends:
        rows = [{"id": id_, "valid_until": until} for id_, until in ends.items()]
        backend.update("relations", rows)
    return {(f.head, f.relation_type, f.tail) for f in facts if f.id in ends}


def read_facts(
    backend: Backend,
    functional: Sequence[str],
    heads: Collection[int] | None = None,
    known: str = FOREVER,
) -> list[Fact]:
    """The functional facts of some entities or of all, as they were known at a moment."""
    if not functional or (heads is not None and not heads):
        return []
    if heads is None:
        rows = backend.rows(ALL_FACTS, types=functional, known=known)
    else:
        rows = backend.rows(FACTS_FROM, types=functional, known=known, ids=list(heads))
    return [_fact(*row) for row in rows]


def _fact(
    id_: int,
    head: int,
    relation_type: str,
    tail: int,
    valid_from: str | None,
    said: int | None,
    recorded_at: str,
    *ends: str | None,
) -> Fact:
    start = valid_from or (None if said is None else to_text(moment_of(said)))
    return Fact(id_, head, relation_type, tail, start is not None, start or recorded_at, *ends)


def heads_around(
    backend: Backend, entity_ids: Collection[int], functional: Sequence[str]
) -> set[int]:
    """The entities, and those from which functional relations lead to them."""
    if not functional or not entity_ids:
        return set(entity_ids)
    rows = backend.rows(HEADS_OF_TAILS, ids=list(entity_ids), types=functional)
    return {*entity_ids, *(row[0] for row in rows)}
