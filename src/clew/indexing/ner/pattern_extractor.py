"""Names, dates and relations by patterns, without a language model."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, groupby, repeat

from clew.indexing.ner.cased_ner import find_fences, find_names, is_code_line, is_one_name
from clew.indexing.ner.code_names import extract_code, find_code_names, find_ticked
from clew.indexing.ner.coreference import (
    Coreference,
    find_definitions,
    resolve_coreference,
)
from clew.indexing.ner.entity_types import (
    NameSpan,
    SentenceSpans,
    is_person_shaped,
    split_parenthesis,
    type_in_context,
    type_of_description,
    type_of_name,
)
from clew.indexing.ner.known_terms import (
    Turn,
    add_known_terms,
    find_members,
    find_mentioned,
    find_quoted,
    find_speakers,
    find_turns,
    roles_of,
    turn_at,
    without_roles,
)
from clew.indexing.ner.other_scripts import CaselessNames, ForeignNames, has_caseless
from clew.indexing.relations.patterns import (
    Owner,
    find_owned_relations,
    find_relations,
    opening_word,
    without_opening_verb,
)
from clew.indexing.relations.phrases import find_dates, find_relative_dates
from clew.indexing.relations.sentences import Antecedent, TopicSentence, find_topics
from clew.indexing.splitting.code import is_code
from clew.text import STOP_WORDS, entity_key, sentences
from clew.times import date_of
from clew.types import (
    OBSERVATION,
    AliasEvidence,
    Chunk,
    ChunkExtraction,
    Document,
    ExtractedRelation,
    Extraction,
    Mention,
    PartialDate,
)
from clew.word_lists import read_patterns

_RE = read_patterns("clew.indexing.ner", "patterns.toml")["pattern_extractor"]

_SHORTEST_SHARED = 3
"""Letters of an acronym that holds beyond its document, at least."""


class PatternExtractor:
    """Reads names by their capitals, quotation marks, repetition and neighbours, in any script."""

    name = "pattern/14"

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """One `ChunkExtraction` a chunk, in order; the same text gives the same result."""
        if is_code(document.media_type):
            return extract_code(document, chunks)
        about = about_names(document.title)
        finder = _candidate_finder(document)
        whole = document.date or date_of(document.metadata)
        written = _written(chunks, whole)
        found = [finder.find(c.text, at) for c, at in zip(chunks, written, strict=True)]
        owner = owner_of(document)
        if owner:
            texts = [chunk.text for chunk in chunks]
            found = [_without_verbs(*one) for one in zip(texts, found, strict=True)]
        found = add_known_terms(document.text, [chunk.text for chunk in chunks], found)
        aliases = [a for chunk in found for sentence in chunk for a in sentence.aliases]
        if roles := roles_of(document):
            texts = [chunk.text for chunk in chunks]
            found = [without_roles(*one, roles) for one in zip(texts, found, strict=True)]
        speakers = [] if roles else find_speakers(chunks)
        names = resolve_coreference(document.text, found, about, aliases, speakers)
        subject = about[-1][0] if about else None
        return Extraction(
            chunks=tuple(
                _read_chunk(
                    chunk.text,
                    sentences,
                    names,
                    _ChunkContext(subject, speakers, owner, chunk.ordinal == 0),
                )
                for chunk, sentences in zip(chunks, found, strict=True)
            ),
            about=tuple((name, names.types.get(entity_key(name), kind)) for name, kind in about),
            # In another document two letters may mean anything.
            aliases=tuple(
                dict.fromkeys(
                    a for a in aliases if a.method != "acronym" or len(a.alias) >= _SHORTEST_SHARED
                )
            ),
        )


def owner_of(document: Document) -> Owner | None:
    """The entity that the document is an observation of."""
    told = document.origin.startswith(OBSERVATION) and document.title.strip()
    return Owner(told, type_of_name(told)) if told else None


def _without_verbs(text: str, sentences: Sequence[SentenceSpans]) -> list[SentenceSpans]:
    """The sentences of an observation, which may begin with a verb: it is no part of a name."""

    def read(sentence: SentenceSpans, span: NameSpan) -> NameSpan:
        opens = span.start == opening_word(text, sentence.start)
        return (opens and without_opening_verb(text, sentence.end, span)) or span

    return [s._replace(spans=tuple(dict.fromkeys(read(s, n) for n in s.spans))) for s in sentences]


def _written(chunks: Sequence[Chunk], whole: PartialDate | None) -> Iterator[datetime | None]:
    """The moment by which "yesterday" is understood in each chunk; a month or a year has none."""
    # The chunks of one row share their metadata, read once.
    for _, group in groupby(chunks, key=lambda chunk: id(chunk.metadata)):
        same = list(group)
        date = date_of(same[0].metadata, whole)
        is_day = date is not None and date.precision in ("day", "time")
        yield from repeat(date.start if date and is_day else None, len(same))


def about_names(title: str) -> tuple[tuple[str, str], ...]:
    """(name, entity_type) of a title, of it without parenthesis, and of the part before a comma."""
    bare, inside = split_parenthesis(title)
    if not bare:
        return ()
    kind = (inside and type_of_description(inside)) or type_of_name(bare)
    names = [(title.strip(), kind), (bare, kind)]
    first, _, rest = bare.partition(", ")
    if rest and not rest[0].isdigit():  # as in "March 2, 2019"
        names.append((first, kind))
    return tuple(dict.fromkeys(n for n in names if len(entity_key(n[0])) > 1))


def _candidate_finder(document: Document) -> CandidateFinder:
    title, _ = split_parenthesis(document.title)
    is_name = " " not in title or is_one_name(title) or _RE["numbered"].match(title)
    return CandidateFinder(
        title=title,
        language=document.language,
        phrase=None if is_name else re.compile(rf"(?<![^\W_]){re.escape(title)}(?![^\W_])"),
        caseless=CaselessNames.of(document.text) if has_caseless(document.text) else None,
        foreign=ForeignNames.of(document),
        members=find_members(document),
    )


@dataclass(frozen=True, slots=True)
class _ChunkContext:
    """What reading a chunk depends on."""

    subject: str | None
    """What the document is about."""
    speakers: Collection[str]
    """Who speaks in the document, if it is a conversation."""
    owner: Owner | None
    """What it was told of, if it is an observation."""
    opens: bool
    """Whether it is the first of its document."""


def _read_chunk(
    text: str, found: Sequence[SentenceSpans], names: Coreference, context: _ChunkContext
) -> ChunkExtraction:
    turns = find_turns(text, context.speakers)
    mentions: list[Mention] = []
    relations: list[ExtractedRelation] = []
    shortened: set[str] = set()
    kept = [[span for span in sentence.spans if names.is_name(span)] for sentence in found]
    told = [
        TopicSentence(sentence.start, sentence.end, _apart(spans, names))
        for sentence, spans in zip(found, kept, strict=True)
    ]
    owner = NameSpan(0, 0, *context.owner) if context.owner and context.opens else None
    topics = find_topics(text, told, context.subject, owner)
    for ordinal, (sentence, spans, topic) in enumerate(zip(found, kept, topics, strict=True)):
        given = {alias.alias for alias in sentence.aliases}
        mentions.extend(_short_names(spans, ordinal, names, shortened))
        mentions.extend(_mentions(spans, ordinal, names, given))
        antecedents = list(_antecedents(sentence.start, topic, context, turns, names))
        place = (sentence.start, sentence.end, ordinal)
        if context.owner:
            relations.extend(find_owned_relations(text, place, told[ordinal].names, context.owner))
        if spans:
            relations.extend(find_relations(text, place, told[ordinal].names, antecedents))
    return ChunkExtraction(
        sentences=tuple((sentence.start, sentence.end) for sentence in found),
        mentions=tuple(mentions),
        relations=tuple(relations),
    )


def _antecedents(
    start: int,
    topic: NameSpan | None,
    context: _ChunkContext,
    turns: Sequence[Turn],
    names: Coreference,
) -> Iterator[Antecedent]:
    """What a pronoun that opens the sentence at `start` may stand for."""
    turn = turn_at(turns, start)
    if turn and turn.speaker:
        yield Antecedent(names.resolve(turn.speaker), max(start, turn.words), speaks=True)
    if topic:
        yield Antecedent(topic.name, start, entity_type=topic.entity_type)
    elif context.subject:
        kind = names.types.get(entity_key(context.subject), "name")
        yield Antecedent(context.subject, start, entity_type=kind, is_described=True)


def _mentions(
    spans: Sequence[NameSpan], sentence: int, names: Coreference, given: Collection[str]
) -> Iterator[Mention]:
    """One mention a name, where it stands first, with how often it is said.

    Names `given` as aliases in this sentence are mentioned as such, so that they are known.
    """
    places: dict[str, list[NameSpan]] = {}
    for span in spans:
        key = entity_key(span.name if span.name in given else names.resolve(span.name))
        is_word = key not in STOP_WORDS or span.name in given
        if (
            len(key) > 1
            and is_word
            and not (span.entity_type == "name" and _RE["number"].fullmatch(key))
        ):
            places.setdefault(key, []).append(span)
    for same in places.values():
        first = same[0]
        name = first.name if first.name in given else names.resolve(first.name)
        yield Mention(
            name=name,
            entity_type=names.type_of(first, name),
            sentence=sentence,
            start=first.start,
            end=first.end,
            count=len(same) if len(same) == 1 else len({span.start for span in same}),
        )


def _short_names(
    spans: Sequence[NameSpan], sentence: int, names: Coreference, seen: set[str]
) -> Iterator[Mention]:
    """A surname beside the full name that it stands for, once a chunk: questions may use either."""
    for span in spans:
        if span.name not in seen and span.name in names.short:
            seen.add(span.name)
            yield Mention(
                name=span.name,
                entity_type="person",
                sentence=sentence,
                start=span.start,
                end=span.end,
            )


def _apart(spans: Sequence[NameSpan], names: Coreference) -> list[NameSpan]:
    """Names in full that do not overlap, the longer first."""
    kept: list[NameSpan] = []
    for span in spans:
        if not span.nested and (not kept or span.start >= kept[-1].end):
            full = names.resolve(span.name)
            kind = names.type_of(span, full)
            is_same = full == span.name and kind == span.entity_type
            kept.append(span if is_same else span._replace(name=full, entity_type=kind))
    return kept


# From a chunk's text to the candidate names of each of its sentences.


ACRONYM_SCORE = 0.95
STATED_SCORE = 0.9


@dataclass(frozen=True, slots=True)
class CandidateFinder:
    """Finds names in the chunks of one document."""

    title: str
    """Without its parenthesis."""
    language: str
    """The document's."""
    phrase: re.Pattern[str] | None
    """A title of several words that capitals alone do not show to be one name."""
    caseless: CaselessNames | None
    """None for a document without letters of a caseless script."""
    members: frozenset[str] = frozenset()
    """Who takes part in the conversation that the document records."""
    foreign: ForeignNames | None = None
    """None for a document in English or in a language that is read as such."""

    def find(self, text: str, written: datetime | None = None) -> list[SentenceSpans]:
        """One `SentenceSpans` a sentence, in order; relative dates go by `written`."""
        fences = find_fences(text)
        return [
            SentenceSpans(start, end, ())
            if is_code_line(text, start) or any(a <= start < b for a, b in fences)
            else self._sentence(text, start, end, written)
            for start, end in sentences(text, self.language)
        ]

    def _sentence(self, text: str, start: int, end: int, written: datetime | None) -> SentenceSpans:
        spans = self._candidates(text, start, end, written)
        aliases = []
        if "(" in text[start:end]:
            for short, long in find_definitions(text, start, end):
                spans += [_defined(text, *long), _defined(text, *short)]
                aliases.append(
                    AliasEvidence(
                        alias=spans[-1].name,
                        name=spans[-2].name,
                        method="acronym",
                        score=ACRONYM_SCORE,
                        evidence=text[start:end],
                    )
                )
        spans = [_typed(span, text, start, end) for span in spans]
        ordered = tuple(sorted(spans, key=lambda s: (s.start, -s.end, s.nested)))
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
        whole += _outside(list(find_code_names(text, start, end)), whole)
        if self.phrase:
            whole += [
                NameSpan(*match.span(), match.group(), type_of_name(match.group()))
                for match in self.phrase.finditer(text, start, end)
            ]
        names = find_names(text, start, end)
        if self.foreign:
            names = self.foreign.filter(text, start, names)
        found = [*find_dates(text, start, end), *names]
        if written is not None:
            found += find_relative_dates(text, start, end, written)
        if self.caseless:
            found += self.caseless.find(text, start, end)
        return whole + _outside(found, whole) if whole else found


