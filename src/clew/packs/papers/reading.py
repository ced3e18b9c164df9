"""Files of papers as documents, one a paper."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from clew.indexing.reading.formats.bibliography.bibtex import Failed, read_bibtex
from clew.indexing.reading.formats.bibliography.exports import papers_in
from clew.indexing.reading.formats.bibliography.paper import Paper, Reference
from clew.indexing.reading.formats.bibliography.ris import read_ris
from clew.indexing.reading.formats.common import RawFile, ReadResult, check_limit
from clew.indexing.reading.formats.encoding import decode
from clew.packs.papers.paper import MOST_REFERENCES, paper_document
from clew.text import entity_key
from clew.types import Skipped


def read_bib(raw: RawFile) -> ReadResult | None:
    """A BibTeX file; None for a text without any entry."""
    return _read(raw, read_bibtex, mark="@")


def read_ris_file(raw: RawFile) -> ReadResult | None:
    """A RIS file; None for a text without any record."""
    return _read(raw, read_ris, mark="TY  -")


def _read(
    raw: RawFile, parse: Callable[[str], tuple[list[Paper], list[Failed]]], mark: str
) -> ReadResult | None:
    text = decode(raw)
    if mark not in text:
        return None
    papers, failed = parse(text)
    return _result(raw, papers, [(one.key, f"line {one.line}: {one.reason}") for one in failed])


def read_json(raw: RawFile) -> ReadResult | None:
    """CSL-JSON, or JSON as saved from a catalogue of papers; None for JSON of anything else."""
    try:
        value = json.loads(decode(raw))
    except (ValueError, RecursionError):
        return read_lines(raw)
    return _records(raw, papers_in(value), count(1), "record")


def read_lines(raw: RawFile) -> ReadResult | None:
    """The same with a record a line."""
    numbers: list[int] = []
    values: list[object] = []
    for number, line in enumerate(decode(raw).split("\n"), 1):
        if line.strip():
            numbers.append(number)
            try:
                values.append(json.loads(line))
            except (ValueError, RecursionError):
                values.append(None)
    return _records(raw, papers_in(values), numbers, "line")


def _records(
    raw: RawFile, papers: Sequence[Paper | None] | None, numbers: Iterable[int], what: str
) -> ReadResult | None:
    if papers is None:
        return None
    failed = [
        ("", f"{what} {number}: neither title nor known fields of a paper")
        for number, paper in zip(numbers, papers, strict=False)
        if paper is None
    ]
    return _result(raw, [paper for paper in papers if paper], failed)


def _result(raw: RawFile, papers: Sequence[Paper], failed: Sequence[tuple[str, str]]) -> ReadResult:
    """The papers as documents; raises `LimitError` where together they have too much text."""
    skipped = [
        Skipped(source=raw.record(key) if key else raw.source, reason=reason)
        for key, reason in failed
    ]
    documents = {}
    characters = 0
    for number, paper in enumerate(linked(papers), 1):
        document = paper_document(raw, paper, number)
        characters += len(document.text)
        check_limit(raw.limits, "characters", characters, raw.source)
        if document.source in documents:
            reason = f"same key again (record {number})"
            skipped.append(Skipped(source=document.source, reason=reason))
        else:
            documents[document.source] = document
    return ReadResult(documents=tuple(documents.values()), skipped=tuple(skipped))


def linked(papers: Sequence[Paper]) -> Iterator[Paper]:
    """The papers with the titles and years of those of their references that are among them."""
    known: dict[str, Paper] = {}
    for paper in papers:
        for name in (paper.title, *paper.identifiers, paper.key):
            known.setdefault(_name_key(name), paper)
    known.pop("", None)
    for paper in papers:
        yield replace(paper, references=tuple(_known(paper.references, known)))


def _known(references: Sequence[Reference], known: dict[str, Paper]) -> Iterator[Reference]:
    for one in references[:MOST_REFERENCES]:
        found = known.get(_name_key(one.identifier)) or known.get(_name_key(one.title))
        if found is None:
            yield one
        else:
            yield replace(one, title=found.title, year=found.year, identifier="")


def _name_key(name: str) -> str:
    return entity_key(name) or name.casefold()
