"""A paper as bibliographies and catalogues describe it, whatever their format."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from typing import Any, TypeAlias

from clew.languages import read_patterns, read_word_lists
from clew.text import one_line


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A paper that another one cites."""

    title: str = ""
    """Empty where only its identifier is known."""
    year: int | None = None
    identifier: str = ""
    """DOI, arXiv id, or its number in the catalogue that it came from."""

    @property
    def name(self) -> str:
        """What it is called: its title, else its identifier."""
        return self.title or self.identifier


@dataclass(frozen=True, kw_only=True, slots=True)
class Paper:
    """What a bibliography knows of a paper."""

    key: str
    """Its own name in the file that it came from."""
    title: str
    authors: tuple[str, ...] = ()
    """First names first."""
    year: int | None = None
    date: str = ""
    """As precisely as it is stated, in ISO 8601."""
    venue: str = ""
    abstract: str = ""
    topics: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    """DOI without its address, `arXiv:…`, numbers of catalogues."""
    citations: int | None = None
    """How many papers cite it, as the source counted."""
    references: tuple[Reference, ...] = ()
    kind: str = ""
    """The source's own word: article, inproceedings, …"""
    note: str = ""
    more: Mapping[str, str] = field(default_factory=dict)
    """Further fields, for filters."""


Places: TypeAlias = Mapping[str, tuple[int, int]]
"""Ranges in a document's text, of its lines by their first word; `"ref 0"`: first reference."""
MOST_REFERENCES = 2_000
"""References of a paper that are kept."""


# Names and LaTeX as bibliographies write them.


_RE = read_patterns(__package__, "patterns.toml")["bibliography"]
_LONGEST_LATEX = 20_000
"""Characters of a field whose LaTeX is decoded; a longer one stays as it is written."""
_NO_BRACES = str.maketrans("", "", "{}")
_MACROS = {"url": "%s", "TeX": "TeX", "LaTeX": "LaTeX", "textless": "<", "textgreater": ">"}
_FAULTS = (RecursionError, AttributeError, LookupError, TypeError, ValueError)
"""What pylatexenc raises for commands without their arguments, and for what is nested deeply."""
_MOST_VALUES = 2_000
_OTHERS = frozenset(("others", "et al.", "et al"))


def plain(latex: str) -> str:
    """LaTeX as plain text on one line: accents, quotes and mathematics in Unicode."""
    if not _RE["commands"].search(latex):
        return one_line(unescape(latex.translate(_NO_BRACES)))
    if len(latex) > _LONGEST_LATEX:
        return one_line(latex)
    # A percent sign begins a comment in LaTeX; in a bibliography it is one that nobody escaped.
    try:
        found: str = _decoder().latex_to_text(_RE["comment"].sub(r"\\%", latex))
    except _FAULTS:  # it stays as it is written
        return one_line(latex.translate(_NO_BRACES))
    return one_line(unescape(found.replace("\u00a0", " ")))


def _hush(name: str) -> None:
    """Have a library log errors alone, unless somebody has set a level of their own for it."""
    logger = logging.getLogger(name)
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)


@cache
def _decoder() -> Any:  # noqa: ANN401 - of a library that is slow to load
    import pylatexenc.latex2text as latex

    _hush("pylatexenc")  # it warns of every command that lacks an argument
    known = latex.get_default_latex_context_db()
    macros = [latex.MacroTextSpec(name, simplify_repl=text) for name, text in _MACROS.items()]
    known.add_context_category("bibliographies", prepend=True, macros=macros)
    return latex.LatexNodes2Text(latex_context=known, math_mode="text")


def people(latex: str) -> tuple[str, ...]:
    """The names of a field of names, first names first.

    They are taken apart before their LaTeX is decoded: braces and commands keep words together.
    """
    from bibtexparser.middlewares.names import (
        parse_single_name_into_parts,
        split_multiple_persons_names,
    )

    # bibtexparser 2.1 loses the backslash of a name that begins with one, other than the first.
    names = (
        parse_single_name_into_parts(whole, strict=False)
        for whole in split_multiple_persons_names(_RE["command_first"].sub(r"\1{}", latex))
    )
    found = (plain(" ".join([*one.first, *one.von, *one.last, *one.jr])) for one in names)
    return tuple(name for name in found if name and name.casefold() not in _OTHERS)


def turned(name: str) -> str:
    """`Last, First` as `First Last`; any other name as it is."""
    last, comma, first = name.partition(",")
    return one_line(f"{first} {last}" if comma and first.strip() else name)