def _outside(spans: Sequence[NameSpan], whole: Sequence[NameSpan]) -> list[NameSpan]:
    """Spans that lie within none of `whole`."""
    ordered = sorted(whole, key=lambda span: span.start)
    starts = [span.start for span in ordered]
    ends = list(accumulate((span.end for span in ordered), max, initial=0))
    return [s for s in spans if ends[bisect_right(starts, s.start)] < s.end]


def _typed(span: NameSpan, text: str, start: int, end: int) -> NameSpan:
    if span.entity_type != "name" or span.nested:
        return span
    kind = type_in_context(text, span.start, span.end, start, end)
    return span._replace(entity_type=kind) if kind else span


def _defined(text: str, start: int, end: int) -> NameSpan:
    name = " ".join(text[start:end].split()).strip('`*_"')
    return NameSpan(start, end, name, type_of_name(name))


def _stated(
    text: str, start: int, end: int, spans: tuple[NameSpan, ...], title: str
) -> Iterator[AliasEvidence]:
    """Aliases that a sentence states: "Nirvana, formerly known as Skid Row", "X (born Y …"."""
    for match in _RE["stated"].finditer(text, start, end):
        left, right = match.span()
        names = [s for s in spans if not s.nested and s.entity_type != "date"]
        alias = next((s for s in names if right <= s.start <= right + 4), None)
        near = [s for s in names if _RE["between_aliases"].fullmatch(text, s.end, left)]
        is_subject = _RE["of_subject"].fullmatch(text, start, left)
        head = near[-1].name if near else title if is_subject else ""
        # A single word stands for another name where that is what the text is about.
        if not head or alias is None or not (head == title or " " in alias.name):
            continue
        is_birth_name = text[left : left + 4].lower() == "born"
        if not is_birth_name or (is_person_shaped(head) and is_person_shaped(alias.name)):
            other, name = (head, alias.name) if alias.name == title else (alias.name, head)
            yield AliasEvidence(
                alias=other,
                name=name,
                method="exact",
                score=STATED_SCORE,
                evidence=text[start:end],
            )
