"""What a paper states: who wrote it, what it cites and builds on, what it uses and improves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from clew.indexing.ner.name_lexicon import is_ordinary
from clew.indexing.reading.formats.bibliography.paper import Paper
from clew.packs.papers.paper import MEDIA_TYPE, PAPER, Places, paper_of
from clew.packs.papers.pdf import PDF, paper_in
from clew.text import entity_key
from clew.types import AliasEvidence, DeclaredEntity, Document, Statement, Structure

_LISTED = (
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
    names = [(name, "its identifier") for name in paper.identifiers]
    names += [(name, "what its title says before the colon") for name in [short_name(paper.title)]]
    for name, why in names:
        if entity_key(name) and entity_key(name) != entity_key(paper.title):
            yield AliasEvidence(
                alias=name, name=paper.title, method="exact", score=0.95, evidence=why
            )
    for one in paper.references:
        name = short_name(one.title) or (one.identifier if one.title else "")
        if name:
            yield AliasEvidence(
                alias=name, name=one.title, method="exact", score=0.9, evidence=f"“{one.title}”"
            )


def _statements(paper: Paper, places: Places) -> Iterator[Statement]:
    for line, field, relation, kind in _LISTED:
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
