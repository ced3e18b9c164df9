"""Who takes part in a conversation, by the fields and lines of its record: mostly nicknames."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from clew.indexing.ner.name_lexicon import is_ordinary
from clew.indexing.ner.spans import NameSpan
from clew.types import Document

_FIELD = re.compile(
    r"^[ \t>*\"-]{0,12}(?:sender|nick|nickname|speaker|username|chair|founder)\"?[ \t]{0,2}:"
    r"[ \t]{1,4}\"?(?P<name>[\w.-]{2,40})\"?,?[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_LINE = re.compile(
    r"^(?:\[?\d{1,2}:\d\d(?::\d\d)?\]?[ \t]{1,3})?<[@+%~& ]?(?P<name>[\w.-]{2,40})>[ \t]",
    re.MULTILINE,
)
_PRESENT = re.compile(
    r"^[ \t]{0,8}(?:[-*][ \t]{1,3}|\d{1,3}[.)][ \t]{1,3})?(?P<name>[\w.-]{2,40})"
    r" (?:- |\()\d{1,6} (?:lines|messages|posts)?\b",
    re.MULTILINE,
)
_TOKEN = re.compile(r"(?<![\w/.@-])[\w-][\w.-]{1,39}")
_LEAST = 2
"""Lines that make a text a record of a conversation."""
_MOST = 500
"""People of one conversation."""


def find_members(document: Document) -> frozenset[str]:
    """The names under which people write in a document; those that are ordinary words left out."""
    spoken = [piece.metadata.get("speaker") for piece in document.pieces]
    names = [name for name in spoken if isinstance(name, str) and _TOKEN.fullmatch(name)]
    for pattern in (_FIELD, _LINE, _PRESENT):
        found = [match["name"] for match in pattern.finditer(document.text)]
        names += found if len(found) >= _LEAST else []
    kept = (name for name in dict.fromkeys(names) if _may_be_nickname(name))
    return frozenset(name for name, _ in zip(kept, range(_MOST), strict=False))


def _may_be_nickname(name: str) -> bool:
    is_word = name.isalpha() and name.islower() and is_ordinary(name)
    return not is_word and any(map(str.isalpha, name))


def find_mentioned(members: Collection[str], text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Where a text names one of them."""
    for match in _TOKEN.finditer(text, start, end):
        name = match.group().rstrip(".-")
        if name in members:
            yield NameSpan(match.start(), match.start() + len(name), name, "person")
