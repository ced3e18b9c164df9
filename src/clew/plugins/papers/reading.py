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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count, repeat

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
from clew.languages import read_patterns
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
_RE = read_patterns(__package__, "patterns.toml")["reading"]


def is_article(text: str) -> bool:
    """Whether a text has an abstract near its beginning, and references."""
    return (
        _RE["abstract"].search(text[:_FRONT]) is not None
        and _RE["references"].search(text) is not None
    )


def paper_in(document: Document) -> tuple[Paper, Places]:
    """The paper that an article tells of, and the ranges of what it tells; see `is_article`.

    Its year is that of the front matter, else of the arXiv id; when the file was made tells none.
    """
    text = document.text
    front = text[:_FRONT]
    opening = _RE["abstract"].search(front)
    at, start = opening.span() if opening else (0, 0)
    title, below = _title(document, front[:at])
    after = _RE["after_abstract"].search(text, start, start + _LONGEST_IN_RECORD)
    end = after.start() if after else start + _LONGEST_IN_RECORD // 2
    abstract = text[start:end].strip() if opening else ""
    arxiv = arxiv_in(front)
    by_number = 2000 + int(arxiv[6:8]) if arxiv[6:8].isdecimal() else None
    authors = dict.fromkeys(map(one_line, _RE["names"].split(_RE["marks"].sub(" , ", below))))
    # Persons before the abstract, without the marks of their institutes.
    named = tuple(filter(is_person_shaped, authors))
    known = [(one, place) for one, place in _references(text) if one.name][:MOST_REFERENCES]
    return Paper(
        key="",
        title=title,
        authors=named or tuple(filter(None, str(document.metadata.get("author", "")).split("; "))),
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
    head = _RE["arxiv"].sub("", head)
    known = document.title
    if known and (at := one_line(head).find(known)) >= 0:
        return known, head[min(len(head), at + len(known)) :]
    blocks = [block for block in head.strip().split("\n") if block.strip()]
    if blocks and not known:
        return one_line(blocks[0]), "\n".join(blocks[1:])
    return known, head


def _references(text: str) -> Iterator[tuple[Reference, CharRange]]:
    """What the entries of the list of references name, each with its range."""
    start = next(
        (heading.end() for heading in reversed([*_RE["references"].finditer(text)])), len(text)
    )
    borders = [(one.start(), one.end()) for one in _RE["entry"].finditer(text, start)]
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
    number = _RE["number"].match(entry)
    entry = entry[number.end() :] if number else entry
    quoted = _RE["quoted"].search(entry)
    dated = _RE["dated"].search(entry)
    behind = entry[dated.end() :] if dated and dated.start() < len(entry) // 2 else ""
    titles = (
        quoted and quoted["title"],
        _RE["medical"].search(entry) and [*entry.split(". ", 2), ""][1],
        _RE["sentence"].split(behind, maxsplit=1)[0],
        [*_RE["sentence"].split(entry, maxsplit=2), ""][1],
    )
    title = next(filter(None, titles), "").strip(" .,")
    years = _RE["years"].findall(entry)
    year = int((dated and (dated["year"] or dated["bare"])) or (years[-1] if years else 0))
    title = title if len(title.split()) > 1 else ""
    identifier = doi_in(entry) or arxiv_in(entry)
    return Reference(title=title, year=year or None, identifier=identifier)


MEDIA_TYPE = "application/vnd.clew.paper"
PAPER = "paper"
"""The entity type of papers."""
REFERENCES = "References:"
_LISTED = {
    "Authors": "authors",
    "Topics": "topics",
    "Methods": "methods",
    "Datasets": "datasets",
    "Tasks": "tasks",
    "Identifiers": "identifiers",
}
"""Lines of several values, and the fields of `Paper` that they hold."""
_LONGEST_KEY = 200
_MOST_YEARS = 400
"""References whose year is kept: the metadata of a document are bounded."""
_BRACKETS = str.maketrans("[]", "()")


def paper_document(raw: RawFile, paper: Paper, number: int) -> Document:
    """The paper as a document, its references a passage of their own."""
    text = clean_text("\n".join(_lines(paper)))
    references = [
        f"- {one_line(one.title)} [{one.identifier.translate(_BRACKETS)}]".removesuffix(" []")
        if one_line(one.title)
        else f"- {one.identifier}"
        for one in paper.references[:MOST_REFERENCES]
    ]
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
        yield f"Abstract: {one_line(paper.abstract)}"
    if not any(known.values()) and not paper.abstract:
        yield one_line(paper.title)


def paper_of(document: Document) -> tuple[Paper, Places]:
    """The record that a paper's document holds, and the ranges of its lines by their first word.

    The references are at their own titles' ranges: `"ref 0"` is the first one's.
    """
    head, _, tail = document.text.partition(f"\n\n{REFERENCES}\n")
    # Of two lines that begin alike the first one counts.
    lines = {match["name"]: match for match in reversed([*_RE["line"].finditer(head)])}
    values = {name: match["value"] for name, match in lines.items()}
    places = {name: match.span() for name, match in lines.items()}
    years = [int(year) for year in str(document.metadata.get("cited_years", "")).split()]
    found = _RE["one_reference"].finditer(document.text, len(document.text) - len(tail))
    references: list[Reference] = []
    for match, cited in zip(found, chain(years, repeat(0)), strict=False):
        places[f"ref {len(references)}"] = match.span()
        one = Reference(title=match["title"], year=cited or None, identifier=match["id"] or "")
        references.append(one)
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
    date = to_date(str(paper.year)) if paper.year else None
    return replace(
        document,
        title=paper.title,
        metadata={**document.metadata, **{name: value for name, value in known.items() if value}},
        created_at=date.start if date else document.created_at,
        date_precision=date.precision if date else document.date_precision,
        date_source="text" if date else document.date_source,
    )


# Files of papers as documents, one a paper.


def read_bib(raw: RawFile) -> ReadResult | None:
    """A BibTeX file; None for a text without any entry."""
    text = decode(raw)
    return _result(raw, *read_bibtex(text)) if "@" in text else None


def read_ris_file(raw: RawFile) -> ReadResult | None:
    """A RIS file; None for a text without any record."""
    text = decode(raw)
    return _result(raw, *read_ris(text)) if "TY  -" in text else None


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
        Failed(number, "", "neither title nor known fields of a paper")
        for number, paper in zip(numbers, papers, strict=False)
        if paper is None
    ]
    return _result(raw, [paper for paper in papers if paper], failed, what)


