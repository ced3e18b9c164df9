"""A paper: its record as a document of readable lines, and the record read back from that text.

Whatever the format it came from, a paper's document has the same text, so that the relations which
its record states are found again in the store's own text:

    Authors: Ada Morn; Bo Lund
    Year: 2019
    …
    Abstract: We show that …

References:
    - An Earlier Paper [10.1000/x]

The years of the references are in the metadata: of the years that it names a passage is held to
speak.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from clew.indexing.reading.formats.bibliography.paper import Paper, Reference
from clew.indexing.reading.formats.common import RawFile, clean_text
from clew.indexing.reading.formats.entity_document import record
from clew.text import one_line
from clew.times import to_date
from clew.types import Document, Piece

MEDIA_TYPE = "application/vnd.clew.paper"
Places: TypeAlias = Mapping[str, tuple[int, int]]
"""Ranges in a document's text, of its lines by their first word; `"ref 0"`: first reference."""
PAPER = "paper"
"""The entity type of papers."""
REFERENCES = "References:"
ABSTRACT = "Abstract: "
MOST_REFERENCES = 2_000
"""References of a paper that are kept."""
_LISTED = {
    "Authors": "authors",
    "Topics": "topics",
    "Methods": "methods",
    "Datasets": "datasets",
    "Tasks": "tasks",
    "Identifiers": "identifiers",
}
"""Lines of several values, and the fields of `Paper` that they hold."""
_REFERENCE = re.compile(r"- (?P<title>[^\n]*?)(?: \[(?P<id>[^\[\]\n]*)\])?")
_LONGEST_KEY = 200
_MOST_YEARS = 400
"""References whose year is kept: the metadata of a document are bounded."""
_BRACKETS = str.maketrans("[]", "()")


def paper_document(raw: RawFile, paper: Paper, number: int) -> Document:
    """The paper as a document, its references a passage of their own."""
    text = clean_text("\n".join(_lines(paper)))
    references = [f"- {line}" for line in map(_reference_line, paper.references[:MOST_REFERENCES])]
    pieces = [Piece(start=0, end=len(text), key="record")]
    if references:
        start = len(text) + 2
        text = clean_text("\n".join([text, "", REFERENCES, *references]))
        pieces.append(Piece(start=start, end=len(text), key="references"))
    known = record(
        raw,
        clean_text(paper.key)[:_LONGEST_KEY] or str(number),
        text,
        title=one_line(clean_text(paper.title)),
        media_type=MEDIA_TYPE,
        entity_type=PAPER,
        fields=_fields(paper),
        date=to_date(paper.date) or to_date(str(paper.year or "")),
    )
    return replace(known, pieces=tuple(pieces))


def _fields(paper: Paper) -> dict[str, Any]:
    return {
        **paper.more,
        "key": paper.key,
        "type": paper.kind,
        "author": "; ".join(paper.authors),
        "year": paper.year,
        "venue": paper.venue,
        "citations": paper.citations,
        "doi": next((i for i in paper.identifiers if i.startswith("10.")), ""),
        "cited_years": " ".join(str(r.year or 0) for r in paper.references[:_MOST_YEARS]),
        "arxiv": next((i[6:] for i in paper.identifiers if i.startswith("arXiv:")), ""),
    }


def _lines(paper: Paper) -> Iterator[str]:
    """The record as lines of readable text."""
    known = {
        "Authors": "; ".join(paper.authors),
        "Year": str(paper.year or ""),
        "Venue": paper.venue,
        **{n: "; ".join(getattr(paper, f)) for n, f in _LISTED.items() if n != "Authors"},
        "Citations": "" if paper.citations is None else str(paper.citations),
        "Note": paper.note,
    }
    for name, value in known.items():
        if value:
            yield f"{name}: {one_line(value)}"
    if paper.abstract:
        yield f"{ABSTRACT}{one_line(paper.abstract)}"
    if not any(known.values()) and not paper.abstract:
        yield one_line(paper.title)


def _reference_line(reference: Reference) -> str:
    title = one_line(reference.title)
    if not title:
        return reference.identifier
    return (
        f"{title} [{reference.identifier.translate(_BRACKETS)}]" if reference.identifier else title
    )


def paper_of(document: Document) -> tuple[Paper, Places]:
    """The record that a paper's document holds, and the ranges of its lines by their first word.

    The references are at their own titles' ranges: `"ref 0"` is the first one's.
    """
    head, _, tail = document.text.partition(f"\n\n{REFERENCES}\n")
    values: dict[str, str] = {}
    places: dict[str, tuple[int, int]] = {}
    at = 0
    for line in head.split("\n"):
        name, colon, value = line.partition(": ")
        if colon and name not in values:
            values[name], places[name] = value, (at, at + len(line))
        at += len(line) + 1
    years = str(document.metadata.get("cited_years", "")).split()
    references = list(_references(tail, len(document.text) - len(tail), years, places))
    year = values.get("Year", "")
    return Paper(
        key=str(document.metadata.get("key", "")),
        title=document.title,
        year=int(year) if year.isdecimal() else None,
        venue=values.get("Venue", ""),
        abstract=values.get("Abstract", ""),
        references=tuple(references),
        **{f: tuple(values[n].split("; ")) for n, f in _LISTED.items() if n in values},  # type: ignore[arg-type]
    ), places


def _references(
    text: str, at: int, years: Sequence[str], places: dict[str, tuple[int, int]]
) -> Iterator[Reference]:
    for count, line in enumerate(text.split("\n") if text else ()):
        match = _REFERENCE.fullmatch(line)
        if match:
            places[f"ref {count}"] = (at, at + len(line))
            year = int(years[count]) if count < len(years) else 0
            yield Reference(title=match["title"], year=year or None, identifier=match["id"] or "")
        at += len(line) + 1
