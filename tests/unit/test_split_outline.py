from __future__ import annotations

import pytest

from clew.indexing.splitting.outline import headings, outline, tables
from clew.indexing.splitting.split import context_of
from clew.types import Document


def levels(text: str, media_type: str = "text/markdown") -> list[tuple[int, str]]:
    return [(h.level, h.title) for h in headings(text, media_type)]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# Plain", "Plain"),
        ("## Closed ##", "Closed"),
        ("   ### *Emphasis* and `code`", "Emphasis* and code"),
        ("# [Link](https://example.org) {#anchor}", "Link"),
        ("# ![badge](b.svg)[Clew][1]", "badgeClew"),
        ("# C#", "C#"),
        ("# C# ##  ", "C#"),
    ],
)
def test_markdown_heading_is_read_without_its_markup(line: str, title: str) -> None:
    assert [h.title for h in headings(line, "text/markdown")] == [title]


@pytest.mark.parametrize("line", ["#tag", "####### seven", "    # code", "text # no", "#", "#!sh"])
def test_what_is_no_heading(line: str) -> None:
    assert headings(line, "text/markdown") == []


def test_fenced_code_holds_no_headings() -> None:
    text = "# A\n```sh\n# comment\n```\n# B\n\n~~~\n# open to the end\n"
    assert levels(text) == [(1, "A"), (1, "B")]


def test_setext_underlines() -> None:
    assert levels("Top\n===\n\nUnder\n---\n\ntext\n\n---\n\nnot\na heading\n---\n") == [
        (1, "Top"),
        (2, "Under"),
    ]


def test_restructured_levels_follow_the_order_of_adornments() -> None:
    text = "=====\nTitle\n=====\n\nPart\n----\n\nSub\n~~~\n\nPart two\n--------\n\nOdd\n====\n"
    assert levels(text, "text/x-rst") == [
        (1, "Title"),
        (2, "Part"),
        (3, "Sub"),
        (2, "Part two"),
        (4, "Odd"),
    ]
    assert levels("Sub\n~~~\n\nTop\n===\n", "text/plain") == [(1, "Top")]


def test_trails_follow_levels_even_where_one_is_left_out() -> None:
    text = "intro\n# A\n### A.x\n## A.y\n# B\n"
    found = outline(headings(text, "text/markdown"))
    assert found.trails == ((), ("A",), ("A", "A.x"), ("A", "A.y"), ("B",))
    assert [text[at : at + 3] for at in found.starts] == ["int", "# A", "###", "## ", "# B"]
    at = {title: text.index(f"# {title}") for title in ("A.x", "A.y", "B")}
    assert found.trail(at["A.x"], at["B"]) == ("A",)
    assert found.trail(at["A.x"], at["A.x"] + 2) == ("A", "A.x")
    assert found.trail(0, len(text)) == ()


def test_tables_are_two_lines_with_bars_or_more() -> None:
    text = "| a |\n|---|\n| 1 |\n\ntext\n| alone\n\n+---+\n| x |\n+---+"
    assert [text[a:b] for a, b in tables(text)] == ["| a |\n|---|\n| 1 |", "+---+\n| x |\n+---+"]


@pytest.mark.parametrize(
    ("title", "trail", "context"),
    [
        ("", (), ""),
        ("Title", (), "Title"),
        ("", ("A", "B"), "A › B"),
        ("Title", ("Title", "A"), "Title › A"),
        ("The  Title ", ("the title", "A", "A", "Title"), "The Title › A › Title"),
        ("Title", ("A", "Title"), "Title › A"),
        ("Title", ("", "  ", "A\nB"), "Title › A B"),
    ],
)
def test_context_is_title_and_trail(title: str, trail: tuple[str, ...], context: str) -> None:
    assert context_of(Document(source="s", text="x", title=title), trail) == context
