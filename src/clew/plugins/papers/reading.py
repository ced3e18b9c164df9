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

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from clew.indexing.ner.entity_types import is_ordinary, is_person_shaped
from clew.indexing.reading.common import (
    RawFile,
    ReadResult,
    check_limit,
    clean_text,
    decode,
    json_lines,
    record,
)
from clew.plugins.papers.bibliography import (
    MOST_REFERENCES,
    Failed,
    Paper,
    Places,
    Reference,
    arxiv_in,
    doi_in,
    papers_in,
    read_bibtex,
    read_ris,
    year_in,
)
from clew.text import entity_key, one_line
from clew.times import to_date
from clew.types import (
    AliasEvidence,
    CharRange,
    DeclaredEntity,
    Document,
    Piece,
    Skipped,
    Statement,
    Structure,
)

# Articles as PDF: what layout and wording tell of title, authors, abstract and references.


_FRONT = 6_000
"""Characters in which title, authors and abstract begin."""
_LONGEST_IN_RECORD = 5_000
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


def is_article(text: str) -> bool:
    """Whether a text has an abstract near its beginning, and references."""
    return _ABSTRACT.search(text[:_FRONT]) is not None and _REFERENCES.search(text) is not None


def paper_in(document: Document) -> tuple[Paper, Places]:
    """The paper that an article tells of, and the ranges of what it tells; see `is_article`.

    Its year is that of the front matter, else of the arXiv id; when the file was made tells none.
    """
    text = document.text
    front = text[:_FRONT]
    opening = _ABSTRACT.search(front)
    at, start = opening.span() if opening else (0, 0)
    title, below = _title(document, front[:at])
    after = _AFTER_ABSTRACT.search(text, start, start + _LONGEST_IN_RECORD)
    end = after.start() if after else start + _LONGEST_IN_RECORD // 2
    abstract = text[start:end].strip() if opening else ""
    arxiv = arxiv_in(front)
    by_number = 2000 + int(arxiv[6:8]) if arxiv[6:8].isdecimal() else None
    authors = dict.fromkeys(map(one_line, _NAMES.split(_MARKS.sub(" , ", below))))
    # Persons before the abstract, without the marks of their institutes.
    named = tuple(filter(is_person_shaped, authors))
    by_file = str(document.metadata.get("author", "")).split("; ")
    known = [(one, place) for one, place in _references(text) if one.name][:MOST_REFERENCES]
    return Paper(
        key="",
        title=title,
        authors=named or tuple(filter(None, by_file)),
        year=year_in(front[:at]) or by_number,
        abstract=one_line(abstract),
        identifiers=tuple(filter(None, (doi_in(front), arxiv))),
        references=tuple(one for one, _ in known),
    ), {
        "Authors": (at - len(below), at),
        "Abstract": (start, start + len(abstract)),
        **{f"ref {number}": place for number, (_, place) in enumerate(known)},
    }


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


def _references(text: str) -> Iterator[tuple[Reference, CharRange]]:
    """What the entries of the list of references name, each with its range."""
    start = next((heading.end() for heading in reversed([*_REFERENCES.finditer(text)])), len(text))
    borders = [(one.start(), one.end()) for one in _ENTRY.finditer(text, start)]
    for end, after in [*borders, (len(text), len(text))]:
        place = (start, min(end, start + _LONGEST_ENTRY))
        if end > start and text[slice(*place)].strip():
            yield cited_work(text[slice(*place)]), place
        start = after


def cited_work(entry: str) -> Reference:
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
    identifier = doi_in(entry) or arxiv_in(entry)
    return Reference(title=title, year=year or None, identifier=identifier)


MEDIA_TYPE = "application/vnd.clew.paper"
PAPER = "paper"
"""The entity type of papers."""
REFERENCES = "References:"
ABSTRACT = "Abstract: "
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
    references = []
    for one in paper.references[:MOST_REFERENCES]:
        known_by = f" [{one.identifier.translate(_BRACKETS)}]" if one.identifier else ""
        title = one_line(one.title)
        references.append(f"- {title}{known_by}" if title else f"- {one.identifier}")
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
        fields={
            **paper.more,
            "key": paper.key,
            "type": paper.kind,
            "year": paper.year,
            "venue": paper.venue,
            "citations": paper.citations,
            "cited_years": " ".join(str(r.year or 0) for r in paper.references[:_MOST_YEARS]),
            **_told(paper),
        },
        date=to_date(paper.date) or to_date(str(paper.year or "")),
    )
    return replace(known, pieces=tuple(pieces))


