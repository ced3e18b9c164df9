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
from clew.types import IndexedDocument

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
