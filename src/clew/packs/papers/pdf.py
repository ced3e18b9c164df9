"""Papers as PDF: what layout and wording tell of title, authors, abstract and references."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from clew.indexing.ner.entity_types import is_person_shaped
from clew.indexing.reading.formats.common import RawFile, ReadResult
from clew.packs.papers.names import arxiv_in, doi_in, year_in
from clew.packs.papers.paper import MOST_REFERENCES, PAPER, Paper, Places, Reference
from clew.text import one_line
from clew.times import to_date
from clew.types import Document

PDF = "application/pdf"
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
_ENTRY = re.compile(r"(?:\A|\n+|(?<=[.\d]) )(?=\[\d{1,4}\] )|\n\n|\n(?=\d{1,4}\. )")
_NUMBER = re.compile(r"(?:\[\d{1,4}\]|\d{1,4}\.)\s")
_QUOTED = re.compile(r"[“\"](?P<title>[^“”\"]{5,300}?)[,.]?[”\"]")
_DATED = re.compile(r"(?:\((?P<year>\d{4})[a-z]?\)|(?<=[.,] )(?P<bare>\d{4})[a-z]?)[.,:]\s")
_SENTENCE = re.compile(r"(?<=[\w)\]’][\w)\]’])[.?]\s")
_YEARS = re.compile(r"(?<!\d)(?:19|20)\d\d(?![\d.]\d)")
_NAMES = re.compile(r"\s{0,3}(?:,|;|\band\b|&|·|•|\n)\s{0,3}")
_MARKS = re.compile(r"[\d*†‡§¶\u2217,]{1,9}(?=\s|$)|\S{1,80}@\S{1,80}")
_ARXIV_LINE = re.compile(r"arXiv:\S{1,40}[^\n]{0,80}", re.IGNORECASE)


def read_paper(raw: RawFile) -> ReadResult | None:
    """A PDF as it is always read, with what a paper tells of itself as metadata."""
    if not raw.data.startswith(b"%PDF-"):
        return None
    from clew.indexing.reading.formats.pdf.pages import read_pdf

    result = read_pdf(raw)
    return replace(result, documents=tuple(map(described, result.documents)))


def described(document: Document) -> Document:
    """The document with title, authors and date of the paper that it is; as it was for no paper."""
    if not is_paper(document.text):
        return document
    paper, _ = paper_in(document)
    known = {
        "entity_type": PAPER,
        "author": "; ".join(paper.authors),
        "year": paper.year,
        "doi": next((i for i in paper.identifiers if i.startswith("10.")), ""),
        "arxiv": next((i[6:] for i in paper.identifiers if i.startswith("arXiv:")), ""),
    }
    found = {**document.metadata, **{name: value for name, value in known.items() if value}}
    date = to_date(str(paper.year)) if paper.year else None
    return replace(
        document,
        title=paper.title,
        metadata=found,
        created_at=date.start if date else document.created_at,
        date_precision=date.precision if date else document.date_precision,
    )


def is_paper(text: str) -> bool:
    """Whether a text has an abstract near its beginning, and references."""
    return _ABSTRACT.search(text[:_FRONT]) is not None and _REFERENCES.search(text) is not None


def paper_in(document: Document) -> tuple[Paper, Places]:
    """The paper, and the ranges of what its text tells; `"ref 0"` is the first reference."""
    text = document.text
    front = text[:_FRONT]
    opening = _ABSTRACT.search(front)
    at = opening.start() if opening else 0
    title, below = _title(document, front[:at])
    authors = list(_authors(below))
    places: dict[str, tuple[int, int]] = {"Authors": (at - len(below), at)}
    abstract = _abstract(text, opening.end()) if opening else ""
    if opening:
        places["Abstract"] = (opening.end(), opening.end() + len(abstract))
    references = list(_references(text, places))
    named = str(document.metadata.get("author", ""))
    arxiv = arxiv_in(front)
    return Paper(
        key="",
        title=title,
        authors=tuple(authors) or tuple(filter(None, named.split("; "))),
        year=_year(front, at, arxiv, document),
        abstract=one_line(abstract),
        identifiers=tuple(filter(None, (doi_in(front), arxiv))),
        references=tuple(references),
    ), places


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


def _year(front: str, abstract: int, arxiv: str, document: Document) -> int | None:
    """Of the front matter; else of the arXiv id; else of the file."""
    digits = arxiv[6:8]
    stated = year_in(front[:abstract])
    by_number = 2000 + int(digits) if digits.isdecimal() else None
    return stated or by_number or (document.created_at.year if document.created_at else None)


def _references(text: str, places: dict[str, tuple[int, int]]) -> Iterator[Reference]:
    headings = list(_REFERENCES.finditer(text))
    if not headings:
        return
    at = headings[-1].end()
    count = 0
    for start, end in _entries(text, at):
        found = reference_in(text[start:end])
        if found is not None and count < MOST_REFERENCES:
            places[f"ref {count}"] = (start, end)
            count += 1
            yield found


def _entries(text: str, start: int) -> Iterator[tuple[int, int]]:
    for border in _ENTRY.finditer(text, start):
        if border.start() > start:
            yield start, min(border.start(), start + _LONGEST_ENTRY)
        start = border.end()
    yield start, min(len(text), start + _LONGEST_ENTRY)


def reference_in(entry: str) -> Reference | None:
    """The paper that an entry of a list of references names; None where it names none.

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
    elif dated and dated.start() < len(entry) // 2:
        title = _SENTENCE.split(entry[dated.end() :], maxsplit=1)[0]
    else:
        parts = _SENTENCE.split(entry, maxsplit=2)
        title = parts[1] if len(parts) > 2 or (len(parts) == 2 and parts[1]) else ""
    title = title.strip(" .,")
    identifier = doi_in(entry) or arxiv_in(entry)
    if len(title.split()) < 2 and not identifier:
        return None
    years = _YEARS.findall(entry)
    year = int((dated and (dated["year"] or dated["bare"])) or (years[-1] if years else 0))
    return Reference(title=title, year=year or None, identifier=identifier)