def split_values(text: str) -> tuple[str, ...]:
    """The values of a field of several, with semicolons between them, or else commas.

    Where blanks follow semicolons, one without belongs to its value: "XSum; TL;DR".
    """
    parts = text.split(next((mark for mark in ("; ", ";") if mark in text), ","))
    return tuple(dict.fromkeys(one for part in parts if (one := one_line(part))))[:_MOST_VALUES]


# BibTeX, as people and programs (Zotero, Mendeley, JabRef) write it.


_TOLD = read_word_lists(__package__, "records.toml")
_FIELDS = _TOLD["bibtex"]
"""Fields of BibTeX by what they tell."""
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()


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
        parent = entries[named].fields if named in entries else {}
        inherited = {name: parent[name] for name in _FIELDS["inherited"] if name in parent}
        if "title" in parent and entry.kind in ("inproceedings", "incollection", "inbook"):
            inherited.setdefault("booktitle", parent["title"])
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

    _hush("bibtexparser")  # what failed is listed
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
            match = _RE["entry"].match(block.raw or "")
            if isinstance(found, DuplicateBlockKeyBlock):
                first = (found.previous_block.start_line or 0) + 1
                reason = f"the entry of line {first} has the same key"
            else:
                said = one_line(getattr(found.error, "abort_reason", "") or str(found.error))
                reason = said[0].lower() + said[1:]
            failed.append(Failed(line, match["key"] if match else "", reason))
        elif isinstance(found, Entry):
            fields = {f.key.lower(): _value(f.value, strings) for f in reversed(found.fields)}
            entry = _Entry(found.key, found.entry_type.lower(), line, fields)
            entries[entry.key.lower() or f"\n{line}"] = entry
    return entries, failed


def _value(value: str, strings: Mapping[str, str]) -> str:
    """A value without its delimiters, its abbreviations written out and its parts joined.

    `#` joins parts where it stands outside of braces and quotation marks.
    """
    parts: list[str] = []
    start = depth = 0
    quoted = False
    for at, mark in enumerate(value) if "#" in value else ():
        quoted ^= mark == '"' and depth == 0
        depth += {"{": 1, "}": -1}.get(mark, 0)
        if mark == "#" and depth == 0 and not quoted:
            parts.append(value[start:at])
            start = at + 1
    return "".join(
        part[1:-1]
        if len(part) > 1 and part[0] + part[-1] in ("{}", '""')
        else strings.get(part.lower(), part)
        for part in map(str.strip, (*parts, value[start:]))
    )


def _paper(entry: _Entry, fields: Mapping[str, str]) -> Paper:
    def first(*names: str) -> str:
        given = (plain(fields[name]) for name in names if name in fields)
        return next(filter(None, given), "")

    date = first("date").partition("/")[0]
    if not date and (year := year_in(first("year"))):
        # `2019-06` of 2019 and `jun`, `June` or 6.
        month = first("month")[:3].lower()
        number = _MONTHS.index(month) + 1 if month in _MONTHS else _number(first("month"))
        date = f"{year}-{number:02}" if number and 1 <= number <= 12 else ""
    doi = doi_in(f"{fields.get('doi', '')} {fields.get('url', '')}".replace("\\", ""))
    is_arxiv = fields.get("archiveprefix", fields.get("eprinttype", "")).lower() == "arxiv"
    bare = arxiv_in(fields.get("eprint", ""), bare=True) if is_arxiv else ""
    marked = (arxiv_in(fields.get(name, "")) for name in _FIELDS["may_hold_arxiv"])
    # What is cited, by an identifier where it is one, else by its name: a key or a title.
    cited = [
        (doi_in(one) or arxiv_in(one, bare=True), one)
        for one in split_values(first(*_FIELDS["cited"]))
    ]
    return Paper(
        key=entry.key,
        kind=entry.kind,
        title=plain(fields.get("title", "")),
        authors=people(fields.get("author", "") or fields.get("editor", "")),
        year=year_in(first("year")) or year_in(date),
        date=date,
        venue=first(*_FIELDS["venue"]),
        abstract=first("abstract"),
        topics=split_values(first("keywords", "keyword", "mendeley-tags", "topics")),
        methods=split_values(first("methods", "method")),
        datasets=split_values(first("datasets", "dataset")),
        tasks=split_values(first("tasks", "task")),
        identifiers=tuple(filter(None, (doi, bare or next(filter(None, marked), "")))),
        citations=_number(first("citations", "citationcount", "cited_by")),
        references=tuple(Reference(identifier=id_, title="" if id_ else one) for id_, one in cited),
        note=first(*_FIELDS["note"]),
        more={name: found for name in _FIELDS["kept"] if (found := first(name))},
    )


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 else None


