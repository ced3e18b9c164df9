"""Names, dates and relations by patterns, without a language model."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, groupby, repeat

from clew.hookspecs import kind_of, there
from clew.indexing.ner.cased_ner import find_fences, find_names, is_one_name
from clew.indexing.ner.code_names import find_code_names, find_ticked
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
    add_known_terms,
    find_members,
    find_mentioned,
    find_quoted,
    find_speakers,
    find_turns,
    roles_of,
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

    name = "pattern/15"

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """One `ChunkExtraction` a chunk, in order; the same text gives the same result."""
        if kind := kind_of(document.media_type):
            of_kind: Extraction = there(kind.names)(document, chunks)
            return of_kind
        texts = [chunk.text for chunk in chunks]
        about = about_names(document.title)
        finder = CandidateFinder.of(document)
        whole = document.date or date_of(document.metadata)
        found = [finder.find(*one) for one in zip(texts, _written(chunks, whole), strict=True)]
        owner = owner_of(document)
        if owner:
            found = [_without_verbs(*one) for one in zip(texts, found, strict=True)]
        found = add_known_terms(document.text, texts, found)
        roles = roles_of(document)
        if roles:
            found = [without_roles(*one, roles) for one in zip(texts, found, strict=True)]
        aliases = [a for chunk in found for sentence in chunk for a in sentence.aliases]
        speakers = [] if roles else find_speakers(chunks)
        names = resolve_coreference(document.text, found, about, aliases, speakers)
        reader = _ChunkReader(names, about[-1][0] if about else None, speakers, owner)
        return Extraction(
            chunks=tuple(
                reader.read(chunk.text, sentences, opens=chunk.ordinal == 0)
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


@dataclass(frozen=True, slots=True)
class _ChunkReader:
    """Reads chunks of a document by what the whole of it shows."""

    names: Coreference
    subject: str | None
    """What the document is about."""
    speakers: Collection[str]
    """Who speaks in the document, if it is a conversation."""
    owner: Owner | None
    """What it was told of, if it is an observation."""

    def read(self, text: str, found: Sequence[SentenceSpans], *, opens: bool) -> ChunkExtraction:
        """What is named and stated in a chunk; `opens`: it is the first of its document."""
        turns = find_turns(text, self.speakers)
        mentions: list[Mention] = []
        relations: list[ExtractedRelation] = []
        kept = [list(filter(self.names.is_name, sentence.spans)) for sentence in found]
        told = [
            TopicSentence(sentence.start, sentence.end, self._apart(spans))
            for sentence, spans in zip(found, kept, strict=True)
        ]
        owner = NameSpan(0, 0, *self.owner) if self.owner and opens else None
        topics = find_topics(text, told, self.subject, owner)
        shortened: set[str] = set()
        for ordinal, (sentence, spans, topic) in enumerate(zip(found, kept, topics, strict=True)):
            # A surname beside the full name, once a chunk: questions may use either.
            for span in spans:
                if span.name not in shortened and span.name in self.names.short:
                    shortened.add(span.name)
                    mentions.append(_mention(span, span.name, "person", ordinal))
            given = {alias.alias for alias in sentence.aliases}
            mentions += self._mentions(spans, ordinal, given)
            place = (sentence.start, sentence.end, ordinal)
            named = told[ordinal].names
            if self.owner:
                relations += find_owned_relations(text, place, named, self.owner)
            if spans:
                antecedents = list(self._antecedents(sentence.start, topic, turns))
                relations += find_relations(text, place, named, antecedents)
        return ChunkExtraction(
            sentences=tuple((sentence.start, sentence.end) for sentence in found),
            mentions=tuple(mentions),
            relations=tuple(relations),
        )

    def _antecedents(
        self, start: int, topic: NameSpan | None, turns: Sequence[re.Match[str]]
    ) -> Iterator[Antecedent]:
        """What a pronoun that opens the sentence at `start` may stand for."""
        turn = next((turn for turn in reversed(turns) if turn.start() <= start), None)
        if turn and turn["name"] in self.speakers:
            name = self.names.resolve(turn["name"])
            yield Antecedent(name, max(start, turn.end()), speaks=True)
        if topic:
            yield Antecedent(topic.name, start, entity_type=topic.entity_type)
        elif self.subject:
            kind = self.names.types.get(entity_key(self.subject), "name")
            yield Antecedent(self.subject, start, entity_type=kind, is_described=True)

    def _mentions(
        self, spans: Sequence[NameSpan], sentence: int, given: Collection[str]
    ) -> Iterator[Mention]:
        """One mention a name, where it stands first, with how often it is said.

        Names `given` as aliases in this sentence are mentioned as such, so that they are known.
        """
        places: dict[str, list[NameSpan]] = {}
        for span in spans:
            said = span.name in given
            key = entity_key(span.name if said else self.names.resolve(span.name))
            is_number = span.entity_type == "name" and _RE["number"].fullmatch(key)
            if len(key) > 1 and (said or key not in STOP_WORDS) and not is_number:
                places.setdefault(key, []).append(span)
        for first, *others in places.values():
            name = first.name if first.name in given else self.names.resolve(first.name)
            count = len({first.start, *(span.start for span in others)})
            yield _mention(first, name, self.names.type_of(first, name), sentence, count)

    def _apart(self, spans: Sequence[NameSpan]) -> list[NameSpan]:
        """Names in full that do not overlap, the longer first."""
        kept: list[NameSpan] = []
        for span in spans:
            if not span.nested and (not kept or span.start >= kept[-1].end):
                full = self.names.resolve(span.name)
                kept.append(span._replace(name=full, entity_type=self.names.type_of(span, full)))
        return kept


def _mention(span: NameSpan, name: str, entity_type: str, sentence: int, count: int = 1) -> Mention:
    return Mention(
        name=name,
        entity_type=entity_type,
        sentence=sentence,
        start=span.start,
        end=span.end,
        count=count,
    )


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
    members: frozenset[str]
    """Who takes part in the conversation that the document records."""
    foreign: ForeignNames | None
    """None for a document in English or in a language that is read as such."""

    @classmethod
    def of(cls, document: Document) -> CandidateFinder:
        """What the whole document tells of its names."""
        title, _ = split_parenthesis(document.title)
        is_name = " " not in title or is_one_name(title) or _RE["numbered"].match(title)
        return cls(
            title=title,
            language=document.language,
            phrase=None if is_name else re.compile(rf"(?<![^\W_]){re.escape(title)}(?![^\W_])"),
            caseless=CaselessNames.of(document.text) if has_caseless(document.text) else None,
            foreign=ForeignNames.of(document),
            members=find_members(document),
        )

    def find(self, text: str, written: datetime | None = None) -> list[SentenceSpans]:
        """One `SentenceSpans` a sentence, in order; relative dates go by `written`."""
        fences = find_fences(text)
        return [
            SentenceSpans(start, end, ())
            if any(a <= start < b for a, b in fences)
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
        for i, span in enumerate(spans):
            if span.entity_type == "name" and not span.nested:
                kind = type_in_context(text, span.start, span.end, start, end)
                spans[i] = span._replace(entity_type=kind or "name")
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


def _defined(text: str, start: int, end: int) -> NameSpan:
    name = " ".join(text[start:end].split()).strip('`*_"')
    return NameSpan(start, end, name, type_of_name(name))


def _stated(
    text: str, start: int, end: int, spans: tuple[NameSpan, ...], title: str
) -> Iterator[AliasEvidence]:
    """Aliases that a sentence states: "Nirvana, formerly known as Skid Row", "X (born Y …"."""
    names = [s for s in spans if not s.nested and s.entity_type != "date"]
    for match in _RE["stated"].finditer(text, start, end):
        left, right = match.span()
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
