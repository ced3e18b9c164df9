"""Paragraphs of PDF pages, and what repeats at their edges."""

from __future__ import annotations

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.reading.formats.pdf import joined_lines, without_running_lines

PROSE = (
    "The river rises in the hills above the town and flows past Berlin to the sea. Nobody has"
    " measured it since. It is said that Maria Keller walked along the whole of it in a summer."
)


def test_lines_that_are_broken_by_width_are_joined() -> None:
    for width in (40, 60, 75):
        assert joined_lines("\n".join(textwrap.wrap(PROSE, width))) == PROSE


def test_lines_of_few_words_are_joined() -> None:
    lines = PROSE.split()
    broken = "\n".join(" ".join(lines[i : i + 2]) for i in range(0, len(lines), 2))
    assert joined_lines(broken) == PROSE


def test_paragraphs_headings_and_items_stay_apart() -> None:
    wrapped = "\n".join(textwrap.wrap(PROSE, 60))
    page = f"Introduction\n{wrapped}\n- one\n- two\n\n{wrapped}"
    assert joined_lines(page) == f"Introduction\n\n{PROSE}\n- one\n- two\n\n{PROSE}"


def test_words_cut_by_a_hyphen_are_whole_and_numbers_are_not_joined() -> None:
    assert joined_lines("some infor-\nmation here") == "some information here"
    assert joined_lines("pages 3-\n4 of it") == "pages 3-4 of it"


def test_running_heads_feet_and_page_numbers_go() -> None:
    names = ["Elbe", "Oder", "Ems", "Main", "Isar", "Inn", "Lech"]
    bodies = [f"The {name} is a river.\nIt is long.\nSo they say of {name}." for name in names]
    pages = [
        f"Annals of Rivers\n{body}\nChapter 2, page {n}\n{n}" for n, body in enumerate(bodies, 1)
    ]
    assert without_running_lines(pages) == bodies


def test_what_stands_on_few_pages_stays() -> None:
    pages = ["Annals of Rivers\nOne.\n1", "Annals of Rivers\nTwo.\n2"]
    assert without_running_lines(pages) == pages
    different = [f"{name} heads the page\nText.\n{name}" for name in "abcdefg"]
    assert without_running_lines(different) == different


@given(st.lists(st.text(alphabet="ab-A.1 \n|", max_size=60), max_size=5))
def test_joining_loses_no_word(pages: list[str]) -> None:
    for page in pages:
        visible = "".join(page.split()).replace("-", "")
        assert "".join(joined_lines(page).split()).replace("-", "") == visible