# Records of papers as JSON: CSL, arXiv, Semantic Scholar, OpenAlex, Zotero and Mendeley.


Record = Mapping[str, Any]

_LISTS = (*"results data items entries papers references citations".split(), "feed.entry")
"""Under which a saved answer has its records."""
_WRAPPED = ("data", "citedPaper", "citingPaper")
"""Under which a record is, where something is said of it beside."""
_OPENALEX = "https://openalex.org/"


def _text(value: object) -> str:
    return one_line(str(value)) if isinstance(value, (str, int, float)) else ""


def _at(record: object, path: str) -> Any:  # noqa: ANN401 - any JSON value
    """The value at a path of names, "primary_location.source"; of a list its first value's."""
    for name in path.split("."):
        record = record[0] if isinstance(record, list) and record else record
        record = record.get(name) if isinstance(record, dict) else None
    return record


def _first(record: object, *paths: str) -> str:
    return next((found for path in paths if (found := _text(_at(record, path)))), "")


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value] if isinstance(value, dict) else []


def _names(values: object, *paths: str) -> tuple[str, ...]:
    """The names in a list of texts, or of objects that have theirs at one of these paths."""
    if isinstance(values, str):
        # Categories have blanks between them: "hep-ph cs.CL".
        are_codes = all("." in word or "-" in word for word in values.split())
        return tuple(filter(None, map(one_line, values.split(None if are_codes else ","))))
    found = (_first(o, *paths) if isinstance(o, dict) else _text(o) for o in _listed(values))
    return tuple(dict.fromkeys(filter(None, found)))


_Format = Mapping[str, Any]
"""A kind of record, as `records.toml` has it."""
_FORMATS: list[_Format] = [{**_TOLD["default"], **kind} for kind in _TOLD["kind"]]


# --- records of a file -----------------------------------------------------------------------


def papers_in(value: object) -> list[Paper | None] | None:
    """A paper for each record, None for one that is none; None where the file holds no papers."""
    if isinstance(value, dict) and _format(value) is None:
        found = (_at(value, path) for path in _LISTS)
        value = next((one for one in found if isinstance(one, (list, dict)) and one), value)
    papers = [
        _described(_unwrapped(one)) for one in (value if isinstance(value, list) else [value])
    ]
    return papers if any(papers) else None


def _unwrapped(value: object) -> object:
    inner = (value[n] for n in _WRAPPED if n in value) if isinstance(value, dict) else ()
    return next((one for one in inner if isinstance(one, dict)), value)


def _format(record: object) -> _Format | None:
    held = set(record) if isinstance(record, dict) else set()
    return next((f for f in _FORMATS for names in f["known_by"] if held.issuperset(names)), None)


def _described(record: object) -> Paper | None:
    """The paper of a record; None for one of no known kind, or without a title."""
    form = _format(record)
    if form is None or not isinstance(record, dict):
        return None
    title = plain(_first(record, *form["title"]) or next(iter(_names(record.get("title"))), ""))
    if not title:
        return None
    issued = _listed(next(iter(_listed(_at(record, "issued.date-parts"))), None))
    numbers = [int(str(n)) for n in issued if str(n).isdecimal() and len(str(n)) < 5]
    date = "-".join(f"{n:02}" for n in numbers) or _first(record, *form["date"])
    counts = (_at(record, path) for path in form["citations"])
    venue = _first(record, *form["venue"]) or next(iter(_names(record.get(form["venue"][0]))), "")
    identifiers = (
        doi_in(_first(record, *form["doi"])),
        next(filter(None, (arxiv_in(_first(record, p), bare=True) for p in form["arxiv"])), ""),
        _first(record, *form["catalogue"]).removeprefix(_OPENALEX),
    )
    # The text of an index from words to their places; empty where there is none.
    index = record.get("abstract_inverted_index")
    places = [
        (place, word)
        for word, found in (index.items() if isinstance(index, dict) else ())
        for place in _listed(found)
        if isinstance(place, int)
    ]
    abstract = one_line(" ".join(word for _, word in sorted(places))) or _first(
        record, *form["abstract"]
    )
    return Paper(
        key=_first(record, *form["key"]).removeprefix(_OPENALEX).rpartition("/abs/")[2],
        kind=_first(record, *form["kind"]) or next(iter(_names(_at(record, form["kind"][0]))), ""),
        title=title,
        authors=tuple(dict.fromkeys(filter(None, _people(record, form)))),
        year=year_in(date),
        date=date[:10] if date[:4].isdecimal() else date,
        venue=plain(venue),
        abstract=plain(abstract) if form["is_latex"] else abstract,
        topics=_names(next(filter(None, map(record.get, form["topics"])), None), *form["topic"]),
        identifiers=tuple(filter(None, identifiers)),
        # How often it is cited.
        citations=next((n for n in counts if type(n) is int and 0 <= n < 10**9), None),
        references=tuple(_references(record, form)),
        note=_first(record, *form["note"]),
    )


