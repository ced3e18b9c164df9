"""Who does what in a document: in minutes, and where it gives credit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import (
    COURTESY,
    is_first_name,
    is_ordinary,
    is_person_shaped,
)
from clew.indexing.structure.enter import structure
from clew.types import Statement
from clew.word_lists import read_patterns

if TYPE_CHECKING:
    from datetime import datetime

    from clew.types import Document


_RE = read_patterns("clew.indexing.structure", "patterns.toml")["people"]


_Place = tuple[str, int, int]
"""A name and its range."""


_MOST_MINUTES = 200
"""People of a meeting."""
_KINDS = frozenset({"text/plain", "text/markdown", "text/x-rst", "text/html"})


@structure(most=2 * _MOST_MINUTES)
def minutes_structure(document: Document) -> Iterator[Statement]:
    """Who `attended` the meeting, who was `absent_from` it, who `spoke_in` it and who is to act."""
    if document.media_type not in _KINDS:
        return
    found = [
        ("absent_from" if line["absent"] else "attended", place)
        for line in _RE["present"].finditer(document.text)
        for place in _listed(document.text, line)
    ]
    # Who was there opens a line by the name, or by a part of it that is nobody else's: "Ada: …".
    short: dict[str, set[str]] = {}
    for name in {name for relation, (name, _, _) in found if relation == "attended"}:
        for part in {name, *name.split()}:
            short.setdefault(part, set()).add(name)
    for match in _RE["said"].finditer(document.text):
        if len(meant := short.get(match["name"], ())) == 1:
            found.append(("spoke_in", (*meant, *match.span("name"))))
    for match in _RE["action"].finditer(document.text):
        if is_person_shaped(match["name"]):
            found.append(("has_action_in", (match["name"], *match.span("name"))))
    for relation, place in found:
        yield _by_person(place, relation, document.title, document.created_at)


def _by_person(place: _Place, relation: str, tail: str, at: datetime | None) -> Statement:
    name, start, end = place
    return Statement(
        head=name,
        head_type="person",
        relation_type=relation,
        tail=tail,
        start=start,
        end=end,
        valid_from=at,
    )


def _listed(text: str, match: re.Match[str]) -> Iterator[_Place]:
    """Names on the line itself, else those of the list below it, with their places."""
    if match["names"] and match["names"].strip(" *_"):
        yield from _names_minutes(match["names"], match.start("names"))
        return
    at = match.end()
    at += len(_RE["blank"].match(text, at)[0])  # type: ignore[index]
    for _ in range(_MOST_MINUTES):
        item = _RE["item_minutes"].match(text, at)
        if item is None:
            return
        yield from _names_minutes(item["name"], item.start("name"))
        at = item.end()


def _names_minutes(text: str, offset: int) -> Iterator[_Place]:
    """The names of persons among what is listed, nothing else."""
    at = 0
    for between in (*_RE["between"].finditer(text), None):
        end = between.start() if between else len(text)
        name = " ".join(_RE["aside_minutes"].sub(" ", text[at:end]).split()).strip(" .:–-")
        while name.partition(" ")[0].casefold().strip(".") in COURTESY:
            name = name.partition(" ")[2]
        if is_person_shaped(name) or (name.istitle() and is_first_name(name)):
            yield name, offset + at, offset + end
        at = between.end() if between else end


# Who is credited in a document: "Contributed by Ada Lovelace", "thanks Ada Lovelace for …".
#
# So is who stands in a list of contributors, or of names with addresses.


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
_STOP_CREDITS = re.compile(r"[^\W\d_]{5}\. ")
"""The end of a sentence rather than of an initial: "reported by OpenSSL. In that case"."""
_WITH_ADDRESS = re.compile(
    rf"^[ \t]{{0,8}}(?:[-*•][ \t]{{1,4}})?(?P<name>{_NAME.pattern})"
    r" [<(][^\s<>()]{1,60}(?:@| at )",
    re.MULTILINE,
)
"""A line of a list of authors: "Ada Lovelace <ada@example.org>"."""
_AND = re.compile(r"(?:,\s?(?:and\s)?|\sand\s)")
_ITEM = re.compile(r"[ \t]*(?:[-*•][ \t]+)?(?P<name>[^\n]{3,60})\n?")
_ASIDE_CREDITS = re.compile(r"\([^()]{0,60}\)|<[^<>]{0,60}>|:\w{1,10}:`[^`]{0,40}`")
_MOST_LISTED = 300
_HANDLE = re.compile(r"@?[^\W\d_][\w-]{2,38}")
_LONGEST_HANDLE = 3
"""Words of a line of such a list that is no name of a person: it is passed over."""


@structure(most=1_000)
def credited(document: Document) -> Iterator[Statement]:
    """`credited_in` the document, of each person in full, once."""
    for name, start, end in chain(_in_sentences(document.text), _in_lists(document.text)):
        yield Statement(
            head=name,
            head_type="person",
            relation_type="credited_in",
            tail=document.title,
            start=start,
            end=end,
            confidence=0.9,
        )


def _in_sentences(text: str) -> Iterator[_Place]:
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


def _names(text: str, at: int) -> Iterator[_Place]:
    """The names of persons that are listed from a place on."""
    for _ in range(_MOST_LISTED):
        match = _NAME.match(text, at)
        name = " ".join(match.group().split()).rstrip(".") if match else ""
        if match is None or not is_person_shaped(name) or _STOP_CREDITS.search(name):
            return
        yield name, match.start(), match.start() + len(match.group().rstrip("."))
        between = _AND.match(text, match.end())
        if between is None:
            return
        at = between.end()


def _in_lists(text: str) -> Iterator[_Place]:
    """The lines below "Thanks to all who contributed:" that are names of persons."""
    for listed in _WITH_ADDRESS.finditer(text):
        yield " ".join(listed["name"].split()), *listed.span("name")
    for match in _LIST.finditer(text):
        at = match.end()
        for _ in range(_MOST_LISTED):
            item = _ITEM.match(text, at)
            if item is None:
                break
            name = " ".join(_ASIDE_CREDITS.sub(" ", item["name"]).split())
            # One word may be somebody's handle: "jxlil", "Kadino".
            is_handle = _HANDLE.fullmatch(name) and not (
                name.casefold().endswith("bot") or is_ordinary(name)
            )
            if (is_person_shaped(name) and not _THANKS.match(name)) or is_handle:
                yield name, item.start("name"), item.end("name")
            elif len(name.split()) > _LONGEST_HANDLE:
                break
            at = item.end()
