"""What a document is called and when it was written, where its reader found neither stated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath

from clew.indexing.markdown import title_from_name
from clew.indexing.splitting.code_blocks import is_code
from clew.indexing.splitting.dated_sections import DatedSection, dated_sections
from clew.indexing.splitting.outline import headings
from clew.text import one_line
from clew.times import (
    day_order,
    is_of_something_else,
    opening_date,
    path_date,
    title_date,
    to_date,
)
from clew.types import DateSource, Document, PartialDate

_BEGINNING = 4000
"""Characters in which a text's first heading and title stand."""
_ORDERED = 100_000
"""Characters that may tell how a text writes its numeric dates."""
_BLOCKS = 4
"""Blocks of lines at the beginning of a text, of which one may be its title."""
_LONGEST_TITLE = 120
_MOST_WORDS = 15
_CENTRED = 8
"""Blanks before a centred line, at least."""
_COLUMNS = re.compile(r"\S {3,}\S")
_NO_TITLE = re.compile(
    r"[.,:;!]$|^(?:copyright\b|\(c\)|©|[-*#>|+\d/<{\[$%@]|\w{1,40}\(|[\w -]{1,40}: )", re.I
)
_GENERIC = frozenset(
    "authors changelog changes contributing contributors copying copyright credits faq history"
    " index install license licence maintainers makefile manifest metadata news notice readme"
    " thanks todo version".split()
)
"""Names that files of many folders share."""
_TABLES = frozenset(("text/csv", "text/tab-separated-values", "application/jsonl"))
"""Texts whose first lines speak of their first rows."""
_DATE_FIELDS = ("created_at", "created", "date", "published")


# --- titles ------------------------------------------------------------------------------


def stated_title(document: Document) -> str:
    """The first line of a plain text where it looks like a title; else empty."""
    return first_line_title(document.text) if document.media_type == "text/plain" else ""


def first_line_title(text: str) -> str:
    """The line that stands alone above a text and is no sentence; empty where there is none."""
    blocks = re.split(r"\n[ \t]*\n", text[:_BEGINNING])
    for block in islice(filter(str.strip, blocks), _BLOCKS):
        lines = [line for line in block.replace("\f", "").split("\n") if line.strip()]
        if not lines or any(_COLUMNS.search(line.strip()) for line in lines):
            continue  # the header of a letter or a standard: "Network Working Group     S. Bradner"
        first = lines[0].expandtabs()
        centred = len(first) - len(first.lstrip()) >= _CENTRED
        underlined = len(lines) == 2 and not any(map(str.isalnum, lines[1].strip()))
        title = one_line(first)
        is_title = _looks_like_title(title) and (centred or underlined or len(lines) == 1)
        return title if is_title and len(blocks) > 1 else ""
    return ""


def _looks_like_title(line: str) -> bool:
    return (
        3 <= len(line) <= _LONGEST_TITLE
        and len(line.split()) <= _MOST_WORDS
        and not line[0].islower()
        and any(map(str.isalpha, line))
        and not _NO_TITLE.search(line)
    )


def title_from_path(source: str) -> str:
    """A file's name as a title: no ending, no underscores, hyphens kept between digits only.

    A name that many folders have ("LICENSE") is told apart by its folder: "LICENSE (openssl)".
    """
    path = PurePosixPath(source.removesuffix(".gz"))
    title = title_from_name(path.name)
    if path.stem.casefold() in _GENERIC and path.parent.name:
        return f"{title} ({path.parent.name})"
    return title


# --- dates -------------------------------------------------------------------------------


def with_date(document: Document, path: str) -> Document:
    """The document with its date, and what says it: metadata, title or heading, path, text.

    What its metadata say may need its text: whoever writes "25/04/2019" puts the day first. The
    properties of its file come last: a template passes its own on to every text that is made of it.
    """
    if document.created_at is not None and document.date_source != "properties":
        return replace(document, date_source=document.date_source or "metadata")
    for source, date in _stated(document, path):
        return replace(
            document, created_at=date.start, date_precision=date.precision, date_source=source
        )
    return document


def _stated(document: Document, path: str) -> Iterator[tuple[DateSource, PartialDate]]:
    """What states a date, in order of trust."""
    day_first = day_order(document.text[:_ORDERED])
    named = {name.casefold(): value for name, value in document.metadata.items()}
    for value in filter(None, map(named.get, _DATE_FIELDS)):
        if date := to_date(value, day_first=day_first):
            yield "metadata", date
    prose = not is_code(document.media_type) and document.media_type not in _TABLES
    # The entries of a change log or a journal have their dates, and the whole has none of them.
    entries = dated_sections(document) if prose else []
    opening = document.text[: entries[0].start] if entries else document.text
    first = islice(headings(opening[:_BEGINNING], document.media_type), 1)
    titles = [heading.title for heading in first]
    if document.title not in _titles(document, entries):
        titles.insert(0, document.title)
    for title in titles:
        if date := title_date(title, day_first=day_first):
            yield "title", date
    name = title_from_name(PurePosixPath(path).name) if path else ""
    if name and not is_of_something_else(name) and (date := path_date(path)):
        yield "path", date
    if prose and (date := opening_date(opening, day_first=day_first)):
        yield "text", date


def _titles(document: Document, entries: Sequence[DatedSection]) -> set[str]:
    """The titles of the entries: the first may be that of the document."""
    if not entries:
        return set()
    starts = {entry.start for entry in entries}
    found = headings(document.text[:_BEGINNING], document.media_type)
    lines = (document.text[start:].partition("\n")[0].strip() for start in sorted(starts)[:3])
    return {*(heading.title for heading in found if heading.start in starts), *lines}
