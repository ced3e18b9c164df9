"""What stands around names: whole or part of a longer one, listed with others, with dates between.

A relation holds between things, so each name must be all that the words beside it speak of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.indexing.ner.entity_types import type_of_name
from clew.indexing.ner.name_lexicon import DEMONYMS
from clew.indexing.ner.spans import NameSpan
from clew.indexing.relations.antecedents import is_person
from clew.indexing.relations.phrases import KINDS, RELATIONAL
from clew.text import STOP_WORDS
from clew.word_lists import read_word_lists, word_list

LONGEST_LIST = 12
"""Names of a list of which the same is said."""
_DATE_CUE = re.compile(
    r",?(?:^|(?<=\s))(?:(?:in|on|since|from|until|during|after|before|around|at)(?: the)?"
    r"(?: (?:early|late|mid))?)?\s$",
    re.IGNORECASE,
)
_MARKS = re.compile(
    r"^(?:\(\))?[`*_\"”]{1,3}(?=\s)\s|\s(?::(?:[a-z]{1,6}:)?[a-z]{2,12}:)?[`*_\"“]{1,3}[!~]?$"
)
"""What marks names at either end of the words between them: "foo` uses :func:`bar"."""
_LONGEST_MARKED = 80
"""Characters of a name between back quotes."""
_BESIDE = re.compile(r"[-‐/\w@]|['’]s\b|\s(?P<word>[a-z][\w-]*)")
MAY_FOLLOW = STOP_WORDS | word_list(
    # What may stand after a name without making it part of a longer one.
    "via per since until within without upon among along across toward towards alongside onto amid"
    " despite like unlike near around behind beyond whose although though whereas thus hence then"
    " today yesterday tomorrow tonight last next this recently later ago together alone too"
    " instead well twice who which whom respectively starring"
    " featuring including using making being called named known following based located directed"
    " written produced published released founded born aged plus versus et"
)
_DEGREES = word_list("phd ph.d b.a m.a mba bachelor master doctorate")
_KIND_AFTER = re.compile(r"[`*_\"”]{0,2}[ \n](?P<noun>[a-z]{4,14})(?=[ \n,])")
_ARTICLE = re.compile(r"\b[Tt](?:he|his)[ \n][`*_\"“]{0,2}$")
CODE_KINDS = word_list(read_word_lists("clew.indexing.structure", "kinds.toml")["after"])
"""Nouns that say what a thing of code is: "module"."""
_OWNED = re.compile(r"\b(?:his|her|their|its|my|your|our)$")
_LIST = re.compile(r"\s*(?:,|,?\s(?:and|&))\s+(?:the )?")
_AND = re.compile(r",?\s(?:and|&)\s+(?:the )?")
_ROLE_OF = re.compile(r"(?P<role>\w+) (?:of|at|for) (?:the )?")


def without_role(name: NameSpan) -> NameSpan:
    """Without the role that it begins with: "Acme" of "CEO of Acme"."""
    role = _ROLE_OF.match(name.name)
    if role is None or role["role"].casefold() not in RELATIONAL:
        return name
    rest = name.name[role.end() :]
    start = name.end - len(rest)
    return NameSpan(start, name.end, rest, type_of_name(rest)) if start > name.start else name


def without_kind(text: str, name: NameSpan, end: int) -> int:
    """Where a name ends with the noun that says its kind: "the `asyncio` module | provides"."""
    said = _KIND_AFTER.match(text, name.end, end)
    if said is None or said["noun"] not in CODE_KINDS:
        return name.end
    return said.end() if _ARTICLE.search(text, max(0, name.start - 8), name.start) else name.end


def is_attribute(name: str) -> bool:
    """Whether it is no name by itself: "German", "French-Canadian", "Hamburg-based", "CEO"."""
    parts = name.casefold().split("-")
    if (parts[0] in RELATIONAL or parts[0] in _DEGREES) and len(parts) == 1:
        return True
    return parts[-1] in DEMONYMS or (len(parts) > 1 and parts[-1] in ("based", "born", "language"))


def gap_between(text: str, start: int, end: int, dates: Sequence[NameSpan]) -> str:
    """The words of a range without its dates: " in 1990 married " is " married "."""
    kept = []
    for date in dates:
        if start <= date.start < end:
            kept.append(_DATE_CUE.sub(" ", text[start : date.start]).rstrip())
            start = max(start, date.end)
    gap = "".join(kept) + text[start:end]
    # What opens with a back quote and does not close with one is speech: "answered `Come on!'".
    is_speech = gap.endswith("`") and "`" not in text[end : end + _LONGEST_MARKED]
    return gap if is_speech else _MARKS.sub(" ", gap)


def is_whole(text: str, name: NameSpan, end: int, gap: str) -> bool:
    """Whether the name is what the words before it speak of, and not a part of that.

    It is not in "uses the Werkzeug | routing system", "sold its Linux | division" or "Bob | 's".
    """
    after = _BESIDE.match(text, name.end, end)
    if after is None:
        return True
    word = after["word"]
    if word is None or (word not in MAY_FOLLOW and _OWNED.search(gap.rstrip())):
        return False
    if name.entity_type == "code" and word in CODE_KINDS:
        return True
    return word in MAY_FOLLOW or word in KINDS or word.endswith("ly")


def listed_after(text: str, told: Sequence[NameSpan], first: NameSpan) -> list[NameSpan]:
    """Names of the same kind that go on a list, which ends with "and"."""
    listed: list[NameSpan] = []
    last, closed = first, 0
    for name in told:
        if name.start <= first.start:
            continue
        gap = text[last.end : name.start]
        alike = is_person(name) == is_person(first) and "place" not in {first.entity_type}
        if len(listed) == LONGEST_LIST or not (alike and _LIST.fullmatch(gap)):
            break
        listed.append(name)
        last = name
        if _AND.fullmatch(gap):
            closed = len(listed)
            break
    whole = listed[:closed]
    return (
        whole
        if whole and is_whole(text, whole[-1], len(text), "") and not _acts(text, whole[-1])
        else []
    )


def _acts(text: str, name: NameSpan) -> bool:
    """Whether a verb follows at once, so that the name begins a clause: "… and Bob | sang"."""
    after = _BESIDE.match(text, name.end)
    return bool(after and after["word"] in ("is", "was", "are", "were", "has", "had", "did"))


def joint_subject(
    text: str, start: int, told: Sequence[NameSpan], name: NameSpan
) -> NameSpan | None:
    """The name that opens the sentence and is joined to its other subject: "A and B founded"."""
    before = next((n for n in reversed(told) if n.end <= name.start), None)
    if before is None or before.start != start or is_person(before) != is_person(name):
        return None
    return before if _AND.fullmatch(text, before.end, name.start) else None