def _result(
    raw: RawFile, papers: Sequence[Paper], failed: Sequence[Failed], what: str = "line"
) -> ReadResult:
    """The papers as documents; raises `LimitError` where together they have too much text."""
    skipped = [
        Skipped(
            source=raw.record(one.key) if one.key else raw.source,
            reason=f"{what} {one.line}: {one.reason}",
        )
        for one in failed
    ]
    documents: dict[str, Document] = {}
    characters = 0
    for number, paper in enumerate(linked(papers), 1):
        document = paper_document(raw, paper, number)
        characters += len(document.text)
        check_limit(raw.limits, "characters", characters, raw.source)
        if documents.setdefault(document.source, document) is not document:
            reason = f"same key again (record {number})"
            skipped.append(Skipped(source=document.source, reason=reason))
    return ReadResult(documents=tuple(documents.values()), skipped=tuple(skipped))


def linked(papers: Sequence[Paper]) -> Iterator[Paper]:
    """The papers with the titles and years of those of their references that are among them."""
    # Of several papers of one name the first one counts.
    known = {
        _name_key(name): paper
        for paper in reversed(papers)
        for name in (paper.key, *paper.identifiers[::-1], paper.title)
    }
    known.pop("", None)
    for paper in papers:
        cited = [
            (one, known.get(_name_key(one.identifier)) or known.get(_name_key(one.title)))
            for one in paper.references[:MOST_REFERENCES]
        ]
        references = (
            replace(one, title=own.title, year=own.year, identifier="") if own else one
            for one, own in cited
        )
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
_NAME = (
    r"[A-Z][\w+.-]{0,30}\w(?:[ -](?:[A-Z][\w+.-]{0,30}\w|\d{1,4})){0,3}"
    r"|[a-z]{1,10}\d?[A-Z][\w-]{1,20}"
)
_LIST = rf"(?:{_NAME})(?:(?:, (?:and )?| and )(?:the )?(?:{_NAME})){{0,5}}"
_STATED = {
    "builds_on": (
        "method",
        "(?:buil(?:ds?|t|ding) (?:up)?on(?: top of)?|extend(?:s|ed|ing)?|based (?:up)?on|variant of"
        "|derived from|inspired by)",
    ),
    "improves": (
        "method",
        "(?:improv(?:es?|ed|ing|ements?) (?:up)?o(?:n|ver)|outperform(?:s|ed|ing)?"
        "|surpass(?:es|ed|ing)?)",
    ),
    "evaluated_on": (
        "dataset",
        "(?:evaluat(?:es?|ed|ing|ion)(?: it| them| our [a-z]{1,20})? on|experiments on"
        "|trained on|results on|state of the art on)",
    ),
    "uses": ("method", "(?:using|we use|uses|employ(?:s|ing)?|fine-?tun(?:es?|ed|ing))"),
    "introduces": (
        "method",
        "(?:(?:we|this (?:paper|work|article)) (?:also |further )?"
        "(?:propose|introduce|present|develop|release)s?|called|named|termed"
        "|dubbed|(?:call|name)(?: (?:it|this|them|these|the resulting [a-z]{1,20}))?)",
    ),
}
"""Types of what is named, and words before it, by relation."""
_PATTERNS = {
    # What is new stands alone: what follows behind a comma says what it is.
    relation: (
        kind,
        re.compile(
            rf"\b(?i:{verb}) (?:the |a |an )?"
            rf"(?P<names>{_NAME if relation == 'introduces' else _LIST})",
            re.ASCII,
        ),
    )
    for relation, (kind, verb) in _STATED.items()
}
_EACH = re.compile(_NAME, re.ASCII)
_LONGEST_ABSTRACT = 20_000
_STATED_BY_WORDS = 0.8
_COINED = 0.6
"""Confidence of introducing what is defined in passing."""
_NAMED_AND_CITED = 0.7
"""Confidence of building on a paper that is cited, and named in the title or the abstract."""


