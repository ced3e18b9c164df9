"""The tagger: how a text is cut for it, and what it tells of plain sentences."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import ModelError
from clew.models.tagger import CASES, WHOLE, OnnxTagger, encode, windows
from clew.ports import KINDS, RELATIONS


@pytest.fixture(scope="module")
def tagger() -> OnnxTagger:
    return OnnxTagger()


@st.composite
def told(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    """A text and some sentences of it, apart from each other and in order."""
    text = draw(st.text(min_size=1, max_size=1500))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=20)))
    kept = draw(st.lists(st.booleans(), min_size=len(cuts) - 1, max_size=len(cuts) - 1))
    ranges = [one for one, is_kept in zip(pairwise(cuts), kept, strict=True) if is_kept]
    return text, ranges


@given(told=told(), title=st.text(max_size=200))
@settings(deadline=None)
def test_each_sentence_is_read_once_and_each_name_has_its_own_tokens(
    tagger: OnnxTagger, told: tuple[str, list[tuple[int, int]]], title: str
) -> None:
    text, sentences = told
    made = list(windows(text, sentences, tagger.tokenizer))

    assert [one for window in made for one in window.sentences] == sentences
    for window in made:
        tokens = encode(tagger.tokenizer, title, text, window)
        assert len(tokens.ids) == len(tokens.cases) == len(tokens.starts) == len(tokens.ends)
        assert len(tokens.ids) <= WHOLE
        assert set(tokens.cases) <= set(range(CASES))
        for start, end in window.sentences:
            place = tokens.place(start, end)
            if place is None:
                continue
            first, last = place
            # All tokens of the name, and no other.
            inside = [
                n
                for n, (a, b) in enumerate(zip(tokens.starts, tokens.ends, strict=True))
                if 0 <= a < end and b > start and n < len(tokens.ids) - 1
            ]
            assert inside == list(range(first, last))


@given(told=told())
@settings(deadline=None, max_examples=20)
def test_what_is_said_are_probabilities_of_all_pairs_of_names_apart(
    tagger: OnnxTagger, told: tuple[str, list[tuple[int, int]]]
) -> None:
    text, sentences = told
    named = {(a, b): [(a, a + 1), (b - 1, b)] if b - a > 1 else [(a, b)] for a, b in sentences}
    found = tagger.read("A title", text, named)

    assert found.keys() == named.keys()
    for sentence, said in found.items():
        assert said.kinds.shape == (len(named[sentence]), len(KINDS))
        assert said.kinds.sum(1) == pytest.approx(1, abs=1e-4)
        assert said.relations.keys() <= {(0, 1)}
        for chances in said.relations.values():
            assert chances.shape == (len(RELATIONS),)
            assert chances.sum() == pytest.approx(1, abs=1e-4)


SAYINGS = (
    ("My sister Annis Orme lives in Whitby.", "Annis Orme", "Whitby", "lives_in"),
    ("Brinkworth Ltd employs Tom Halse as a driver.", "Brinkworth Ltd", "Tom Halse", "works_at<"),
    ("Tom Halse works at Brinkworth Ltd.", "Tom Halse", "Brinkworth Ltd", "works_at"),
    ("Judith is married to Tom Halse.", "Judith", "Tom Halse", "married_to"),
)
NAMES = {
    **dict.fromkeys(("Annis Orme", "Tom Halse", "Judith"), "person"),
    "Whitby": "place",
    "Brinkworth Ltd": "organisation",
}


@pytest.mark.parametrize(("text", "one", "other", "relation"), SAYINGS)
def test_plain_sentences_are_understood(
    tagger: OnnxTagger, text: str, one: str, other: str, relation: str
) -> None:
    spans = [(text.index(name), text.index(name) + len(name)) for name in (one, other)]
    whole = (0, len(text))
    said = tagger.read("Family", text, {whole: spans})[whole]

    assert [KINDS[row.argmax()] for row in said.kinds] == [NAMES[one], NAMES[other]]
    assert RELATIONS[said.relations[0, 1].argmax()] == relation


def test_a_tagger_that_is_nowhere_is_an_error(tmp_path: object) -> None:
    with pytest.raises(ModelError, match="tagger"):
        OnnxTagger(f"{tmp_path}/none").read("", "Whitby", {(0, 6): [(0, 6)]})
