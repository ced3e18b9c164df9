"""Labelled lines at the top of a note that are about what the note is about.

- **Reports to**: Paul Okoro
Location: Bristol
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clew.indexing.reading.formats.mail.people import MEDIA_TYPE as MAIL
from clew.indexing.splitting.code_blocks import is_code
from clew.indexing.structure.fields import FIELDS, Field, snake_case
from clew.indexing.structure.tables import names_something
from clew.text import entity_key
from clew.types import Statement, Structure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.types import Document

_LABELS = {
    "reports_to": ("person", "reports_to manager line_manager supervisor"),
    "located_in": ("place", "location city based_in venue headquarters country region"),
    "affiliated_with": ("organisation", "employer company affiliation works_for works_at"),
    "chaired_by": ("person", "chair chairman chairperson chaired_by facilitator moderator"),
    "minuted_by": ("person", "minutes minutes_by minute_taker note_taker scribe secretary clerk"),
    "led_by": ("person", "lead leader led_by head project_lead project_manager director"),
    "made_by": ("name", "manufacturer maker vendor supplier brand"),
    "founded_by": ("person", "founder founders founded_by"),
    "married": ("person", "spouse husband wife"),
    "child_of": ("person", "parents mother father"),
    "has_client": ("name", "client customer"),
}
LABELS = FIELDS | {
    name: Field(relation_type, tail_type)
    for relation_type, (tail_type, names) in _LABELS.items()
    for name in names.split()
}
"""By the label in snake_case."""
FIELD_NAMES = frozenset(LABELS) | frozenset(
    "role job occupation position title date time when where born died email phone address website"
    " url contact team department budget deadline priority start end duration version language"
    " notes note attendees present apologies agenda goal goals summary type kind name".split()
)
"""Labels of fields: what a list defines is none of them."""
_LINE = re.compile(
    r"^[ \t]{0,4}(?:[-*+•][ \t]{1,4})?(?:\*\*|__)?"
    r"(?P<label>[^\W\d_a-z][^\W\d_]+(?: [a-z]+){0,2})"
    r"(?:\*\*:|:\*\*|__:|:__|:)[ \t]{1,12}(?P<value>[^\n]{2,100})$",
    re.MULTILINE,
)
_SPLIT = re.compile(r"[;,]|\s(?:and|&)\s")
_MARKS = re.compile(r"[*_`\[\]]|\([^()]{0,80}\)|<[^<>]{0,80}>")
_TOP = 1_500
"""Characters of a document within which fields are about all of it."""
_SECOND_HEADING = re.compile(r"\n#{1,6} ")


def labels(document: Document) -> Structure:
    """What labelled lines before the second heading say of the document's subject."""
    is_other = is_code(document.media_type) or document.media_type in (MAIL, "text/x-rst")
    if is_other or not entity_key(document.title):
        return Structure()
    return Structure(statements=tuple(_statements(document)))


def _statements(document: Document) -> Iterator[Statement]:
    top = document.text[:_TOP]
    second = _SECOND_HEADING.search(top, 1)
    for match in _LINE.finditer(top, 0, second.start() if second else len(top)):
        field = LABELS.get(snake_case(match["label"]))
        value = _MARKS.sub("", match["value"]).strip().rstrip(".")
        names = [name.strip() for name in _SPLIT.split(value)] if field else []
        if field is None or field.tail_type == "concept" or not all(map(names_something, names)):
            continue
        for name in names:
            if entity_key(name) != entity_key(document.title):
                yield Statement(
                    head=document.title,
                    relation_type=field.relation_type,
                    tail=name,
                    tail_type=field.tail_type,
                    start=match.start("label"),
                    end=match.end(),
                    confidence=0.85,
                )
