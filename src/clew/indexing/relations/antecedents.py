"""What a pronoun that opens a sentence stands for: the subject of the sentence before it.

By the preference of centering theory (Grosz, Joshi and Weinstein, 1995): what the last sentence
was about is what the next one goes on about. It holds within a paragraph alone, and only where the
last sentence names nothing else that the pronoun could mean; the subject of the document goes
before other names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from clew.indexing.ner.entity_types import is_person_shaped, type_of_description
from clew.indexing.ner.layout import is_heading
from clew.indexing.ner.name_lexicon import is_first_name
from clew.indexing.ner.spans import NameSpan
from clew.indexing.relations.subjects import find_subject
from clew.text import entity_key

_PARAGRAPH = re.compile(r"\n[ \t]*(?:\n|[-*•+#|]|\d+[.)])")
_BEFORE_SUBJECT = re.compile(r"(?:[\"“‘'*_(]|the |an? )*", re.IGNORECASE)
_PRONOUN = re.compile(
    r"(?:(?:he|she|it|its|his|her)|(?:the|this) (?P<kind>[a-z]{3,20}))\b", re.IGNORECASE
)
_RULE = re.compile(r"\W*")


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
        if _RULE.fullmatch(text, sentence.start, sentence.end):  # what underlines a heading
            yield None
            continue
        if not is_headed and _PARAGRAPH.search(text, end, sentence.start + 1):
            topic = None
        yield topic
        is_headed = is_heading(text, sentence.start, sentence.end)
        topic = (
            _heading_topic(text, sentence)
            if is_headed
            else _next_topic(text, sentence, topic, subject_key)
        )
        end = sentence.end


def _heading_topic(text: str, sentence: TopicSentence) -> NameSpan | None:
    """What the first sentence below a heading is about: the name that is all of the heading."""
    title = text[sentence.start : sentence.end].strip("# \t\n*_")
    return next((n for n in sentence.names if text[n.start : n.end] == title), None)


def _next_topic(
    text: str, sentence: TopicSentence, topic: NameSpan | None, subject_key: str
) -> NameSpan | None:
    first = next((name for name in sentence.names if name.entity_type != "date"), None)
    opening = _BEFORE_SUBJECT.match(text, sentence.start)
    start = opening.end() if opening else sentence.start
    if first is not None and first.start <= start:
        topic = _as_thing(first) if text[sentence.start : start].lower() == "the " else first
    elif not (topic and _goes_on(text, sentence.start, topic)):
        return None
    assert topic is not None
    if entity_key(topic.name) == subject_key:
        return topic
    beside = find_subject(text, sentence.start, sentence.end, sentence.names)
    told = beside.predicate if beside else sentence.start
    others = (
        name
        for name in sentence.names
        if name.start >= told and entity_key(name.name) != entity_key(topic.name)
    )
    return None if any(_rivals(topic, other) for other in others) else topic


def _as_thing(name: NameSpan) -> NameSpan:
    """What has an article is no person, whatever else it is."""
    return name._replace(entity_type="thing") if name.entity_type == "name" else name


def _goes_on(text: str, start: int, topic: NameSpan) -> bool:
    """Whether a sentence opens with what stands for the topic: "It", "Its founder", "The firm"."""
    opening = _PRONOUN.match(text, start)
    kind = opening and opening["kind"]
    return bool(opening) and (not kind or type_of_description(kind) == topic.entity_type)


def _rivals(topic: NameSpan, other: NameSpan) -> bool:
    """Whether a pronoun for the topic could mean the other name as well."""
    return other.entity_type != "date" and is_person(topic) == is_person(other)
