"""What a document's fields state of it: front matter, field lists and properties.

Fields are what reading a document made its metadata. A field that is not in the vocabulary below
is for filters, and states no relation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from clew.indexing.reading.formats.mail.people import MEDIA_TYPE as MAIL
from clew.text import entity_key
from clew.types import Statement, Structure

if TYPE_CHECKING:
    from clew.types import Document

LONGEST_NAME = 80
"""Characters of a value that is taken for a name."""
_MOST_VALUES = 50
"""Values of a field."""
_MOST_WORDS = 8


class Field(NamedTuple):
    """What a field states."""

    relation_type: str
    tail_type: str = "name"


_FIELDS = {
    "authored_by": ("person", "author authors creator creators writer by"),
    "edited_by": ("person", "editor editors"),
    "translated_by": ("person", "translator translators"),
    "maintained_by": ("person", "maintainer maintainers"),
    "owned_by": ("name", "owner owners"),
    "reviewed_by": ("person", "reviewer reviewers"),
    "sponsored_by": ("name", "sponsor sponsors"),
    "published_by": ("organisation", "publisher organisation organization"),
    "has_status": ("concept", "status state"),
    "has_category": ("concept", "category categories"),
    "licensed_under": ("name", "license licence"),
    "depends_on": ("name", "requires require depends dependencies depends_on"),
    "replaces": ("name", "replaces supersedes obsoletes"),
    "replaced_by": ("name", "replaced_by superseded_by obsoleted_by"),
    "updates": ("name", "updates"),
    "updated_by": ("name", "updated_by"),
    "implements": ("name", "implements"),
    "extends": ("name", "extends"),
    "part_of": ("name", "part_of series project"),
    "relates_to": ("name", "see_also related"),
}
FIELDS = {
    name: Field(relation_type, tail_type)
    for relation_type, (tail_type, names) in _FIELDS.items()
    for name in names.split()
}
"""By the field's name in snake_case."""
_SERIES = ("pep", "rfc", "bip", "eip", "xep", "jep", "dep")
"""Fields that number a document of a series, whose other fields give bare numbers."""
_SPLIT = re.compile(r"(?<!\s)\s*+(?:[;,]\s*|(?<=\s)(?:and|&)\s+)")
_ADDRESS = re.compile(r"(?<!\s)\s*+(?:<[^<>]{0,200}>|\([^()@]{0,200}+@[^()]{0,200}\))")
_NO_NAME = re.compile(
    r"https?:|[\w.+-]+@|[\d\s.,:/-]+\Z|(?:yes|no|true|false|none|n/?a|tbd)\Z", re.I
)
_NOT_WORD = re.compile(r"\W+")


def fields(document: Document) -> Structure:
    """What the metadata says of what the document is about."""
    # Of a message its header says who wrote it: see `mail`.
    if document.media_type == MAIL or not entity_key(document.title):
        return Structure()
    return Structure(statements=tuple(_statements(document)))


def _statements(document: Document) -> Iterator[Statement]:
    series = next((s for s in _SERIES if str(document.metadata.get(s, "")).isdecimal()), "")
    for name, given in document.metadata.items():
        field = FIELDS.get(snake_case(name))
        if field is None:
            continue
        for value in _values(given, field.tail_type):
            tail = f"{series.upper()} {value}" if series and value.isdecimal() else value
            if is_name(tail) and entity_key(tail) != entity_key(document.title):
                start, end = _place(document.text, name, tail)
                yield Statement(
                    head=document.title,
                    relation_type=field.relation_type,
                    tail=tail,
                    tail_type=field.tail_type,
                    start=start,
                    end=end,
                )


def _place(text: str, name: str, value: str) -> tuple[int, int]:
    """Where the text has the field's line; empty where the field is not in the text."""
    start = text.find(value)
    line = text[text.rfind("\n", 0, start) + 1 : start] if start >= 0 else ""
    return (start, start + len(value)) if name.casefold() in line.casefold() else (0, 0)


def _values(given: object, tail_type: str) -> list[str]:
    """The names in a value: a list, or a text of several with commas between them."""
    values = given if isinstance(given, list) else [given]
    texts = [_ADDRESS.sub("", str(v)).strip() for v in values[:_MOST_VALUES] if v is not None]
    if tail_type == "concept" or isinstance(given, list):
        return texts
    return [part for text in texts for part in _SPLIT.split(text[:1000])][:_MOST_VALUES]


def snake_case(name: str) -> str:
    """The name in snake_case: "Superseded-By" → superseded_by."""
    return "_".join(word for word in _NOT_WORD.split(name.casefold()) if word)


def is_name(text: str) -> bool:
    """Whether a value can name something: short, with letters, no address, number or yes and no."""
    if not (0 < len(text) <= LONGEST_NAME and len(text.split()) <= _MOST_WORDS):
        return False
    return bool(entity_key(text)) and _NO_NAME.match(text) is None
