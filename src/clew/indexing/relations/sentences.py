"""What a pronoun that opens a sentence stands for: the subject of the sentence before it.

By the preference of centering theory (Grosz, Joshi and Weinstein, 1995): what the last sentence
was about is what the next one goes on about. It holds within a paragraph alone, and only where the
last sentence names nothing else that the pronoun could mean; the subject of the document goes
before other names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
    end = 0
    for sentence in sentences:
        if _RE["paragraph"].search(text, end, sentence.start + 1):
            topic = None
        yield topic
        topic, end = _next_topic(text, sentence, topic, entity_key(subject or "")), sentence.end


def _next_topic(
    text: str, sentence: TopicSentence, topic: NameSpan | None, subject_key: str
) -> NameSpan | None:
    told = [name for name in sentence.names if name.entity_type != "date"]
    opening = _RE["before_subject"].match(text, sentence.start)
    start = opening.end() if opening else sentence.start
    pronoun = _RE["pronoun"].match(text, sentence.start)
    if told and told[0].start <= start:
        # What has an article is no person, whatever else it is.
        is_thing = text[sentence.start : start].lower() == "the " and told[0].entity_type == "name"
        topic = told[0]._replace(entity_type="thing") if is_thing else told[0]
    elif pronoun is None or (
        topic and pronoun["kind"] and type_of_description(pronoun["kind"]) != topic.entity_type
    ):
        return None
    if topic is None or entity_key(topic.name) == subject_key:
        return topic
    rivals = (
        is_person(topic) == is_person(name)
        for name in told
        if entity_key(name.name) != entity_key(topic.name)
    )
    return None if any(rivals) else topic


REGIONS = PLACES | {
    name.replace("-", " ")
    for name in word_list(read_word_lists("clew.indexing.relations", "phrases.toml")["regions"])
}
"""Well-known places in small letters, within which others lie."""


# What stands around names: whole or part of a longer one, listed with others, with dates between.
#
# A relation holds between things, so each name must be all that the words beside it speak of.


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