def paper_structure(document: Document) -> Structure:
    """The relations of a paper; nothing for documents of any other kind."""
    read = {MEDIA_TYPE: paper_of, PDF: paper_in}.get(document.media_type)
    is_paper = document.metadata.get("entity_type") == PAPER and entity_key(document.title)
    if read is None or not is_paper:
        return Structure()
    paper, places = read(document)
    own = {entity_key(paper.title), entity_key(short_name(paper.title))}
    stated: dict[tuple[str, str, str], Statement] = {}
    for one in _statements(paper, places):
        if entity_key(one.tail) not in own or entity_key(one.head) not in own:
            stated.setdefault((entity_key(one.head), one.relation_type, entity_key(one.tail)), one)
    # When a program made the file says nothing of when the paper cites another.
    published = None if document.date_source == "properties" else document.created_at
    found = (replace(one, valid_from=published) for one in stated.values())
    # What a field names is of the field's type, whatever its words look like: "ICLR", "Atari".
    fields = (
        DeclaredEntity(name=name, entity_type=one.tail_type, start=one.start, end=one.end)
        for one in stated.values()
        for name in (one.tail, *chain(*_RE["defined"].findall(one.tail)))
        if one.confidence > _STATED_BY_WORDS and one.tail_type not in (PAPER, "person", "name")
    )
    return Structure(
        statements=tuple(found),
        aliases=tuple(_aliases(paper)),
        entities=(DeclaredEntity(name=paper.title, entity_type=PAPER), *fields),
    )


def short_name(title: str) -> str:
    """What a title says before its colon, where that is a name: "BERT: Pre-training of …"."""
    match = _RE["short_name"].match(title)
    name = match["name"] if match and any(map(str.isupper, match["name"])) else " "
    is_name = any(map(_RE["special"].search, name.split())) or name[-1].isdecimal()
    return name.strip() if is_name or not is_ordinary(name) else ""


def _aliases(paper: Paper) -> Iterator[AliasEvidence]:
    named = [
        *((name, paper.title, 0.95, "its identifier") for name in paper.identifiers),
        (short_name(paper.title), paper.title, 0.95, "what its title says before the colon"),
        *(
            (short_name(one.title) or one.identifier, one.title, 0.9, f"“{one.title}”")
            for one in paper.references
            if one.title
        ),
    ]
    for alias, title, score, why in named:
        if entity_key(alias) and entity_key(alias) != entity_key(title):
            yield AliasEvidence(alias=alias, name=title, method="exact", score=score, evidence=why)


def _statements(paper: Paper, places: Places) -> Iterator[Statement]:
    for line, field, relation, kind in _LISTED_STRUCTURE:
        for name in getattr(paper, field):
            yield _statement(paper, relation, name, kind, places.get(line, (0, 0)))
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
    _, end = places.get("Abstract", (0, 0))
    words = set(re.findall(r"[\w+-]+", f"{paper.title} {abstract}"))
    found = [
        *(
            (relation, name, kind, match.start(), _STATED_BY_WORDS)
            for relation, (kind, pattern) in _PATTERNS.items()
            for match in pattern.finditer(abstract)
            for name in _EACH.findall(match["names"])
        ),
        *(
            ("introduces", match[match.lastgroup or ""], "name", match.start(), _COINED)
            for match in _RE["coined"].finditer(abstract)
        ),
        *(
            ("builds_on", short, PAPER, max(0, abstract.find(short)), _NAMED_AND_CITED)
            for short in cited
            if words.issuperset(re.findall(r"[\w+-]+", short))
        ),
    ]
    for relation, name, kind, at, sure in found:
        place = (max(0, end - len(paper.abstract) + at), end)
        known = PAPER if name in cited else kind
        yield _statement(paper, relation, cited.get(name, name), known, place, sure)
