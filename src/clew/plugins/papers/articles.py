"""Articles as PDF: what layout and wording tell of title, authors, abstract and references."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from clew.indexing.ner.entity_types import is_person_shaped
from clew.plugins.papers.bibliography import year_in
from clew.text import one_line
from clew.types import CharRange, Document

_FRONT = 6_000
"""Characters in which title, authors and abstract begin."""
_LONGEST_ABSTRACT = 5_000
_LONGEST_ENTRY = 1_000
_ABSTRACT = re.compile(r"(?:^|\n)[ \t]{0,9}abstract\b[ \t.:—–-]{0,5}\n{0,3}", re.IGNORECASE)
_AFTER_ABSTRACT = re.compile(
    r"\n[ \t]{0,9}(?:(?:1|I)\.?[ \t]{1,9})?(?:introduction|keywords|index terms|ccs concepts)\b",
    re.IGNORECASE,
)
_REFERENCES = re.compile(
    r"(?:\n|(?<=[.!?] ))[ \t]{0,9}(?:\d{1,2}\.?[ \t]{1,9})?"
    r"(?:references|bibliography|literature cited)[ \t]{0,9}(?:\n|(?=\[1\]|1\. ))",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"(?:\A|\n|(?<=[.\d]) )(?=\[\d{1,4}\] )|\n\n|\n(?=\d{1,4}\. )")
_NUMBER = re.compile(r"(?:\[\d{1,4}\]|\d{1,4}\.)\s")
_QUOTED = re.compile(r"[“\"](?P<title>[^“”\"]{5,300}?)[,.]?[”\"]")
_DATED = re.compile(r"(?:\((?P<year>\d{4})[a-z]?\)|(?<=[.,] )(?P<bare>\d{4})[a-z]?)[.,:]\s")
_MEDICAL = re.compile(r"\. \d{4}(?: [A-Z][a-z]{2}(?: \d{1,2})?)?;")
"""The year of a journal where initials stand behind names: "Vell A. Title. Journal. 2017;30:1"."""
_SENTENCE = re.compile(r"(?<=[\w)\]’][\w)\]’])[.?]\s")
_YEARS = re.compile(r"(?<!\d)(?:19|20)\d\d(?![\d.]\d)")
_NAMES = re.compile(r"\s{0,3}(?:,|;|\band\b|&|·|•|\n)\s{0,3}")
_MARKS = re.compile(r"[\d*†‡§¶\u2217,]{1,9}(?=\s|$)|\S{1,80}@\S{1,80}")
_ARXIV_LINE = re.compile(r"arXiv:\S{1,40}[^\n]{0,80}", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class CitedWork:
    """What an entry of a list of references names."""

    title: str
    """Empty where none was seen."""
    year: int | None
    entry: str
    place: CharRange = (0, 0)
    """Range of the entry in the text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Article:
    """What an article tells of itself."""

    title: str
    authors: tuple[str, ...]
    year: int | None
    abstract: str
    front: str
    """The text that it begins with, identifiers among it."""
    references: tuple[CitedWork, ...]
    authors_place: CharRange
    abstract_place: CharRange


def is_article(text: str) -> bool:
    """Whether a text has an abstract near its beginning, and references."""
    return _ABSTRACT.search(text[:_FRONT]) is not None and _REFERENCES.search(text) is not None


def article_in(document: Document) -> Article:
    """The article that a document is; see `is_article`."""
    text = document.text
    front = text[:_FRONT]
    opening = _ABSTRACT.search(front)
    at, start = opening.span() if opening else (0, 0)
    title, below = _title(document, front[:at])
    abstract = _abstract(text, start) if opening else ""
    return Article(
        title=title,
        authors=tuple(_authors(below)),
        year=year_in(front[:at]),
        abstract=one_line(abstract),
        front=front,
        references=tuple(_references(text)),
        authors_place=(at - len(below), at),
        abstract_place=(start, start + len(abstract)),
    )


def _title(document: Document, head: str) -> tuple[str, str]:
    """The title, and what follows it; of a file that tells none the first paragraph."""
    head = _ARXIV_LINE.sub("", head)
    known = document.title
    if known and (at := one_line(head).find(known)) >= 0:
        return known, head[min(len(head), at + len(known)) :]
    blocks = [block for block in head.strip().split("\n") if block.strip()]
    if blocks and not known:
        return one_line(blocks[0]), "\n".join(blocks[1:])
    return known, head


def _authors(text: str) -> Iterator[str]:
    """The names of persons before the abstract, without the marks of their institutes."""
    seen = set()
    for part in _NAMES.split(_MARKS.sub(" , ", text)):
        name = one_line(part)
        if is_person_shaped(name) and name not in seen:
            seen.add(name)
            yield name


def _abstract(text: str, start: int) -> str:
    end = _AFTER_ABSTRACT.search(text, start, start + _LONGEST_ABSTRACT)
    return text[start : end.start() if end else start + _LONGEST_ABSTRACT // 2].strip()


def _references(text: str) -> Iterator[CitedWork]:
    headings = list(_REFERENCES.finditer(text))
    for start, end in _entries(text, headings[-1].end()) if headings else ():
        if text[start:end].strip():
            yield replace(cited_work(text[start:end]), place=(start, end))


def _entries(text: str, start: int) -> Iterator[tuple[int, int]]:
    for border in _ENTRY.finditer(text, start):
        if border.start() > start:
            yield start, min(border.start(), start + _LONGEST_ENTRY)
        start = border.end()
    yield start, min(len(text), start + _LONGEST_ENTRY)


def cited_work(entry: str) -> CitedWork:
    """The work that an entry of a list of references names.

    The title is in quotation marks, or behind the year that follows the authors, or the second
    sentence: of most styles one of these is true.
    """
    entry = one_line(entry)
    number = _NUMBER.match(entry)
    entry = entry[number.end() :] if number else entry
    quoted = _QUOTED.search(entry)
    dated = _DATED.search(entry)
    if quoted:
        title = quoted["title"]
    elif _MEDICAL.search(entry):
        title = [*entry.split(". ", 2), ""][1]
    elif dated and dated.start() < len(entry) // 2:
        title = _SENTENCE.split(entry[dated.end() :], maxsplit=1)[0]
    else:
        parts = _SENTENCE.split(entry, maxsplit=2)
        title = parts[1] if len(parts) > 2 or (len(parts) == 2 and parts[1]) else ""
    title = title.strip(" .,")
    years = _YEARS.findall(entry)
    year = int((dated and (dated["year"] or dated["bare"])) or (years[-1] if years else 0))
    title = title if len(title.split()) > 1 else ""
    return CitedWork(title=title, year=year or None, entry=entry)
