"""What hyperlinks of reStructuredText tie a section to: other sections of its document."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from clew.indexing.splitting.outline import headings
from clew.indexing.structure.headings import subject_of
from clew.text import entity_key
from clew.types import Statement, Structure

if TYPE_CHECKING:
    from clew.types import Document

REFERS_TO = "refers_to"
_MOST = 1_000
"""References of a document."""
_REFERENCE = re.compile(
    r"(?<![\w`:])(?:`(?P<phrase>[^`<>\n]{2,80})`|(?P<word>[^\W_][\w-]{1,60}))_(?!_|\w)"
)


def section_references(document: Document) -> Structure:
    """`refers_to`, from the subject of a section to that of another that it links to."""
    if document.media_type != "text/x-rst":
        return Structure()
    found = headings(document.text, document.media_type)
    subjects = [subject_of(one.title, is_linked=True) for one in found]
    titles = {entity_key(one.title): s for one, s in zip(found, subjects, strict=True) if s}
    starts = [one.start for one in found]
    stated: dict[tuple[str, str], Statement] = {}
    for match in _REFERENCE.finditer(document.text):
        place = bisect_right(starts, match.start()) - 1
        target = titles.get(entity_key(match["phrase"] or match["word"]))
        if place < 0 or target is None or len(stated) == _MOST:
            continue
        head = subjects[place]
        if entity_key(head) and entity_key(head) != entity_key(target):
            stated.setdefault(
                (head, target),
                Statement(
                    head=head,
                    relation_type=REFERS_TO,
                    tail=target,
                    start=match.start(),
                    end=match.end(),
                ),
            )
    return Structure(statements=tuple(stated.values()))
