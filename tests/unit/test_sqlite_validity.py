"""Ends of functional relations: the same in whatever order documents come, go and are declared."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.stores.relations import Fact, ends
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER, make_entry
from clew.types import IndexedDocument

Stated = tuple[str, str, int, int | None]
"""(person, city, from year, until year)"""

_facts = st.lists(
    st.tuples(
        st.sampled_from(["Anna", "Bob"]),
        st.sampled_from(["Paris", "Rome", "Oslo"]),
        st.integers(2000, 2006),
        st.none() | st.integers(2001, 2010),
    ),
    max_size=8,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path, embedder=EMBEDDER, functional=("lives_in",))
    yield store
    assert store.check().problems == ()
    store.close()


def _year(number: int | None) -> datetime | None:
    return None if number is None else datetime(number, 1, 1, tzinfo=UTC)


def _entry(number: int, fact: Stated, kind: str = "lives_in") -> IndexedDocument:
    person, city, since, until = fact
    return make_entry(
        f"{number}",
        f"{person} is in {city}.",
        names=[person, city],
        relations=[(person, kind, city)],
        valid_from=_year(since),
        valid_until=_year(until),
    )


def _shown(store: SqliteStore) -> dict[str, int | None]:
    """The year in which each document's relation ends."""
    found: dict[str, int | None] = {}
    for document in store.documents():
        (chunk,) = store.document_chunks(document.id)
        (relation,) = store.chunk_relations([chunk.id])
        found[document.source] = relation.valid_until.year if relation.valid_until else None
    return found


def _expected(facts: Sequence[Stated]) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for number, (person, city, since, until) in enumerate(facts):
        starts = [f[2] for f in facts if f[0] == person and f[1] != city and f[2] > since]
        found[f"{number}"] = min([*starts, *([until] if until else [])], default=None)
    return found


@settings(max_examples=25)
@given(data=st.data(), facts=_facts)
def test_documents_that_come_and_go_in_any_order_leave_the_same_ends(
    data: st.DataObject, facts: list[Stated]
) -> None:
    order = data.draw(st.permutations(range(len(facts))))
    extra = data.draw(_facts)
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder), embedder=EMBEDDER, functional=("lives_in",))
        with store.batch():
            for number, fact in enumerate(extra):
                store.save(_entry(number, fact))
            for number in order:  # some of these replace one of the others
                store.save(_entry(number, facts[number]))
            gone = [_entry(n, f).document.id for n, f in enumerate(extra) if n >= len(facts)]
            store.delete(gone)
        assert _shown(store) == _expected(facts)
        assert store.check().problems == ()
        store.close()


@given(
    st.lists(
        st.builds(
            lambda tail, dated, start, stated: Fact(
                0, 1, "t", tail, dated, f"{start}", f"{stated}" if stated else None, None
            ),
            st.integers(1, 5),
            st.booleans(),
            st.integers(100, 120),
            st.none() | st.integers(100, 125),
        ),
        max_size=30,
    )
)
def test_the_ends_of_many_facts_are_those_of_the_definition(facts: list[Fact]) -> None:
    numbered = [fact._replace(id=i) for i, fact in enumerate(facts)]
    assert {fact.id: end for fact, end in ends(numbered)} == {
        fact.id: _earliest(fact, numbered) for fact in numbered
    }


def _earliest(fact: Fact, others: Iterable[Fact]) -> str | None:
    place = (fact.is_dated, fact.start)
    found = [o.start for o in others if o.tail != fact.tail and (o.is_dated, o.start) > place]
    return min([*found, *([fact.stated_until] if fact.stated_until else [])], default=None)


def test_what_is_functional_is_remembered_and_may_be_declared_anew(store: SqliteStore) -> None:
    store.save(_entry(0, ("Anna", "Paris", 2000, None)))
    store.save(_entry(1, ("Anna", "Rome", 2004, None)))
    store.save(_entry(2, ("Anna", "Acme", 2001, None), "works_at"))
    store.save(_entry(3, ("Anna", "Zeta", 2003, 2009), "works_at"))
    assert _shown(store) == {"0": 2004, "1": None, "2": None, "3": 2009}
    generation = store.generation()
    same = SqliteStore(store.folder, functional=["lives_in"])
    silent = SqliteStore(store.folder)
    assert store.generation() == generation
    silent.save(_entry(4, ("Anna", "Oslo", 2006, None)))
    assert _shown(store) == {"0": 2004, "1": 2006, "2": None, "3": 2009, "4": None}
    other = SqliteStore(store.folder, functional=["works_at"])
    assert store.generation() > generation + 1
    # The first store goes on by what was declared last: the rows never contradict each other.
    store.save(_entry(5, ("Anna", "Nova", 2008, None), "works_at"))
    assert _shown(store) == {"0": None, "1": None, "2": 2003, "3": 2008, "4": None, "5": None}
    for opened in (same, silent, other):
        opened.close()


def test_relations_that_hold_no_more_are_counted(store: SqliteStore) -> None:
    for number, city in enumerate(["Paris", "Rome", "Oslo"]):
        store.save(_entry(number, ("Anna", city, 2000 + number, None)))
    store.save(_entry(3, ("Bob", "Paris", 2000, 9000)))
    store.save(_entry(4, ("Bob", "Paris", 2001, None)))
    (chunk,) = store.document_chunks(_entry(4, ("Bob", "Paris", 2001, None)).document.id)
    store.retract([relation.id for relation in store.chunk_relations([chunk.id])])
    found = store.statistics()
    assert (found["relations"], found["relations_ended"]) == (5, 3)
