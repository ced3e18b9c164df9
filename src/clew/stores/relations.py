"""Relations as rows, whatever the back end: made of what a text states, and shown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import nsmallest
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from clew.ports import FoundRelation
from clew.stores.backend import NO_LIMIT, Backend, Statement, distinct, limited, to_text, to_time
from clew.stores.dates import known_until, moment_of
from clew.stores.state import STATE, State, StoreState
from clew.stores.statements import relations as statements
from clew.stores.statements.documents import FIRST_RECORDED
from clew.stores.statements.relations import ALL_FACTS, FACTS_FROM, FORGET_ENDS, HEADS_OF_TAILS
from clew.text import entity_key
from clew.types import IndexedDocument, Relation
from clew.types.relation_types import meaning_of

if TYPE_CHECKING:
    from clew.stores.aliases import ResolvedNames


_SAID = (
    "id weight is_causal confidence context valid_from valid_until stated_until sentence extractor"
).split()
TEXT_WEIGHT = 0.5
"""Weight of a relation that patterns found in a text."""
NO_CONTEXT = "{}"

Stated: TypeAlias = tuple[str, str, str]
"""(key of the head, relation type, key of the tail)"""
History: TypeAlias = Mapping[Stated, tuple[str, str | None]]
"""(recorded_at, retracted_at) of what a document stated before."""


class End(NamedTuple):
    """An entity at an end of a relation, and the alias that names it there."""

    alias_id: int
    entity_id: int


class RelationRow(NamedTuple):
    """A relation as it is stored; times are text that compares as such."""

    id: int
    from_entity_id: int
    to_entity_id: int
    from_alias_id: int
    to_alias_id: int
    relation_type: str
    weight: float
    is_causal: bool
    confidence: float
    context: str
    """JSON"""
    valid_from: str | None
    valid_until: str | None
    """The end that is shown."""
    stated_until: str | None
    """The end that the text states."""
    recorded_at: str
    retracted_at: str | None
    chunk_id: int | None
    sentence: int | None
    extractor: str


# --- from texts --------------------------------------------------------------------------


def text_row(
    found: FoundRelation,
    head: End,
    tail: End,
    *,
    relation_id: int,
    recorded: tuple[str, str | None],
    extractor: str,
    weight: float = TEXT_WEIGHT,
) -> RelationRow:
    """The row of a relation that a chunk states; `recorded` is (recorded_at, retracted_at)."""
    chunk_id, relation = found
    until = to_text(relation.valid_until)
    return RelationRow(
        id=relation_id,
        from_entity_id=head.entity_id,
        to_entity_id=tail.entity_id,
        from_alias_id=head.alias_id,
        to_alias_id=tail.alias_id,
        relation_type=relation.relation_type,
        weight=float(weight),
        is_causal=relation.is_causal,
        confidence=float(relation.confidence),
        context=NO_CONTEXT,
        valid_from=to_text(relation.valid_from),
        valid_until=until,
        stated_until=until,
        recorded_at=recorded[0],
        retracted_at=recorded[1],
        chunk_id=chunk_id,
        sentence=relation.sentence,
        extractor=extractor,
    )


def document_rows(
    entry: IndexedDocument,
    chunk_ids: Sequence[int],
    resolved: ResolvedNames,
    *,
    first_id: int,
    history: History,
    moment: str,
    extractor: str,
) -> list[RelationRow]:
    """What a document states; what it stated before was known since then."""
    rows: list[RelationRow] = []
    for chunk_id, relation in _stated(entry, chunk_ids):
        head, tail = entity_key(relation.head), entity_key(relation.tail)
        if head and tail:
            row = text_row(
                (chunk_id, relation),
                End(resolved.alias_ids[head], resolved.entity_ids[head]),
                End(resolved.alias_ids[tail], resolved.entity_ids[tail]),
                relation_id=first_id + len(rows),
                recorded=history.get((head, relation.relation_type, tail), (moment, None)),
                extractor=extractor,
            )
            rows.append(row)
    return rows


def keys_stated(entry: IndexedDocument) -> list[Stated]:
    """What a document states, each once."""
    found = (relation for chunk in entry.extraction.chunks for relation in chunk.relations)
    stated = ((entity_key(r.head), r.relation_type, entity_key(r.tail)) for r in found)
    return list(dict.fromkeys(fact for fact in stated if fact[0] and fact[2]))


def _stated(entry: IndexedDocument, chunk_ids: Sequence[int]) -> Iterator[FoundRelation]:
    for chunk_id, chunk in zip(chunk_ids, entry.extraction.chunks, strict=False):
        for relation in chunk.relations:
            yield chunk_id, relation


def count_by_entity(rows: Iterable[RelationRow]) -> Counter[int]:
    """The number of relations that start or end at each entity."""
    return Counter(end for row in rows for end in {row.from_entity_id, row.to_entity_id})


def heads_of(rows: Iterable[RelationRow], types: Collection[str]) -> set[int]:
    """Entities from which the relations of some types lead."""
    return {row.from_entity_id for row in rows if row.relation_type in types}


# --- shown -------------------------------------------------------------------------------


def to_relation(row: RelationRow) -> Relation:
    """A row as the store shows it."""
    return Relation(
        id=row.id,
        from_entity_id=row.from_entity_id,
        to_entity_id=row.to_entity_id,
        relation_type=row.relation_type,
        weight=row.weight,
        is_causal=bool(row.is_causal),
        confidence=row.confidence,
        context={} if row.context == NO_CONTEXT else json.loads(row.context),
        valid_from=to_time(row.valid_from),
        valid_until=to_time(row.valid_until),
        recorded_at=datetime.fromisoformat(row.recorded_at),
        retracted_at=to_time(row.retracted_at),
        chunk_id=row.chunk_id,
        sentence=row.sentence,
        extractor=row.extractor,
        stated_until=to_time(row.stated_until),
    )


def valid_at(
    rows: Iterable[RelationRow], held: str, derived: Mapping[int, str | None]
) -> Iterator[RelationRow]:
    """Those that had not ended at a moment, with the end that was known.

    `derived` gives the ends of functional relations, by id, as they were known.
    """
    for row in rows:
        until = derived.get(row.id, row.stated_until)
        if until is None or until > held:
            yield row._replace(valid_until=until)


# --- read --------------------------------------------------------------------------------


class Relations(StoreState):
    """The part of `ports.GraphStore` that knows relations."""

    def relations(
        self,
        entity_ids: Sequence[int],
        limit: int = 1000,
        *,
        as_of: datetime | None = None,
        among: bool = False,
    ) -> list[Relation]:
        """Relations that start or end at one of the entities; heaviest first, then by id.

        With `among`, those alone that start at one of them and end at one of them. Without `as_of`,
        all that are not retracted, those that hold no more among them. With it, those that held at
        that moment and that the store knew at that moment; of a store that is younger than that,
        those that held.

        `valid_until` is the end that the store knew at `as_of`.
        """
        statement = statements.RELATIONS_AMONG if among else statements.RELATIONS
        return self._read(statement, entity_ids, limit, as_of)

    def chunk_relations(
        self, chunk_ids: Sequence[int], *, as_of: datetime | None = None
    ) -> list[Relation]:
        """Relations that the chunks state, in the order of the ids given, then by id.

        `as_of` as in `relations`.

        `valid_until` is the end that the store knew at `as_of`.
        """
        return self._read(statements.CHUNK_RELATIONS, chunk_ids, -1, as_of)

    def relations_by_id(self, relation_ids: Sequence[int]) -> list[Relation]:
        """Relations in the order of the ids given; unknown and retracted ones are left out."""
        return self._read(statements.RELATIONS_BY_ID, relation_ids, -1, None)

    def unstated_relations(self, entity_ids: Sequence[int]) -> list[Relation]:
        """Relations of the entities that no text states and that are not retracted; by id."""
        rows = self.backend.rows(statements.UNSTATED_RELATIONS, ids=distinct(entity_ids))
        return [to_relation(RelationRow(*row)) for row in rows]

    def relation_counts(self) -> list[tuple[str, int, int]]:
        """(type, distinct facts, causal ones among them) of what is not retracted; most first."""
        rows = self.backend.rows(statements.RELATION_COUNTS)
        return [(kind, count, causal) for kind, count, causal in rows]

    def _read(
        self, statement: Statement, ids: Sequence[int], limit: int, as_of: datetime | None
    ) -> list[Relation]:
        asked, most = [int(i) for i in ids], limited(limit)
        if not asked:
            return []
        if as_of is None:
            values = {"ids": asked, "held": None, "known": FOREVER}
            rows = self.backend.rows(statement, **values, limit=most)
            return [to_relation(RelationRow(*row)) for row in rows]
        with self.backend.consistent():
            found = self._read_as_of(statement, asked, as_of)
        return [to_relation(row) for row in islice(found, most)]

    def _read_as_of(
        self, statement: Statement, ids: Sequence[int], moment: datetime
    ) -> Iterator[RelationRow]:
        """Those that held at a moment; what functional ones end was told only later, perhaps."""
        first, state = self.backend.gather(FIRST_RECORDED, STATE)
        known = known_until(first, moment) or FOREVER
        held = to_text(moment) or FOREVER
        values = {"ids": ids, "held": held, "known": known}
        rows = self.backend.rows(statement, **values, limit=NO_LIMIT)
        found = [RelationRow(*row) for row in rows]
        heads = {row.from_entity_id for row in found}
        facts = read_facts(self.backend, State(state).functional, heads, known)
        return valid_at(found, held, derived_ends(facts))


def update_relations(backend: Backend, rows: Iterable[RelationRow]) -> None:
    """Write what is said of relations now, inside `write`; their ends and types stay."""
    changed = [{name: getattr(row, name) for name in _SAID} for row in rows]
    if changed:
        backend.update("relations", changed)


# Functional relations: of those from one entity, a later one ends an earlier one.
#
# A person lives in one place at a time: where two facts of a type that is declared functional, or
# of
# one meaning with it (`works_at` and `works_for`), lead from one entity to different ones, the
# earlier holds until the later begins. A fact begins with
# its `valid_from`, else, to find its place among the others, when its passage was said; one
# without
# either is older than those that have one, and begins with its `recorded_at`.
# `valid_until` is derived from `stated_until` (what the text says) and from the other facts, is
# kept
# right whenever they change, and nothing is ever deleted by a contradiction.


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
