from __future__ import annotations

import io
from collections.abc import Callable
from typing import TextIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from clew.cli.output import Page, PlainPage
from clew.cli.render import marked, matches, print_thread
from clew.cli.safe_stream import printable
from clew.cli.styled import StyledPage
from clew.text import terms
from clew.types import PathStep

LATIN = ["river", "rivers", "Rivers'", "weir", "the", "Lorne", "lorne"]
WORDS = [*LATIN, "реки", "река", "ποταμός", "نهر"]


@given(st.lists(st.sampled_from(WORDS)), st.lists(st.sampled_from(WORDS)))
def test_marks_exactly_the_words_that_share_a_term(text: list[str], question: list[str]) -> None:
    asked = frozenset(terms(" ".join(question)))
    joined = ", ".join(text)

    found = [joined[start:end] for start, end in matches(joined, asked)]

    expected = [word for word in text if not asked.isdisjoint(terms(word))]
    assert found == [word.rstrip("'") for word in expected]


@given(st.text(), st.text())
def test_marking_changes_no_character(text: str, question: str) -> None:
    asked = frozenset(terms(question))

    assert "".join(piece for piece, _ in marked(text, asked)) == printable(text)
    assert all(0 <= start < end <= len(text) for start, end in matches(text, asked))


@pytest.mark.parametrize(
    ("text", "question", "expected"),
    [
        ("東京タワーは東京都にある", "東京", ["東京", "東京"]),
        ("東京都", "東京都", ["東京", "京都"]),
        ("The Café de Flore", "cafe", ["Café"]),
        ("Волга — река", "реки", ["река"]),
    ],
)
def test_marks_any_script(text: str, question: str, expected: list[str]) -> None:
    found = [text[start:end] for start, end in matches(text, frozenset(terms(question)))]

    assert found == expected


@given(st.text())
def test_nothing_printable_steers_a_terminal(text: str) -> None:
    shown = printable(text)

    assert not any((ord(c) < 32 and c not in "\t\n") or 127 <= ord(c) < 160 for c in shown)
    assert printable(shown) == shown


@pytest.mark.parametrize("page", [PlainPage, lambda file: StyledPage(Console(file=file, width=99))])
@pytest.mark.parametrize(("encoding", "knot"), [("utf-8", "●"), ("ascii", "*")])
def test_a_thread_is_drawn_in_what_the_encoding_has(
    encoding: str, knot: str, page: Callable[[TextIO], Page]
) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace")
    path = [PathStep(entity="Tarn Abbey", sentence="It\nstands.", document="Abbeys")]

    print_thread(page(out), path, "[1] Abbeys")

    out.seek(0)
    entity, sentence, end = out.read().splitlines()
    assert entity == f"    {knot} Tarn Abbey"
    assert "It stands." in sentence
    assert end.endswith(" [1] Abbeys")
