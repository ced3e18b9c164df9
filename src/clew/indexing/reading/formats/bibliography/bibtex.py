"""BibTeX, as people and programs (Zotero, Mendeley, JabRef) write it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.indexing.reading.formats.bibliography.names import people, plain, split_values
from clew.indexing.reading.formats.bibliography.paper import Paper, Reference
from clew.indexing.reading.identifiers import arxiv_in, doi_in, year_in
from clew.text import one_line

if TYPE_CHECKING:
    from bibtexparser.model import Block

_VENUES = (
    *("journal", "journaltitle", "booktitle", "maintitle", "eventtitle"),
    *("school", "institution", "howpublished", "publisher"),
)
_CITED = ("cites", "references", "related")
"""Fields that list the keys, identifiers or titles of what an entry cites."""
_INHERITED = ("booktitle", "journal", "year", "date", "month", "publisher", "series")
"""Fields that an entry takes from the one that its `crossref` names."""
_KEPT = ("url", "file", "isbn", "volume", "number", "pages", "publisher", "month")
_TOPICS = ("keywords", "keyword", "mendeley-tags", "topics")
_NOTES = ("note", "annote", "annotation", "comment")
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_ENTRY = re.compile(r"@\w{1,30}\s{0,9}[{(]\s{0,9}(?P<key>[^\s,{}()\"=]{1,200})")


@dataclass(frozen=True, slots=True)
class Failed:
    """A block that could not be read."""

    line: int
    """Where it begins, from 1."""
    key: str
    """The entry's key, where one can be seen."""
    reason: str


@dataclass(frozen=True, slots=True)
class _Entry:
    key: str
    kind: str
    line: int
    fields: dict[str, str]
    """By lower-case name; values without their delimiters, still LaTeX."""


def read_bibtex(text: str) -> tuple[list[Paper], list[Failed]]:
    """The papers of a bibliography, and every block that is none for a fault of its own.

    Of two entries of one key the first is kept, and of a field that is twice in an entry the first.
    """
    entries, failed = _parse(text)
    papers: list[Paper] = []
    for entry in entries.values():
        named = entry.fields.get("crossref", "").lower()
        parent = entries.get(named) if named else None
        inherited = _inherited(entry, parent) if parent else {}
        paper = _paper(entry, {**inherited, **entry.fields})
        if paper.title:
            papers.append(paper)
        else:
            failed.append(Failed(entry.line, entry.key, "the entry has no title"))
    return papers, sorted(failed, key=lambda one: one.line)


def _parse(text: str) -> tuple[dict[str, _Entry], list[Failed]]:
    from bibtexparser.model import (
        DuplicateBlockKeyBlock,
        DuplicateFieldKeyBlock,
        Entry,
        ParsingFailedBlock,
    )
    from bibtexparser.splitter import Splitter

    with _quiet():
        library = Splitter(text).split()
    strings = {month: month for month in _MONTHS}
    for string in library.strings:
        strings[string.key.lower()] = _value(string.value, strings)
    entries: dict[str, _Entry] = {}
    failed: list[Failed] = []
    # Each block leaves when it is read: of a large file they take as much again as its entries.
    blocks = library.blocks[::-1]
    del library
    while blocks:
        block = blocks.pop()
        line = (block.start_line or 0) + 1
        is_sound = isinstance(block, DuplicateFieldKeyBlock) or (
            isinstance(block, DuplicateBlockKeyBlock) and not block.key
        )
        found = block.ignore_error_block if is_sound else block  # type: ignore[attr-defined]
        if isinstance(found, ParsingFailedBlock):
            failed.append(Failed(line, _key(block), _reason(found)))
        elif isinstance(found, Entry):
            fields = {f.key.lower(): _value(f.value, strings) for f in reversed(found.fields)}
            entry = _Entry(found.key, found.entry_type.lower(), line, fields)
            entries[entry.key.lower() or f"\n{line}"] = entry
    return entries, failed


@contextmanager
def _quiet() -> Iterator[None]:
    """Nothing is logged by the parser: what failed is listed."""
    logger = logging.getLogger("bibtexparser")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _key(block: Block) -> str:
    match = _ENTRY.match(block.raw or "")
    return match["key"] if match else ""


