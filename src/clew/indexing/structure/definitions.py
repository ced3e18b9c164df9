"""What definition lists state: which terms a document defines, and what kind of thing each is.

The forms: `Term` with `: definition` below (Markdown), `Term` with an indented text below
(reStructuredText), an entry `**Term**: definition` of a list, code alone above its text or in the
first cell of a table, and an entry of a list of options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from clew.indexing.ner.name_lexicon import is_ordinary
from clew.indexing.relations.descriptions import CONCEPT, IS_A, concept_of
from clew.indexing.structure.code import CODE
from clew.indexing.structure.fields import is_name, snake_case
from clew.indexing.structure.headings import GENERIC
from clew.indexing.structure.labels import FIELD_NAMES
from clew.text import entity_key
from clew.types import Statement, Structure

if TYPE_CHECKING:
    from clew.types import Document

DEFINED_IN = "defined_in"
_RST = "text/x-rst"
_MOST = 1_000
"""Definitions of a document."""
_DEFINITION = re.compile(
    r"^(?:(?P<term>[^\W_][^\n:;.!?|]{0,60})\n(?:\n?:[ \t]{1,8}|[ ]{2,8})"
    r"|[-*+][ \t]{1,4}\*\*(?P<bold>[^*\n]{1,60})\*\*(?:[ \t]?[:–—-])?[ \t]{1,4})"
    r"(?P<text>(?:An?|The)[ ][^\n]{8,})",
    re.MULTILINE,
)
_LABELLED = re.compile(
    r"^(?:(?:\[\d{1,4}\]\([^()\n]{0,60}\))?[-*+•]?[ \t]{0,4}"
    r"\*\*(?P<bold>[^*\n:]{2,60})(?:\*\*:|:\*\*)"
    r"|[-*+•][ \t]{1,4}``?(?P<code>[^`\n]{2,60})``?[ ]?[:–—-])"
    r"[ \t]{1,4}(?P<text>[^\W_][^\n]{8,})",
    re.MULTILINE,
)
_TERM = re.compile(
    r"(?<=\n\n)(?P<term>[^\W_][^\n:;.!?|]{0,60}?)(?: : [^\n]{1,60})?\n[ ]{1,8}"
    r"(?P<text>[^\W_][^\n]{8,})"
)
"""In reStructuredText, whatever follows below a line and further in defines it."""


_ALONE = re.compile(r"(?<=\n\n)`(?P<code>[^`\s]{2,60})`\n\n(?P<text>[^\W\d_a-z][^\n]{8,})")
"""What lists of definitions in HTML become when they are read."""
_ROW = re.compile(
    r"^[ \t]{0,8}\|[ \t]{0,8}`(?P<code>[^`\s|]{2,60})`[ \t]{0,40}\|[ \t]{0,8}"
    r"(?P<text>[^\W\d_a-z][^\n|]{12,})",
    re.MULTILINE,
)
_OPTION = re.compile(
    r"^[ \t]{0,8}(?:-\w(?:,|[ ]|,[ ]))?(?P<code>--[a-z][\w-]{1,40})"
    r"(?:[= ]?[<\[]?[\w=<>|.-]{1,30}\]?)?"
    r"(?:[ ]{2,40}|\n[ ]{4,20})(?P<text>[^\W\d_a-z][^\n]{8,})",
    re.MULTILINE,
)
"""An entry of a list of options: "--force  Overwrites what is there"."""
_LISTED = re.compile(
    r"^[ \t]{0,8}[-*•‣+][ \t]{1,4}(?P<item>[a-z][\w.+-]{2,40})"
    r"(?:[ ](?:[-–—=]|--)[ ]|:[ ](?=an?[ ]|the[ ]))(?P<text>[^\W_][^\n]{8,})",
    re.MULTILINE,
)
"""An entry without marks: "- lintian - checks packages", "- gbp: a suite for packages"."""


def definitions(document: Document) -> Structure:
    """`defined_in` the document, and `is_a` where the definition says what the term is."""
    is_source = document.media_type.startswith("text/x-") and document.media_type != _RST
    if is_source or not entity_key(document.title):
        return Structure()
    return Structure(statements=tuple(_statements(document))[:_MOST])


def _statements(document: Document) -> Iterator[Statement]:
    patterns = (
        _DEFINITION,
        _LABELLED,
        _ALONE,
        _ROW,
        _OPTION,
        _LISTED,
        *((_TERM,) if document.media_type == _RST else ()),
    )
    for match in chain.from_iterable(p.finditer(document.text) for p in patterns):
        groups = match.groupdict()
        term = (
            next(filter(None, map(groups.get, ("term", "bold", "code", "item"))), "")
            .replace("_/", "/")
            .strip(" `*_:")
        )
        if not is_name(term) or len(term.split()) > 4 or term.casefold() in GENERIC:
            continue
        if snake_case(term) in FIELD_NAMES or (groups.get("item") and is_ordinary(term)):
            continue
        start, end = match.span()
        if entity_key(term) != entity_key(document.title):
            yield Statement(
                head=term,
                head_type=CODE if groups.get("code") or groups.get("item") else CONCEPT,
                relation_type=DEFINED_IN,
                tail=document.title,
                start=start,
                end=end,
            )
        if concept := concept_of(f" is {match['text'][:1].lower()}{match['text'][1:200]}"):
            yield Statement(
                head=term,
                relation_type=IS_A,
                tail=concept,
                tail_type=CONCEPT,
                start=start,
                end=end,
            )
