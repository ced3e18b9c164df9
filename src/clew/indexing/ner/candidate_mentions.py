"""From a chunk's text to the candidate names of each of its sentences."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

from clew.indexing.ner.acronyms import find_definitions, find_statements, may_state
from clew.indexing.ner.cased_ner import find_names
from clew.indexing.ner.entity_types import is_person_shaped, type_in_context, type_of_name
from clew.indexing.ner.layout import find_fences, is_code_line
from clew.indexing.ner.patterns.code_names import find_code_names, find_ticked
from clew.indexing.ner.patterns.members import find_mentioned
from clew.indexing.ner.patterns.standards import find_standards
from clew.indexing.ner.quoted_titles import find_quoted
from clew.indexing.ner.scripts.caseless_ner import CaselessNames
from clew.indexing.ner.scripts.foreign_names import ForeignNames
from clew.indexing.ner.spans import NameSpan, SentenceSpans
from clew.indexing.relations.dates import find_dates, find_relative_dates
from clew.sentences import sentences
from clew.types import AliasEvidence

_BETWEEN_ALIASES = re.compile(r"[\s\"”'’]{0,2}(?:\([^()]*\))?[\s,;:(]{0,3}")
_OF_SUBJECT = re.compile(r"\W*(?:(?:he|she|it|they)\W{1,3})?", re.IGNORECASE)
"""What stands before a statement about what the text is about: "She | goes by …"."""
_FARTHEST_HEAD = 60
"""Characters of a parenthesis that may stand between a name and "also known as"."""
ACRONYM_SCORE = 0.95
STATED_SCORE = 0.9


@dataclass(frozen=True, slots=True)
class CandidateFinder:
    """Finds names in the chunks of one document."""

    title: str
    """Without its parenthesis."""
    language: str
    """The document's."""
    phrase: str
    """A title of several words that capitals alone do not show to be one name; may be empty."""
    caseless: CaselessNames | None
    """None for a document without letters of a caseless script."""
    members: frozenset[str] = frozenset()
    """Who takes part in the conversation that the document records."""
    foreign: ForeignNames | None = None
    """None for a document in English or in a language that is read as such."""

    def find(self, text: str, written: datetime | None = None) -> list[SentenceSpans]:
        """One `SentenceSpans` a sentence, in order; relative dates go by `written`."""
        stated = may_state(text)
        fences = find_fences(text)
        return [
            SentenceSpans(start, end, ())
            if is_code_line(text, start) or any(a <= start < b for a, b in fences)
            else self._sentence(text, start, end, stated, written)
            for start, end in sentences(text, self.language)
        ]

    def _sentence(
        self, text: str, start: int, end: int, stated: bool, written: datetime | None
    ) -> SentenceSpans:
        spans = self._candidates(text, start, end, written)
        aliases = []
        if "(" in text[start:end]:
            for short, long in find_definitions(text, start, end):
                spans += [_defined(text, *long), _defined(text, *short)]
                aliases.append(_alias(text, short, long, (start, end)))
        spans = [_typed(span, text, start, end) for span in spans]
        ordered = _ordered(spans)
        if stated:
            aliases += _stated(text, start, end, ordered, self.title)
        return SentenceSpans(start, end, ordered, tuple(aliases))

    def _candidates(
        self, text: str, start: int, end: int, written: datetime | None
    ) -> list[NameSpan]:
        """Titles and code as one, then whatever does not lie within them."""
        whole = list(find_quoted(text, start, end))
        if "`" in text:
            whole += find_ticked(text, start, end)
        if self.members:
            whole += _outside(list(find_mentioned(self.members, text, start, end)), whole)
        whole += _outside(
            [*find_code_names(text, start, end), *find_standards(text, start, end)], whole
        )
        if self.phrase:
            whole += _find_phrase(self.phrase, text, start, end)
        names = find_names(text, start, end)
        if self.foreign:
            names = self.foreign.filter(text, start, names)
        found = [*find_dates(text, start, end), *names]
        if written is not None:
            found += find_relative_dates(text, start, end, written)
        if self.caseless:
            found += self.caseless.find(text, start, end)
        return whole + _outside(found, whole) if whole else found


