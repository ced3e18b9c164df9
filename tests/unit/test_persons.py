"""Short forms of persons' names: which stand for whom, in a document and over a store."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.indexing.linking import Linker
from clew.indexing.ner.persons import full_names, stands_for
from clew.settings import LinkSettings
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import EMBEDDER, make_entry
from clew.text import entity_key
from clew.types import AliasEvidence, IndexedDocument

FIRST = ("Annis", "Bertram", "Cosima", "Dorian", "Gillian", "Thaddeus")
LAST = ("Hocking", "Orme", "Pellow", "Quayle", "Vosper", "Wilczek")

persons = st.tuples(st.sampled_from(FIRST), st.sampled_from((*LAST[:3], "")), st.sampled_from(LAST))


@st.composite
def shortened(draw: st.DrawFn) -> tuple[str, str]:
    """A name in full, and a form of it."""
    first, middle, last = draw(persons)
    full = " ".join(filter(None, (first, middle, last)))
    forms = [first, last, f"{first[0]}. {last}", f"{first} {last[0]}.", f"{first[:4]} {last}"]
    forms += [f"Mrs {last}", f"Dr. {first} {last}"] if middle else [f"Mrs {last}"]
    return draw(st.sampled_from(forms)), full


@given(one=shortened(), other=persons)
def test_a_form_stands_for_its_name_and_for_none_without_its_words(
    one: tuple[str, str], other: tuple[str, str, str]
) -> None:
    short, full = one
    assert stands_for(short, full)
    assert not stands_for(full, short)
    words = {word for word in entity_key(short).split() if len(word) > 2}
    if not any(entity_key(w).startswith(tuple(words)) for w in other if w):
        assert not stands_for(short, " ".join(filter(None, other)))


@given(one=shortened(), others=st.lists(persons, max_size=4))
def test_a_form_that_fits_several_persons_stands_for_none(
    one: tuple[str, str], others: list[tuple[str, str, str]]
) -> None:
    short, full = one
    names = [full, *(" ".join(filter(None, other)) for other in others)]
    found = full_names([short], names).get(short)
    fitting = {name for name in names if stands_for(short, name)}
    if len(fitting) == 1:
        assert found == full
    elif found:
        # Names of one person, the longest of them.
        assert all(name == found or stands_for(name, found) for name in fitting)


def entry_of(number: int, form: str, first: str) -> IndexedDocument:
    """A document that calls a person by one form, beside others."""
    last = LAST[FIRST.index(first)]
    name = {"full": f"{first} {last}", "first": first, "initial": f"{first[0]}. {last}"}[form]
    return make_entry(
        f"notes/{number}.md",
        f"{name} met Tobias Grindle in Ravenglass.",
        names={"Tobias Grindle": "person", "Ravenglass": "place", name: "person"},
    )


@given(
    told=st.lists(
        st.tuples(st.sampled_from(("full", "first", "initial")), st.sampled_from(FIRST[:4])),
        max_size=8,
    ),
    order=st.randoms(use_true_random=False),
)
@settings(max_examples=30, deadline=None)
def test_whoever_comes_first_each_person_is_one(told: list[tuple[str, str]], order: Random) -> None:
    whom = {first for _, first in told}
    told = [*told, *(("full", first) for first in whom)]
    order.shuffle(told)
    with (
        TemporaryDirectory() as folder,
        closing(SqliteStore(Path(folder) / "store", embedder=EMBEDDER)) as store,
    ):
        for number, (form, first) in enumerate(told):
            entry = entry_of(number, form, first)
            links = Linker(store, LinkSettings()).links(entry.extraction)
            store.save(replace(entry, links=links))
        for first in whom:
            last = LAST[FIRST.index(first)]
            forms = {"full": f"{first} {last}", "first": first, "initial": f"{first[0]} {last}"}
            said = [forms[form].lower() for form, whom in told if whom == first]
            names = store.names_by_key(said)
            assert names.keys() == set(said)
            assert len({id_ for _, id_ in names.values()}) == 1


def entities_of(entries: list[IndexedDocument], names: set[str]) -> dict[str, int]:
    """What the names name after the documents were saved one by one."""
    with (
        TemporaryDirectory() as folder,
        closing(SqliteStore(Path(folder) / "store", embedder=EMBEDDER)) as store,
    ):
        for entry in entries:
            links = Linker(store, LinkSettings()).links(entry.extraction, entry.document.source)
            store.save(replace(entry, links=links))
        found = store.names_by_key([entity_key(name) for name in names])
    return {name: found[entity_key(name)][1] for name in names}


@given(order=st.permutations(range(3)), last=st.sampled_from(LAST[1:]))
@settings(max_examples=12, deadline=None)
def test_a_nickname_with_the_surname_is_the_person(order: list[int], last: str) -> None:
    names = dict.fromkeys(("Annis Orme", "Kaz"), "person")
    card = make_entry("notes/card.md", "Annis Orme, Kaz.", names=names)
    stated = AliasEvidence(alias="Kaz", name="Annis Orme", method="exact", score=0.9, evidence="")
    told = ["Kaz Orme met Tobias. Kaz Orme sang, and Kaz left.", f"Kaz {last} met Tobias."]
    entries = [replace(card, extraction=replace(card.extraction, aliases=(stated,)))]
    for number, text in enumerate(told):
        name = " ".join(text.split()[:2])
        names = {name: "person", "Tobias": "person"} | ({"Kaz": "person"} if not number else {})
        entries.append(make_entry(f"notes/{number}.md", text, names=names))
    found = entities_of([entries[n] for n in order], {"Annis Orme", "Kaz Orme", f"Kaz {last}"})

    assert found["Kaz Orme"] == found["Annis Orme"]
    assert (found[f"Kaz {last}"] == found["Annis Orme"]) == (last == "Orme")


@given(
    present=st.sets(st.integers(0, 5), min_size=1), others=st.sets(st.sampled_from(("TV", "UK")))
)
@settings(max_examples=12, deadline=None)
def test_initials_are_persons_where_most_capitals_of_a_document_are(
    present: set[int], others: set[str]
) -> None:
    people = [f"{first} {last}" for first, last in zip(FIRST, LAST, strict=True)]
    known = [make_entry(f"c/{n}.md", f"{n} came.", names={n: "person"}) for n in people]
    short = {f"{FIRST[n][0]}{LAST[n][0]}": people[n] for n in present}
    said = sorted({*short, *others})
    minutes = make_entry("c/minutes.md", f"{', '.join(said)}.", names=dict.fromkeys(said, "name"))
    found = entities_of([*known, minutes], {*people, *said})

    tied = {one for one in short if found[one] == found[short[one]]}
    assert tied == (set(short) if len(short) >= 3 and len(short) > len(others) else set())
    assert all(list(found.values()).count(found[one]) == 1 for one in others)
