from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.attach.graph import LONGEST_NAME, MAX_WORDS, lucene_phrases, lucene_words, spans

# What a query parser takes for more than a word.
OPERATORS = set('+-!(){}[]^"~*?:\\/&|')


def texts(question: str) -> list[str]:
    return [span.text for span in spans(question)]


def test_spans_are_all_runs_of_words_that_may_be_names() -> None:
    found = texts("Who taught Ada Morn's sister?")

    assert {"Ada Morn", "Ada", "Morn", "taught", "sister", "Ada Morn sister"} <= set(found)
    assert "Who" not in found
    assert not [text for text in found if "'s" in text]


def test_spans_say_where_they_are() -> None:
    ada, morn = (next(s for s in spans("Is Ada Morn in?") if s.text == t) for t in ("Ada", "Morn"))

    assert (ada.start, ada.end, morn.start, morn.end) == (1, 2, 2, 3)
    assert ada.as_parameter() == {"text": "Ada", "folded": "ada", "start": 1, "end": 2, "words": 1}


@pytest.mark.parametrize("name", ["O'Neill", "Jean-Luc", "AT&T", "U.S", "3M", "Zoë"])
def test_marks_within_names_stay(name: str) -> None:
    assert name in texts(f"Where is {name} now?")


def test_scripts_without_spaces_are_read_by_character() -> None:
    assert {"東京", "東京タワー"} <= set(texts("東京タワーはいつ?"))


@given(st.text(max_size=300))
def test_spans_are_bounded(question: str) -> None:
    found = spans(question)

    assert len(found) <= MAX_WORDS * LONGEST_NAME
    assert all(span.text and span.start < span.end <= MAX_WORDS for span in found)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who built the mill, the old mill?", "built mill old"),
        ("who is it", "who is it"),
        ("NOT Ada OR Bo", "Ada Bo"),
        ("AND", "and"),
        ("Jean-Luc said", '"Jean-Luc" said'),
        ("?!", ""),
    ],
)
def test_words_for_a_fulltext_index(question: str, expected: str) -> None:
    assert lucene_words(question) == expected


@given(st.text(max_size=300))
def test_no_operator_gets_into_a_query_unquoted(question: str) -> None:
    unquoted = "".join(lucene_words(question).split('"')[::2])

    assert OPERATORS.isdisjoint(unquoted)
    assert {"AND", "OR", "NOT"}.isdisjoint(unquoted.split())


def test_phrases_are_quoted() -> None:
    assert lucene_phrases(["Ada Morn", 'the "old" mill\\', "Ada Morn"]) == (
        '"Ada Morn" "the \\"old\\" mill\\\\"'
    )
