"""Articles as PDF: what layout and wording tell of title, authors, abstract and references."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.indexing.ner.entity_types import is_person_shaped
from clew.plugins.papers.bibliography import (
    MOST_REFERENCES,
    Paper,
    Places,
    Reference,
    arxiv_in,
    doi_in,
    year_in,
)
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
    after = _AFTER_ABSTRACT.search(text, start, start + _LONGEST_ABSTRACT)
    end = after.start() if after else start + _LONGEST_ABSTRACT // 2
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