def _people(record: Record, form: _Format) -> Iterator[str]:
    """The authors: objects, texts, or the parts of arXiv's names in a list, the family first."""
    given = next(filter(None, map(record.get, form["people"])), None)
    for one in _names(given) if isinstance(given, str) else _listed(given):
        if isinstance(one, dict):
            whole = _first(one, *form["name"]) or " ".join(
                _text(one.get(name)) for name in form["parts"]
            )
            name = whole if one.get("creatorType", "author") == "author" else ""
        elif isinstance(one, list):
            name = " ".join(map(str, [*one[1:2], *one[:1], *one[2:3]])) if len(one) > 1 else ""
        else:
            name = turned(_text(one))
        yield plain(name) if form["is_latex"] else one_line(name)


def _references(record: Record, form: _Format) -> Iterator[Reference]:
    """What the paper cites: objects with a title or an identifier, or identifiers alone."""
    for one in map(_unwrapped, _listed(record.get(form["references"]))):
        if isinstance(one, dict):
            title = plain(_first(one, "article-title", "title", "volume-title"))
            identifier = doi_in(_first(one, "DOI")) or ("" if title else _first(one, "paperId"))
            yield Reference(title=title, year=year_in(_first(one, "year")), identifier=identifier)
        elif identifier := _text(one).removeprefix(_OPENALEX):
            yield Reference(identifier=identifier)


# RIS, which Zotero, Mendeley and EndNote write.


def read_ris(text: str) -> tuple[list[Paper], list[Failed]]:
    """The papers of a RIS file; and each record that is none."""
    papers: list[Paper] = []
    failed: list[Failed] = []
    record: dict[str, Any] = {}
    start = 0
    # A record that begins before the last one ended ends that one, as the end of the file does.
    for number, line in enumerate([*text.split("\n"), "TY  -"], 1):
        tag, is_tag, value = line[:2], line[2:6].startswith("  -"), line[6:].strip()
        if is_tag and tag in ("TY", "ER"):
            paper = _described({"TY": "", **record}) if tag == "ER" else None
            if paper:
                papers.append(paper)
            elif record:
                reason = "the record has no " + ("title" if tag == "ER" else "end (ER)")
                failed.append(Failed(start, _first(record, "ID", "DO"), reason))
            record, start = {"TY": value.lower()} if tag == "TY" and value else {}, number
        elif is_tag and tag in ("AU", "A1", "KW"):
            record.setdefault(tag, []).append(value)
        elif is_tag and value:
            # Days are written 2019/03/05.
            record.setdefault(
                tag, value.strip("/").replace("/", "-") if tag in ("DA", "PY", "Y1") else value
            )
    return papers, failed


# Identifiers and years of publications in a text.


def doi_in(text: str) -> str:
    """The first DOI of a text, in lower case; empty where there is none."""
    match = _RE["doi"].search(text)
    return match.group().rstrip(".)]").lower() if match else ""


def arxiv_in(text: str, *, bare: bool = False) -> str:
    """The first arXiv id of a text as `arXiv:…`; `bare` where the text is nothing else."""
    match = _RE["bare_arxiv"].fullmatch(text.strip()) if bare else None
    match = match or _RE["arxiv"].search(text)
    return f"arXiv:{match['id']}" if match else ""


def year_in(text: str) -> int | None:
    """The first year of a text, 1500 to 2099; the digits of identifiers are none."""
    match = _RE["year"].search(_RE["arxiv"].sub(" ", _RE["doi"].sub(" ", text)))
    return int(match.group()) if match else None