def _reason(block: Block) -> str:
    from bibtexparser.model import DuplicateBlockKeyBlock

    if isinstance(block, DuplicateBlockKeyBlock):
        line = (block.previous_block.start_line or 0) + 1
        return f"the entry of line {line} has the same key"
    error = block.error  # type: ignore[attr-defined]
    reason = one_line(getattr(error, "abort_reason", "") or str(error))
    return reason[0].lower() + reason[1:]


def _value(value: str, strings: Mapping[str, str]) -> str:
    """A value without its delimiters, its abbreviations written out and its parts joined (`#`)."""
    return "".join(_part(part.strip(), strings) for part in _parts(value))


def _part(part: str, strings: Mapping[str, str]) -> str:
    if len(part) > 1 and part[0] + part[-1] in ("{}", '""'):
        return part[1:-1]
    return strings.get(part.lower(), part)


def _parts(value: str) -> Iterator[str]:
    """The parts between the `#` that stand outside of braces and quotation marks."""
    if "#" not in value:
        yield value
        return
    start = depth = 0
    quoted = False
    for at, mark in enumerate(value):
        if mark == '"' and depth == 0:
            quoted = not quoted
        elif mark in "{}":
            depth += 1 if mark == "{" else -1
        elif mark == "#" and depth == 0 and not quoted:
            yield value[start:at]
            start = at + 1
    yield value[start:]


def _inherited(entry: _Entry, parent: _Entry) -> dict[str, str]:
    found = {name: parent.fields[name] for name in _INHERITED if name in parent.fields}
    if "title" in parent.fields and entry.kind in ("inproceedings", "incollection", "inbook"):
        found.setdefault("booktitle", parent.fields["title"])
    return found


def _paper(entry: _Entry, fields: Mapping[str, str]) -> Paper:
    def first(*names: str) -> str:
        given = (plain(fields[name]) for name in names if name in fields)
        return next(filter(None, given), "")

    date = first("date").partition("/")[0]
    return Paper(
        key=entry.key,
        kind=entry.kind,
        title=plain(fields.get("title", "")),
        authors=people(fields.get("author", "") or fields.get("editor", "")),
        year=year_in(first("year")) or year_in(date),
        date=date or _month(first("year"), first("month")),
        venue=first(*_VENUES),
        abstract=first("abstract"),
        topics=split_values(first(*_TOPICS)),
        methods=split_values(first("methods", "method")),
        datasets=split_values(first("datasets", "dataset")),
        tasks=split_values(first("tasks", "task")),
        identifiers=_identifiers(fields),
        citations=_number(first("citations", "citationcount", "cited_by")),
        references=tuple(map(_reference, split_values(first(*_CITED)))),
        note=first(*_NOTES),
        more={name: found for name in _KEPT if (found := first(name))},
    )


def _month(year: str, month: str) -> str:
    """`2019-06` of 2019 and `jun`, `June` or 6; the year alone where no month is told."""
    name = month[:3].lower()
    number = _MONTHS.index(name) + 1 if name in _MONTHS else _number(month)
    known = year_in(year)
    return f"{known}-{number:02}" if known and number and 1 <= number <= 12 else ""


def _identifiers(fields: Mapping[str, str]) -> tuple[str, ...]:
    doi = doi_in(fields.get("doi", "").replace("\\", "")) or doi_in(fields.get("url", ""))
    is_arxiv = fields.get("archiveprefix", fields.get("eprinttype", "")).lower() == "arxiv"
    preprint = arxiv_in(fields.get("eprint", ""), bare=True) if is_arxiv else ""
    names = ("eprint", "url", "journal", "note", "volume")
    preprint = preprint or next((f for n in names if (f := arxiv_in(fields.get(n, "")))), "")
    return tuple(one for one in (doi, preprint) if one)


def _reference(text: str) -> Reference:
    """By an identifier where it is one, else by its name: a key or a title."""
    identifier = doi_in(text) or arxiv_in(text, bare=True)
    return Reference(identifier=identifier) if identifier else Reference(title=text)


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 else None
