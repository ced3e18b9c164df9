"""Terms that a document makes known are found wherever it uses them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.ner.known_terms import KnownTerms
from clew.text import term_words
from tests.unit.test_extract import extract, names, types


def test_a_heading_that_the_text_uses_is_a_concept() -> None:
    text = (
        "# Rate limiting\n\nEach key has rate limiting.\n\n"
        "Since rate-limiting is slow, it is off. Old rate limits stay."
    )

    found = [m for chunk in extract(text).chunks for m in chunk.mentions]

    assert [m.name for m in found] == ["Rate limiting"] * 3
    assert {m.entity_type for m in found} == {"concept"}


def test_a_heading_that_the_text_does_not_use_is_none() -> None:
    assert names("# Rate limiting\n\nEach key has a quota.") == []


def test_bold_terms_and_names_are_found_in_small_letters_and_in_the_plural() -> None:
    assert names("A **bloom filter** is small. We keep two bloom filters.") == ["bloom filter"] * 2
    assert (
        names("They praised Personalised PageRank. We run personalised pagerank.")
        == ["Personalised PageRank"] * 2
    )


def test_persons_are_not_found_in_small_letters() -> None:
    found = types("We met Rose Hill. A rose hill is green.")

    assert found == {"Rose Hill": "person"}


@given(
    st.lists(st.text("abs -", min_size=1, max_size=12), max_size=6),
    st.text("abs -\n", max_size=60),
)
def test_terms_found_are_the_terms_given(terms: list[str], text: str) -> None:
    known = KnownTerms.of(terms)

    last = 0
    for start, end, name in known.find(text, 0, len(text)):
        assert last <= start < end
        assert term_words(text[start:end]) == term_words(name)
        assert name in terms
        last = end


def test_words_that_no_dictionary_knows_are_found_in_small_letters() -> None:
    assert names("It is on PyPI. We took it from pypi then.") == ["PyPI", "PyPI"]
    assert names("Run `dhelper` first. Then dhelper ends; see /etc/dhelper.conf.")[:2] == [
        "dhelper",
        "dhelper",
    ]
    assert names("We met Dickens. A dickens of a noise.") == ["Dickens"]