def _told(paper: Paper) -> dict[str, str]:
    """What the metadata of each kind of document say of its paper."""
    return {
        "author": "; ".join(paper.authors),
        "doi": next((i for i in paper.identifiers if i.startswith("10.")), ""),
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
    references: list[Reference] = []
    at = len(document.text) - len(tail)
    for number, line in enumerate(tail.split("\n") if tail else ()):
        if match := _REFERENCE.fullmatch(line):
            places[f"ref {number}"] = (at, at + len(line))
            cited = int(years[number]) if number < len(years) else 0
            id_ = match["id"] or ""
            references.append(Reference(title=match["title"], year=cited or None, identifier=id_))
        at += len(line) + 1
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


# Papers as PDF.


PDF = "application/pdf"


def read_paper(raw: RawFile) -> ReadResult | None:
    """A PDF as it is always read, with what a paper tells of itself as metadata."""
    if not raw.data.startswith(b"%PDF-"):
        return None
    from clew.indexing.reading.pdf import read_pdf

    result = read_pdf(raw)
    return replace(result, documents=tuple(map(described, result.documents)))


def described(document: Document) -> Document:
    """The document with title, authors and date of the paper that it is; as it was for no paper."""
    if not is_article(document.text):
        return document
    paper, _ = paper_in(document)
    known = {"entity_type": PAPER, "year": paper.year, **_told(paper)}
    found = {**document.metadata, **{name: value for name, value in known.items() if value}}
    date = to_date(str(paper.year)) if paper.year else None
    return replace(
        document,
        title=paper.title,
        metadata=found,
        created_at=date.start if date else document.created_at,
        date_precision=date.precision if date else document.date_precision,
        date_source="text" if date else document.date_source,
    )


# Files of papers as documents, one a paper.


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
    found = dict(json_lines(decode(raw)))
    return _records(raw, papers_in(list(found.values())), found, "line")


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
        references = []
        for one in paper.references[:MOST_REFERENCES]:
            found = known.get(_name_key(one.identifier)) or known.get(_name_key(one.title))
            if found is not None:
                one = replace(one, title=found.title, year=found.year, identifier="")
            references.append(one)
        yield replace(paper, references=tuple(references))


def _name_key(name: str) -> str:
    return entity_key(name) or name.casefold()


# What a paper states: who wrote it, what it cites and builds on, what it uses and improves.


_LISTED_STRUCTURE = (
    ("Authors", "authors", "written_by", "person"),
    ("Topics", "topics", "about", "topic"),
    ("Methods", "methods", "uses", "method"),
    ("Datasets", "datasets", "evaluated_on", "dataset"),
    ("Tasks", "tasks", "addresses", "task"),
)
"""Lines, fields, and what they state."""
_SHORT_NAME = re.compile(r"(?P<name>\S{2,30}?(?:(?=, )|(?: \S{1,20}){0,2}(?=: )))")
_SPECIAL = re.compile(r"[A-Za-z].{0,40}[A-Z0-9]")
_NAME = (
    r"[A-Z][\w+.-]{0,30}\w(?:[ -](?:[A-Z][\w+.-]{0,30}\w|\d{1,4})){0,3}"
    r"|[a-z]{1,10}\d?[A-Z][\w-]{1,20}"
)
_LIST = rf"(?:{_NAME})(?:(?:, (?:and )?| and )(?:the )?(?:{_NAME})){{0,5}}"
_STATED = {
    "builds_on": (
        PAPER,
        "(?:buil(?:ds?|t|ding) (?:up)?on(?: top of)?|extend(?:s|ed|ing)?|based (?:up)?on|variant of"
        "|derived from|inspired by)",
    ),
    "improves": (
        PAPER,
        "(?:improv(?:es?|ed|ing|ements?) (?:up)?o(?:n|ver)|outperform(?:s|ed|ing)?"
        "|surpass(?:es|ed|ing)?)",
    ),
    "evaluated_on": (
        "dataset",
        "(?:evaluat(?:es?|ed|ing|ion)(?: it| them| our [a-z]{1,20})? on|experiments on"
        "|trained on|results on|state of the art on)",
    ),
    "uses": ("method", "(?:using|we use|uses|employ(?:s|ing)?|fine-?tun(?:es?|ed|ing))"),
    "introduces": ("method", "(?:we (?:propose|introduce|present)|called|named|termed|dubbed)"),
}
_PATTERNS = {
    relation: (kind, re.compile(rf"\b{verb} (?:the |a |an )?(?P<names>{_LIST})", re.ASCII))
    for relation, (kind, verb) in _STATED.items()
}
_EACH = re.compile(_NAME, re.ASCII)
_LONGEST_ABSTRACT = 20_000
_STATED_BY_WORDS = 0.8
_NAMED_AND_CITED = 0.7
"""Confidence of building on a paper that is cited, and named in the title or the abstract."""


def paper_structure(document: Document) -> Structure:
    """The relations of a paper; nothing for documents of any other kind."""
    if document.media_type == MEDIA_TYPE:
        paper, places = paper_of(document)
    elif document.media_type == PDF and document.metadata.get("entity_type") == PAPER:
        paper, places = paper_in(document)
    else:
        return Structure()
    if not entity_key(paper.title):
        return Structure()
    own = {entity_key(paper.title), entity_key(short_name(paper.title))}
    stated: dict[tuple[str, str, str], Statement] = {}
    for one in _statements(paper, places):
        if entity_key(one.tail) not in own or entity_key(one.head) not in own:
            stated.setdefault((entity_key(one.head), one.relation_type, entity_key(one.tail)), one)
    # When a program made the file says nothing of when the paper cites another.
    published = None if document.date_source == "properties" else document.created_at
    found = (replace(one, valid_from=published) for one in stated.values())
    return Structure(
        statements=tuple(found),
        aliases=tuple(_aliases(paper)),
        entities=(DeclaredEntity(name=paper.title, entity_type=PAPER),),
    )


def short_name(title: str) -> str:
    """What a title says before its colon, where that is a name: "BERT: Pre-training of …"."""
    match = _SHORT_NAME.match(title)
    if match is None:
        return ""
    name = match["name"]
    is_name = (
        any(map(_SPECIAL.search, name.split())) or name[-1].isdecimal() or not is_ordinary(name)
    )
    return name if is_name and any(map(str.isupper, name)) else ""


def _aliases(paper: Paper) -> Iterator[AliasEvidence]:
    short = short_name(paper.title)
    named = [(name, paper.title, 0.95, "its identifier") for name in paper.identifiers]
    named.append((short, paper.title, 0.95, "what its title says before the colon"))
    for one in paper.references:
        name = short_name(one.title) or (one.identifier if one.title else "")
        named.append((name, one.title, 0.9, f"“{one.title}”"))
    for alias, title, score, why in named:
        if entity_key(alias) and entity_key(alias) != entity_key(title):
            yield AliasEvidence(alias=alias, name=title, method="exact", score=score, evidence=why)


def _statements(paper: Paper, places: Places) -> Iterator[Statement]:
    for line, field, relation, kind in _LISTED_STRUCTURE:
        start, end = places.get(line, (0, 0))
        for name in getattr(paper, field):
            yield _statement(paper, relation, name, kind, (start, end))
    if paper.venue:
        yield _statement(paper, "published_in", paper.venue, "venue", places.get("Venue", (0, 0)))
    yield from _in_words(paper, places)
    for number, one in enumerate(paper.references):
        place = places[f"ref {number}"]
        yield _statement(paper, "cites", one.name, PAPER, place)
        if one.year and paper.year and one.year < paper.year:
            yield Statement(
                head=one.name,
                head_type=PAPER,
                relation_type="precedes",
                tail=paper.title,
                tail_type=PAPER,
                start=place[0],
                end=place[1],
            )


def _statement(
    paper: Paper,
    relation: str,
    tail: str,
    kind: str,
    place: tuple[int, int],
    confidence: float = 0.95,
) -> Statement:
    return Statement(
        head=paper.title,
        head_type=PAPER,
        relation_type=relation,
        tail=tail,
        tail_type=kind,
        start=place[0],
        end=place[1],
        confidence=confidence,
    )


def _in_words(paper: Paper, places: Places) -> Iterator[Statement]:
    """What the abstract says of other papers, methods and data sets, and what it names of these."""
    cited = {short: one.name for one in paper.references if (short := short_name(one.title))}
    abstract = paper.abstract[:_LONGEST_ABSTRACT]
    place = places.get("Abstract", (0, 0))
    for relation, (kind, pattern) in _PATTERNS.items():
        for match in pattern.finditer(abstract):
            for name in _EACH.findall(match["names"]):
                tail = cited.get(name, name)
                yield _statement(
                    paper, relation, tail, PAPER if name in cited else kind, place, _STATED_BY_WORDS
                )
    words = set(re.findall(r"[\w+-]+", f"{paper.title} {abstract}"))
    for short, name in cited.items():
        if words.issuperset(re.findall(r"[\w+-]+", short)):
            yield _statement(paper, "builds_on", name, PAPER, place, _NAMED_AND_CITED)
