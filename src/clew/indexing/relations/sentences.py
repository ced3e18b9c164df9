"""What a pronoun that opens a sentence stands for: the subject of the sentence before it.

By the preference of centering theory (Grosz, Joshi and Weinstein, 1995): what the last sentence
was about is what the next one goes on about. It holds within a paragraph alone, and only where the
last sentence names nothing else that the pronoun could mean; the subject of the document goes
before other names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from clew.indexing.ner.cased_ner import is_heading
from clew.indexing.ner.entity_types import (
    DEMONYMS,
    PLACES,
    NameSpan,
    is_first_name,
    is_person_shaped,
    type_of_description,
    type_of_name,
)
from clew.indexing.relations.phrases import KINDS, RELATIONAL
from clew.text import STOP_WORDS, entity_key
from clew.word_lists import read_patterns, read_word_lists, word_list

_RE = read_patterns("clew.indexing.relations", "patterns.toml")["sentences"]


class Antecedent(NamedTuple):
    """What a pronoun stands for: the topic so far, the subject of the document, or the speaker."""

    name: str
    start: int
    """Where the pronoun may stand: the start of a sentence, or of a speaker's words."""
    speaks: bool = False
    """Whether "I" means it; otherwise "he", "she", "it" and "the film" do."""
    entity_type: str = "name"
    is_described: bool = False
    """Whether "the film" means it, but no pronoun does."""


class TopicSentence(NamedTuple):
    """A sentence with its names in order, none within another."""

    start: int
    end: int
    names: Sequence[NameSpan]


def is_person(name: NameSpan | Antecedent) -> bool:
    """Whether "he" or "she" can mean it."""
    if name.entity_type != "name":
        return name.entity_type == "person"
    return is_person_shaped(name.name) or is_first_name(name.name)


def find_topics(
    text: str,
    sentences: Sequence[TopicSentence],
    subject: str | None,
    topic: NameSpan | None = None,
) -> Iterator[NameSpan | None]:
    """For each sentence, what the sentences before it in its paragraph are about; None if unclear.

    `subject` is what the document is about, `topic` what the first sentence goes on about.
    """
    subject_key = entity_key(subject) if subject else ""
    end = 0
    is_headed = False
    for sentence in sentences:
        if _RE["rule"].fullmatch(text, sentence.start, sentence.end):  # what underlines a heading
            yield None
            continue
        if not is_headed and _RE["paragraph"].search(text, end, sentence.start + 1):
            topic = None
        yield topic
        is_headed = is_heading(text, sentence.start, sentence.end)
        if is_headed:  # what the first sentence below is about: the name that is all of it
            title = text[sentence.start : sentence.end].strip("# \t\n*_")
            topic = next((n for n in sentence.names if text[n.start : n.end] == title), None)
        else:
            topic = _next_topic(text, sentence, topic, subject_key)
        end = sentence.end


def _next_topic(
    text: str, sentence: TopicSentence, topic: NameSpan | None, subject_key: str
) -> NameSpan | None:
    first = next((name for name in sentence.names if name.entity_type != "date"), None)
    opening = _RE["before_subject"].match(text, sentence.start)
    start = opening.end() if opening else sentence.start
    if first is not None and first.start <= start:
        # What has an article is no person, whatever else it is.
        is_thing = text[sentence.start : start].lower() == "the " and first.entity_type == "name"
        topic = first._replace(entity_type="thing") if is_thing else first
    elif not (topic and _goes_on(text, sentence.start, topic)):
        return None
    assert topic is not None
    if entity_key(topic.name) == subject_key:
        return topic
    beside = find_subject(text, sentence.start, sentence.end, sentence.names)
    told = beside.predicate if beside else sentence.start
    rivals = (
        name
        for name in sentence.names
        if name.start >= told
        and entity_key(name.name) != entity_key(topic.name)
        and name.entity_type != "date"
        and is_person(topic) == is_person(name)
    )
    return None if any(rivals) else topic


def _goes_on(text: str, start: int, topic: NameSpan) -> bool:
    """Whether a sentence opens with what stands for the topic: "It", "Its founder", "The firm"."""
    opening = _RE["pronoun"].match(text, start)
    kind = opening and opening["kind"]
    return bool(opening) and (not kind or type_of_description(kind) == topic.entity_type)


# Where a sentence says that its places lie: "in Notodden, Telemark, Norway".


_LONGEST_CHAIN = 4
_REGIONS = PLACES | {
    name.replace("-", " ")
    for name in word_list(read_word_lists("clew.indexing.relations", "phrases.toml")["regions"])
}


def find_places(
    text: str, start: int, end: int, names: Sequence[NameSpan]
) -> Iterator[tuple[NameSpan, NameSpan]]:
    """Neighbours of "in Notodden, Telemark, Norway", each of which lies in the next one.

    The last is a well-known place, the first is none where there are more: such is a list.
    """
    for i, region in enumerate(names):
        after = _RE["after_region"].match(text, region.end, end)
        if after is None or region.name.casefold() not in _REGIONS:
            continue
        first = i
        while first and i - first < _LONGEST_CHAIN and _may_lie(text, names[first - 1 : first + 1]):
            first -= 1
        before = _RE["in_before"].search(
            text, max(start, names[first].start - 10), names[first].start
        )
        is_known = names[first].name.casefold() in _REGIONS
        is_list = (is_known or after["joined"]) if i - first > 1 else is_known and after["joined"]
        if before and not is_list:
            yield from pairwise(names[first : i + 1])


