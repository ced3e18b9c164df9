"""Who wrote the works that a text cites: "[Bakunin, **Statism and Anarchy**, p. 5]"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import is_person_shaped
from clew.indexing.splitting.code_blocks import is_code
from clew.text import entity_key
from clew.types import Statement, Structure

if TYPE_CHECKING:
    from clew.types import Document

_MOST = 1_000
"""Works of a document."""
_PERSON = (
    r"[^\W\d_a-z][\w'’.-]{1,30}"
    r"(?:\s(?:(?:de|van|von|der|del|la)\s){0,2}[^\W\d_a-z][\w'’.-]{0,30}){0,3}"
)
_TITLE = r"[*_\"“]{1,3}(?P<title>[^\W\d_a-z][^*_\"“”\[\]]{3,100})[*_\"”]{1,3}"
_CITED = re.compile(
    rf"(?P<author>{_PERSON})(?: and (?P<second>{_PERSON}))? ?,\s{_TITLE}"
    r"[ ]?(?:\([^()\n]{0,60}\) ?)?,\s(?:[^\[\]\n]{0,30}\s)?(?:pp?\.|vol\.|no\.|\d{4}\b)"
)
_BY = re.compile(
    rf"{_TITLE} ?,? by (?P<author>[^\W\d_a-z][\w'’.-]{{1,30}}"
    r"(?: [^\W\d_a-z][\w'’.-]{0,30}){1,3})"
)
_NO_TITLE = re.compile(r"(?:[Oo]p\.? ?[Cc]it|[Ii]bid|[Ll]oc\.? ?[Cc]it|[Tt]he author)")


def cited_works(document: Document) -> Structure:
    """`authored_by`, of each work that is cited with its author."""
    if is_code(document.media_type):
        return Structure()
    found: dict[tuple[str, str], Statement] = {}
    for pattern in (_CITED, _BY):
        for match in pattern.finditer(document.text):
            if len(found) == _MOST:
                break
            one = _statement(match)
            if one:
                found.setdefault((entity_key(one.head), entity_key(one.tail)), one)
    return Structure(statements=tuple(found.values()))


def _statement(match: re.Match[str]) -> Statement | None:
    title, author = (
        " ".join(match["title"].split()).rstrip(" ,."),
        " ".join(match["author"].split()).rstrip("."),
    )
    is_person = is_person_shaped(author) or " " not in author
    if (
        "\n\n" in match["title"]
        or _NO_TITLE.match(title)
        or not is_person
        or entity_key(title) == entity_key(author)
    ):
        return None
    return Statement(
        head=title,
        head_type="work",
        relation_type="authored_by",
        tail=author,
        tail_type="person",
        start=match.start(),
        end=match.end(),
        confidence=0.85,
    )