def _find_phrase(phrase: str, text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Where a title stands in the text as it is written."""
    at = text.find(phrase, start, end)
    while at >= 0:
        after = at + len(phrase)
        if not text[max(start, at - 1) : at].isalnum() and not text[after : after + 1].isalnum():
            yield NameSpan(at, after, phrase, type_of_name(phrase))
        at = text.find(phrase, after, end)


def _outside(spans: Sequence[NameSpan], whole: Sequence[NameSpan]) -> list[NameSpan]:
    """Spans that lie within none of `whole`."""
    ordered = sorted(whole, key=lambda span: span.start)
    starts = [span.start for span in ordered]
    ends = list(accumulate((span.end for span in ordered), max, initial=0))
    return [s for s in spans if ends[bisect_right(starts, s.start)] < s.end]


def _ordered(spans: Iterable[NameSpan]) -> tuple[NameSpan, ...]:
    return tuple(sorted(spans, key=lambda s: (s.start, -s.end, s.nested)))


def _typed(span: NameSpan, text: str, start: int, end: int) -> NameSpan:
    if span.entity_type != "name" or span.nested:
        return span
    kind = type_in_context(text, span.start, span.end, start, end)
    return span._replace(entity_type=kind) if kind else span


def _defined(text: str, start: int, end: int) -> NameSpan:
    name = _on_one_line(text[start:end])
    return NameSpan(start, end, name, type_of_name(name))


def _on_one_line(name: str) -> str:
    return " ".join(name.split()).strip('`*_"')


def _alias(
    text: str, short: tuple[int, int], long: tuple[int, int], sentence: tuple[int, int]
) -> AliasEvidence:
    return AliasEvidence(
        alias=_on_one_line(text[slice(*short)]),
        name=_on_one_line(text[slice(*long)]),
        method="acronym",
        score=ACRONYM_SCORE,
        evidence=text[slice(*sentence)],
    )


def _stated(
    text: str, start: int, end: int, spans: tuple[NameSpan, ...], title: str
) -> Iterator[AliasEvidence]:
    """Aliases that a sentence states: "Nirvana, formerly known as Skid Row", "X (born Y …"."""
    for left, right in find_statements(text, start, end):
        found = _neighbour(text, spans, left)
        alias = next((s for s in spans if right <= s.start <= right + 4 and not s.nested), None)
        head = found.name if found else title if _OF_SUBJECT.fullmatch(text, start, left) else ""
        # A single word stands for another name where that is what the text is about.
        if not head or alias is None or not _may_be_alias(alias, of_subject=head == title):
            continue
        is_birth_name = text[left : left + 4].lower() == "born"
        if not is_birth_name or (is_person_shaped(head) and is_person_shaped(alias.name)):
            is_subject = alias.name == title
            yield AliasEvidence(
                alias=head if is_subject else alias.name,
                name=alias.name if is_subject else head,
                method="exact",
                score=STATED_SCORE,
                evidence=text[start:end],
            )


def _may_be_alias(span: NameSpan, *, of_subject: bool) -> bool:
    """Whether the name is telling enough to stand for another wherever it is found."""
    return (of_subject or " " in span.name) and span.entity_type != "date"


def _neighbour(text: str, spans: tuple[NameSpan, ...], position: int) -> NameSpan | None:
    """The name that ends right before `position`, but for punctuation."""
    for span in reversed(spans):
        if span.end <= position and not span.nested and span.entity_type != "date":
            if _BETWEEN_ALIASES.fullmatch(text, span.end, position):
                return span
            if position - span.end > _FARTHEST_HEAD:
                return None
    return None