def _may_lie(text: str, names: Sequence[NameSpan]) -> bool:
    place, region = names
    is_place = place.entity_type in ("place", "name") and not is_person(place)
    return is_place and _RE["comma"].fullmatch(text, place.end, region.start) is not None


# What stands around names: whole or part of a longer one, listed with others, with dates between.
#
# A relation holds between things, so each name must be all that the words beside it speak of.


LONGEST_LIST = 12
"""Names of a list of which the same is said."""
_LONGEST_MARKED = 80
"""Characters of a name between back quotes."""
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
CODE_KINDS = word_list(read_word_lists("clew.indexing.structure", "kinds.toml")["after"])
"""Nouns that say what a thing of code is: "module"."""


def without_role(name: NameSpan) -> NameSpan:
    """Without the role that it begins with: "Acme" of "CEO of Acme"."""
    role = _RE["role_of"].match(name.name)
    if role is None or role["role"].casefold() not in RELATIONAL:
        return name
    rest = name.name[role.end() :]
    start = name.end - len(rest)
    return NameSpan(start, name.end, rest, type_of_name(rest)) if start > name.start else name


def without_kind(text: str, name: NameSpan, end: int) -> int:
    """Where a name ends with the noun that says its kind: "the `asyncio` module | provides"."""
    said = _RE["kind_after"].match(text, name.end, end)
    if said is None or said["noun"] not in CODE_KINDS:
        return name.end
    return (
        said.end() if _RE["article"].search(text, max(0, name.start - 8), name.start) else name.end
    )


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
            kept.append(_RE["date_cue"].sub(" ", text[start : date.start]).rstrip())
            start = max(start, date.end)
    gap = "".join(kept) + text[start:end]
    # What opens with a back quote and does not close with one is speech: "answered `Come on!'".
    is_speech = gap.endswith("`") and "`" not in text[end : end + _LONGEST_MARKED]
    return gap if is_speech else _RE["marks"].sub(" ", gap)


def is_whole(text: str, name: NameSpan, end: int, gap: str) -> bool:
    """Whether the name is what the words before it speak of, and not a part of that.

    It is not in "uses the Werkzeug | routing system", "sold its Linux | division" or "Bob | 's".
    """
    after = _RE["beside"].match(text, name.end, end)
    if after is None:
        return True
    word = after["word"]
    if word is None or (word not in MAY_FOLLOW and _RE["owned"].search(gap.rstrip())):
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
        if len(listed) == LONGEST_LIST or not (alike and _RE["list"].fullmatch(gap)):
            break
        listed.append(name)
        last = name
        if _RE["and"].fullmatch(gap):
            closed = len(listed)
            break
    whole = listed[:closed]
    if not whole or not is_whole(text, whole[-1], len(text), ""):
        return []
    # A verb that follows at once begins a clause: "… and Bob | sang".
    after = _RE["beside"].match(text, whole[-1].end)
    return (
        []
        if after and after["word"] in ("is", "was", "are", "were", "has", "had", "did")
        else whole
    )


def joint_subject(
    text: str, start: int, told: Sequence[NameSpan], name: NameSpan
) -> NameSpan | None:
    """The name that opens the sentence and is joined to its other subject: "A and B founded"."""
    before = next((n for n in reversed(told) if n.end <= name.start), None)
    if before is None or before.start != start or is_person(before) != is_person(name):
        return None
    return before if _RE["and"].fullmatch(text, before.end, name.start) else None


# Where the predicate of a sentence begins, behind what stands beside its subject.
#
# "The Larch Mill in Stennick | was founded by", "Orrin Labs, a maker of looms, | acquired": what
# is
# said after the bar is said of the first name, not of the nearest.


_MOST_BESIDE = 3
PREDICATE = re.compile(r" (?!and\b|or\b|but\b)[a-z]")
"""What follows a subject that is said to do something."""


class Subject(NamedTuple):
    """A sentence's subject that something stands beside, and where its predicate begins."""

    name: NameSpan
    predicate: int
    place: NameSpan | None
    """Where "the Larch Mill in Stennick" stands, of a subject with its article."""


def find_subject(text: str, start: int, end: int, names: Sequence[NameSpan]) -> Subject | None:
    """The name that opens `text[start:end]`, where something stands behind it."""
    name = next((one for one in names if one.start >= start), None)
    opening = name and _RE["article_subjects"].fullmatch(text, start, name.start)
    if name is None or opening is None:
        return None
    at, place = name.end, None
    for _ in range(_MOST_BESIDE):
        aside = _RE["apposed"].match(text, at, end) or _RE["aside"].match(text, at, end)
        if aside:
            at = aside.end()
            continue
        found = _placed(text, at, end, names)
        if found is None:
            break
        at = found.end
        if opening["the"] and text[name.end : found.start].startswith(" in "):
            place = found
    is_said = at > name.end and PREDICATE.match(text, at, end)
    return Subject(name, at, place) if is_said else None


def _placed(text: str, at: int, end: int, names: Sequence[NameSpan]) -> NameSpan | None:
    """The name of the place that "in Stennick" names at a position."""
    preposition = _RE["placed"].match(text, at, end)
    if preposition is None:
        return None
    return next((name for name in names if name.start == preposition.end()), None)
