"""RIS, which Zotero, Mendeley and EndNote write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.indexing.reading.formats.bibliography.bibtex import Failed
from clew.indexing.reading.formats.bibliography.names import plain, turned
from clew.indexing.reading.formats.bibliography.paper import Paper
from clew.indexing.reading.identifiers import arxiv_in, doi_in, year_in

_NO_END = "the record has no end (ER)"


def read_ris(text: str) -> tuple[list[Paper], list[Failed]]:
    """The papers of a RIS file; and each record that is none."""
    papers: list[Paper] = []
    failed: list[Failed] = []
    record: dict[str, list[str]] = {}
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        tag, is_tag, value = line[:2], line[2:6].startswith("  -"), line[6:].strip()
        if not is_tag:
            continue
        if tag == "TY" and record:
            failed.append(Failed(start, _ris_key(record), _NO_END))
            record = {}
        if tag == "TY":
            start = number
        if tag != "ER":
            record.setdefault(tag, []).append(value)
            continue
        paper = _ris(record)
        if paper.title:
            papers.append(paper)
        elif record:
            failed.append(Failed(start or number, _ris_key(record), "the record has no title"))
        record = {}
    if record:
        failed.append(Failed(start, _ris_key(record), _NO_END))
    return papers, failed


def _ris_key(record: Mapping[str, Sequence[str]]) -> str:
    return next(iter(record.get("ID", record.get("DO", ()))), "")


def _ris(record: Mapping[str, Sequence[str]]) -> Paper:
    def first(*tags: str) -> str:
        return next((v for tag in tags for v in record.get(tag, ()) if v), "")

    date = first("DA", "PY", "Y1").strip("/").replace("/", "-")
    return Paper(
        key=_ris_key(record),
        kind=first("TY").lower(),
        title=plain(first("TI", "T1", "CT")),
        authors=tuple(turned(name) for name in [*record.get("AU", ()), *record.get("A1", ())]),
        year=year_in(first("PY", "Y1", "DA")),
        date=date,
        venue=plain(first("JO", "JF", "T2", "JA", "PB")),
        abstract=first("AB", "N2"),
        topics=tuple(record.get("KW", ())),
        identifiers=tuple(filter(None, (doi_in(first("DO")), arxiv_in(first("UR"))))),
        note=first("N1"),
    )
