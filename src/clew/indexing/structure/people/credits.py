"""Who is credited in a document: "Contributed by Ada Lovelace", "thanks Ada Lovelace for …".

So is who stands in a list of contributors, or of names with addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import is_person_shaped
from clew.indexing.ner.name_lexicon import is_ordinary
from clew.indexing.splitting.code_blocks import is_code
from clew.text import entity_key
from clew.types import Statement, Structure

if TYPE_CHECKING:
    from clew.types import Document

CREDITED_IN = "credited_in"
_MOST = 1_000
"""Persons of a document."""
_DONE_BY = re.compile(
    r"(?:(?P<opens>Implemented|Written|Proposed|Designed|Developed|Fixed|Added|Created|Maintained"
    r"|Translated)|[Cc]ontributed|[Ss]uggested|[Rr]eported|[Ss]ubmitted|[Pp]ointed out"
    r"|[Nn]oticed|[Pp]atch(?:es)?|[Ff]ix(?:es)?|PRs?|[Cc]ourtesy)"
    r"(?: and [a-z]+)?(?: mostly| mainly)? (?:by|from|of)\s[*_]{0,2}"
)
"""What opens a sentence is done to the document, "written" within one to something else."""
_WITHIN = re.compile(r"[^.;\n] ")
_THANKS = re.compile(
    r"\b[Tt]hanks(?: for (?:[a-z]+ ){1,6}go)?(?: go)?(?:,| to| also| again| very much){0,3}\s"
)
_THANKED = re.compile(r"\b[Tt]hank(?:s|ed)?\b[^:.]{0,200}:\s{1,4}(?=[^\W\d_a-z])")
"""What stands before a list in a sentence: "I thank these people for their help: Ada Byron"."""
_AFTER_THANKS = re.compile(r"(?<!\s)[^\S\n]*+(?:[.;)\n]|\Z|(?:for|who)\b)")
_LIST = re.compile(
    r"\b(?:[Tt]hanks|[Cc]ontribut(?:ed|ors?|ions?)|[Cc]redits)\b[^\n:]{0,100}:[ \t]*\n\s*"
    r"|^(?:#{1,6}[ ])?(?:Contributors|Authors|Credits|Acknowledge?ments|Maintainers|Committers"
    r"|Thanks)[ \t]*\n(?:[=~*^-]{3,80}\n)?\s*",
    re.MULTILINE,
)
_WORD = r"[^\W\d_a-z][\w'’.-]{0,30}"
_NAME = re.compile(
    rf"{_WORD}(?:\s(?:(?:van|von|de|der|den|da|di|del|le|la)\s){{0,2}}{_WORD}){{1,3}}"
)
_STOP = re.compile(r"[^\W\d_]{5}\. ")
"""The end of a sentence rather than of an initial: "reported by OpenSSL. In that case"."""
_WITH_ADDRESS = re.compile(
    rf"^[ \t]{{0,8}}(?:[-*•][ \t]{{1,4}})?(?P<name>{_NAME.pattern})"
    r" [<(][^\s<>()]{1,60}(?:@| at )",
    re.MULTILINE,
)
"""A line of a list of authors: "Ada Lovelace <ada@example.org>"."""
_AND = re.compile(r"(?:,\s?(?:and\s)?|\sand\s)")
_ITEM = re.compile(r"[ \t]*(?:[-*•][ \t]+)?(?P<name>[^\n]{3,60})\n?")
_ASIDE = re.compile(r"\([^()]{0,60}\)|<[^<>]{0,60}>|:\w{1,10}:`[^`]{0,40}`")
_MOST_LISTED = 300
_HANDLE = re.compile(r"@?[^\W\d_][\w-]{2,38}")
_LONGEST_HANDLE = 3
"""Words of a line of such a list that is no name of a person: it is passed over."""


def credited(document: Document) -> Structure:
    """`credited_in` the document, of each person in full, once."""
    if not entity_key(document.title) or is_code(document.media_type):
        return Structure()
    found: dict[str, Statement] = {}
    for name, start, end in chain(_in_sentences(document.text), _in_lists(document.text)):
        if len(found) == _MOST:
            break
        statement = Statement(
            head=name,
            head_type="person",
            relation_type=CREDITED_IN,
            tail=document.title,
            start=start,
            end=end,
            confidence=0.9,
        )
        found.setdefault(entity_key(name), statement)
    return Structure(statements=tuple(found.values()))


Place = tuple[str, int, int]


def _in_sentences(text: str) -> Iterator[Place]:
    for match in _DONE_BY.finditer(text):
        before = text[max(0, match.start() - 2) : match.start()]
        if not (before[-1:].isalnum() or (match["opens"] and _WITHIN.fullmatch(before))):
            yield from _names(text, match.end())
    for match in _THANKED.finditer(text):
        yield from _names(text, match.end())
    for match in _THANKS.finditer(text):
        names = list(_names(text, match.end()))
        # "Thanks to Ada Byron, machines …" thanks nobody.
        if names and _AFTER_THANKS.match(text, names[-1][2]):
            yield from names


def _names(text: str, at: int) -> Iterator[Place]:
    """The names of persons that are listed from a place on."""
    for _ in range(_MOST_LISTED):
        match = _NAME.match(text, at)
        name = " ".join(match.group().split()).rstrip(".") if match else ""
        if match is None or not is_person_shaped(name) or _STOP.search(name):
            return
        yield name, match.start(), match.start() + len(match.group().rstrip("."))
        between = _AND.match(text, match.end())
        if between is None:
            return
        at = between.end()


def _is_handle(name: str) -> bool:
    """Whether one word of a list of persons is somebody's handle: "jxlil", "Kadino"."""
    is_bot = name.casefold().endswith("bot")
    return _HANDLE.fullmatch(name) is not None and not (is_bot or is_ordinary(name))


def _in_lists(text: str) -> Iterator[Place]:
    """The lines below "Thanks to all who contributed:" that are names of persons."""
    for listed in _WITH_ADDRESS.finditer(text):
        yield " ".join(listed["name"].split()), *listed.span("name")
    for match in _LIST.finditer(text):
        at = match.end()
        for _ in range(_MOST_LISTED):
            item = _ITEM.match(text, at)
            if item is None:
                break
            name = " ".join(_ASIDE.sub(" ", item["name"]).split())
            if (is_person_shaped(name) and not _THANKS.match(name)) or _is_handle(name):
                yield name, item.start("name"), item.end("name")
            elif len(name.split()) > _LONGEST_HANDLE:
                break
            at = item.end()
