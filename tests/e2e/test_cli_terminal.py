"""What a person sees: bars, colours, ranges, threads."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TextIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import clew as library_api
from clew.cli.output import Page, PlainPage
from clew.cli.render import date_range, marked, matches, moment, print_thread
from clew.cli.safe_stream import printable
from clew.cli.styled import StyledPage
from clew.text import terms
from clew.times import read_period
from clew.types import PathStep
from tests.e2e.conftest import Library
from tests.security import terminal

_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_MARKED = re.compile(r"\x1b\[[\d;]*33m([^\x1b]+)\x1b")


def on_terminal(*arguments: str | Path, cwd: Path, answer: str = "", **environment: str) -> str:
    """What a terminal of 60 columns and colours gets of a command."""
    colours = {"TERM": "xterm-256color", "COLUMNS": "60", **environment}
    return terminal.on_terminal(*arguments, cwd=cwd, answer=answer, **colours).text


def test_matched_words_are_marked_and_lines_are_folded(indexed: Library, tmp_path: Path) -> None:
    question = "Who built the mills of Harrow Ford?"

    shown = on_terminal("search", question, "--store", indexed.store, cwd=tmp_path)

    assert {"mill", "Harrow", "Ford", "built"} <= set(_MARKED.findall(shown))
    assert "The" not in _MARKED.findall(shown)
    text = [line for line in _STYLE.sub("", shown).splitlines() if line.startswith("    ")]
    assert max(map(len, text)) <= 60
    assert any(line.startswith("    ● ") for line in text)


def test_no_color_means_none(indexed: Library, tmp_path: Path) -> None:
    shown = on_terminal(
        "search", "Harrow Ford", "--store", indexed.store, cwd=tmp_path, NO_COLOR="1"
    )

    assert "Harrow Ford" in shown
    assert re.search(r"\x1b\[[\d;]*3[0-7]", shown) is None


def test_indexing_draws_a_bar_with_its_rate(indexed: Library, tmp_path: Path) -> None:

    plain = _STYLE.sub("", on_terminal("index", indexed.folder, cwd=tmp_path))
    assert re.search(r"━+ +\d+/4 +[\d,.]+/s", plain)
    assert "4 added" in plain


def test_json_on_a_terminal_is_json_alone(indexed: Library, tmp_path: Path) -> None:
    shown = on_terminal("index", indexed.folder, "--json", cwd=tmp_path)

    assert shown.startswith("{\n")
    assert "\x1b" not in shown


def test_what_takes_a_while_is_shown_until_it_is_done(library: Library, tmp_path: Path) -> None:
    store = ("--store", library.store)
    with library_api.open(library.store) as engine:  # another test may have made them already
        engine.delete([engine.documents.list()[0].id])

    first = on_terminal("communities", *store, cwd=tmp_path)
    again = on_terminal("communities", *store, cwd=tmp_path)

    assert "…" in _STYLE.sub("", first).splitlines()[0]
    assert "…" not in again
    assert _STYLE.sub("", again).startswith("# ")


def test_a_path_is_folded_behind_its_margin(indexed: Library, tmp_path: Path) -> None:
    ends = ("Jonas Reed", "Lorne Estate", "--limit", "1")

    shown = on_terminal("path", *ends, "--store", indexed.store, cwd=tmp_path)

    hops, *lines = _STYLE.sub("", shown).rstrip().splitlines()
    assert hops == "2 hops"
    assert max(map(len, lines)) <= 60
    assert all(line.startswith("    ") for line in lines)


@pytest.mark.parametrize(("answer", "left"), [("n\n", 4), ("y\n", 2)])
def test_delete_asks(library: Library, tmp_path: Path, answer: str, left: int) -> None:
    store = ("--store", library.store)

    shown = on_terminal("delete", "--where", "year<2022", *store, cwd=tmp_path, answer=answer)

    assert "Delete 2 documents?" in shown
    with library_api.open(library.store) as engine:
        assert len(engine.documents.list()) == left


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


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [
        (utc(1860, 1, 1), utc(1885, 1, 1), "1860 to 1884"),
        (utc(1860, 1, 1), utc(1861, 1, 1), "1860"),
        (utc(2020, 1, 1), None, "since 2020"),
        (None, utc(2020, 1, 1), "until 2019"),
        (utc(2020, 1, 1), utc(2020, 5, 1), "January 2020 to April 2020"),
        (utc(2024, 2, 1), utc(2024, 3, 1), "February 2024"),
        (utc(2023, 5, 8), utc(2024, 1, 1), "8 May 2023 to 31 December 2023"),
        (utc(2023, 5, 8), utc(2023, 5, 9), "8 May 2023"),
        (utc(2023, 5, 8, 9, 30), None, "since 8 May 2023, 09:30"),
        (utc(2023, 5, 8, 9, 30), utc(2023, 5, 9), "8 May 2023, 09:30 to 8 May 2023"),
        (None, None, ""),
    ],
)
def test_the_longest_units_that_say_it_exactly(
    start: datetime | None, end: datetime | None, shown: str
) -> None:
    assert date_range(start, end) == shown


_DAYS = st.dates(min_value=utc(1000, 1, 1).date(), max_value=utc(2900, 1, 1).date())


@given(_DAYS, st.integers(1, 2000))
def test_what_is_shown_means_the_same_days(day: datetime, length: int) -> None:
    start = utc(day.year, day.month, day.day)
    end = start + timedelta(days=length)

    first, _, last = date_range(start, end).partition(" to ")

    begun, ended = read_period(first), read_period(last or first)
    assert begun is not None
    assert ended is not None
    assert (begun.start, ended.end) == (start, end)


def test_the_last_moment_of_a_day_is_the_day() -> None:
    end = utc(2024, 1, 1)

    assert moment(end - timedelta(microseconds=1)) == "31 December 2023"
    assert moment(end) == "1 January 2024, 00:00"
