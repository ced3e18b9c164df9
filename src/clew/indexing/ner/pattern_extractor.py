"""Names, dates and relations by patterns, without a language model."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, groupby, repeat
from typing import NamedTuple

from clew.hookspecs import kind_of, there
from clew.indexing.ner.cased_ner import (
    find_code_names,
    find_fences,
    find_names,
    find_ticked,
    is_one_name,
)
from clew.indexing.ner.classifier import classified
from clew.indexing.ner.entity_types import (
    COMMON_WORDS,
    LABELS,
    PLACES,
    NameSpan,
    SentenceSpans,
    is_first_name,
    is_ordinary,
    is_person_shaped,
    split_parenthesis,
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
from clew.indexing.ner.persons import full_names
from clew.indexing.relations.patterns import (
    Antecedent,
    Owner,
    TopicSentence,
    find_owned_relations,
    find_relations,
    find_topics,
    opening_word,
    without_opening_verb,
)
from clew.indexing.relations.phrases import find_dates, find_relative_dates
from clew.languages import read_patterns, word_list
from clew.ports import Tagger
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

_RE = read_patterns("clew.indexing.ner", "patterns.toml")["pattern_extractor"]

# What a whole document says about its names: who a surname stands for, what is short for what.


@dataclass(frozen=True, slots=True)
class Coreference:
    """Which names of a document mean the same, and what they name."""

    full: Mapping[str, str]
    """The name in full by the short name that stands for it ("Nolan", "Mel", "WHO")."""
    short: frozenset[str]
    """First names and surnames among them."""
    types: Mapping[str, str]
    """Entity type by key, where any place of the document shows one."""
    told: frozenset[str]
    """Single words that are names wherever they stand."""
    words: Mapping[str, int]
    """How often the document has each word, as written."""

    def is_name(self, span: NameSpan) -> bool:
        """Whether a word that opens a sentence is a name, going by the rest of the document."""
        if span.name.casefold() in LABELS:
            return False
        if span.name in self.told or span.name in self.full:
            return True
        if span.initial and span.nested:
            return False
        if not span.initial:
            return not _is_mostly_small(span, self.words)
        if " " in span.name:
            return not all(map(is_ordinary, span.name.split()))
        lower = span.name.casefold()
        if span.name.isupper():  # an acronym, or a word that is shouted
            return not (lower in self.words or lower.capitalize() in self.words)
        if lower in COMMON_WORDS or lower in self.words:
            return False
        return (
            is_first_name(lower)
            or lower in PLACES
            or not (is_ordinary(lower) or _RE["derived"].search(lower))
        )

    def resolve(self, name: str) -> str:
        """The name in full."""
        return self.full.get(name, name)

    def type_of(self, span: NameSpan, name: str) -> str:
        """The kind of thing: what the place shows, else what the document shows."""
        if span.entity_type != "name" and name == span.name:
            return span.entity_type
        product, _, version = name.rpartition(" ")
        if version.isdigit() and self.types.get(entity_key(product)) == "product":
            return "product"
        return self.types.get(entity_key(name), span.entity_type)


def resolve_coreference(
    text: str,
    found: Sequence[Sequence[SentenceSpans]],
    about: Sequence[tuple[str, str]],
    aliases: Sequence[AliasEvidence],
    speakers: Iterable[str],
) -> Coreference:
    """Combine what all chunks of a document show.

    `found` has one list of sentences a chunk; `speakers` are the names before the colon in a
    conversation.
    """
    spans = [span for chunk in found for sentence in chunk for span in sentence.spans]
    speakers = frozenset(speakers)
    types: dict[str, str] = {}
    for name, kind in [
        *((s, "person") for s in speakers),
        *about,
        *((s.name, s.entity_type) for s in spans),
    ]:
        if kind != "name":
            types.setdefault(entity_key(name), kind)
    # The words of the document tell what is a name where a place alone does not.
    is_doubtful = any(span.initial or _is_plain_word(span) for span in spans)
    words = Counter(_RE["word"].findall(text) if is_doubtful else ())
    told = speakers.union(s.name for s in spans if not (s.initial or _is_mostly_small(s, words)))
    # Full names, the document's own subject first.
    full = dict.fromkeys([*(name for name, _ in about), *(s.name for s in spans if not s.nested)])
    persons = [n for n in full if is_person_shaped(n) and types.get(entity_key(n)) == "person"]
    short = full_names((s.name for s in spans if s.name.isalpha()), persons)
    return Coreference(
        full={**short, **{a.alias: a.name for a in aliases if a.method == "acronym"}},
        short=frozenset(short),
        types=types,
        told=told,
        words=words,
    )


def _is_plain_word(span: NameSpan) -> bool:
    is_word = span.entity_type == "name" and span.name.isalpha() and span.name[1:].islower()
    return is_word and not span.nested and is_ordinary(span.name)


def _is_mostly_small(span: NameSpan, words: Mapping[str, int]) -> bool:
    """Whether it is a word that the document writes small at least as often as like a name."""
    lower = span.name.casefold()
    return words.get(lower, 0) >= words.get(span.name, 1) and _is_plain_word(span)


# Names that a text ties together itself: short forms in parentheses, "also known as".


_SMALL_WORDS = word_list("of the and for in on to a an at de la des du et und der y &")
_LONGEST_LONG_FORM = 160
"""Characters."""


class Definition(NamedTuple):
    """A short form and the long form that a text gives with it, as ranges of the text."""

    short: tuple[int, int]
    long: tuple[int, int]


def find_definitions(text: str, start: int, end: int) -> Iterator[Definition]:
    """Short forms whose letters fit: "World Health Organization (WHO)", "WHO (World Health …)".

    After Schwartz and Hearst, "A simple algorithm for identifying abbreviation definitions in
    biomedical text" (2003): the letters of the short form stand in the long form, in order, and
    the first one begins it.
    """
    for match in _RE["parenthesis"].finditer(text, start, end):
        inside = match["inside"].strip()
        left = match.end("inside") - len(match["inside"].lstrip())
        place = (left, left + len(inside))
        if is_short_form(inside):
            long = _long_form_before(text, start, match.start(), inside)
            if long is not None:
                yield Definition(place, long)
            continue
        before = _RE["nearest_word"].search(text, max(start, match.start() - 14), match.start())
        if before and is_short_form(before["word"]) and _fits(before["word"], inside):
            yield Definition(before.span("word"), place)


def is_short_form(word: str) -> bool:
    """Two to twelve characters, two capitals at least, and as many capitals as small letters."""
    if _RE["short"].fullmatch(word) is None:
        return False
    capitals = sum(c.isupper() for c in word)
    return capitals >= 2 and capitals * 2 >= sum(c.isalpha() for c in word)


def _fits(short: str, long: str) -> bool:
    """Whether a long form begins with the first letter of a short one, and has the others after."""
    letters, rest = _letters(short), iter(long.casefold())
    return long.casefold().startswith(letters[0]) and all(letter in rest for letter in letters)


def _letters(short: str) -> str:
    bare = short.removesuffix("s") if short[:-1].isupper() else short
    return "".join(filter(str.isalnum, bare.casefold()))


def _long_form_before(text: str, start: int, end: int, short: str) -> tuple[int, int] | None:
    """The range of the words before a parenthesis that its short form abbreviates."""
    first = max(start, end - _LONGEST_LONG_FORM, text.rfind(")", start, end) + 1)
    last = first + len(text[first:end].rstrip().removesuffix("'s").removesuffix("’s"))
    words = [m.span() for m in _RE["word_acronyms"].finditer(text, first, last)]
    nearest = words[: -min(len(short) + 5, 2 * len(short)) - 1 : -1]
    if not nearest or nearest[0][1] != last:
        return None
    for by_initials in (True, False):
        for left, right in nearest:
            long = text[left:last]
            said = long.casefold().split()
            content = [word for word in said if word not in _SMALL_WORDS]
            if said[0] in _SMALL_WORDS:
                continue
            initials = ("".join(w[0] for w in said), "".join(w[0] for w in content))
            is_longer = len(long) > max(right - left, len(short) + 2) and short not in long
            if (
                _letters(short) in initials
                if by_initials
                else is_longer and len(content) <= len(short) + 1 and _fits(short, long)
            ):
                return left, last
    return None


_SHORTEST_SHARED = 3
"""Letters of an acronym that holds beyond its document, at least."""


# The names, dates and relations of a document.


class PatternExtractor:
    """Reads names by their capitals, quotation marks, repetition and neighbours, in any script."""

    def __init__(self, tagger: Tagger | None = None) -> None:
        """With a tagger, it says which names are none, and what sentences state of them, too."""
        self._tagger = tagger

    @property
    def name(self) -> str:
        """Identity and version, with the tagger's."""
        return f"pattern/19+{self._tagger.name}" if self._tagger else "pattern/19"

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """One `ChunkExtraction` a chunk, in order; the same text gives the same result."""
        found = self.read(document, chunks)
        if self._tagger is None or kind_of(document.media_type):
            return found
        return classified(chunks, document.title, found, self._tagger)

    def read(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """Return what patterns alone find."""
        if kind := kind_of(document.media_type):
            of_kind: Extraction = there(kind.names)(document, chunks)
            return of_kind
        texts = [chunk.text for chunk in chunks]
        about = about_names(document.title)
        finder = CandidateFinder.of(document)
        whole = document.date or date_of(document.metadata)
        found = [
            finder.find(text, written, _subject(chunk, finder.title))
            for chunk, text, written in zip(chunks, texts, _written(chunks, whole), strict=True)
        ]
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


_MOST_WORDS = 6
"""Of the name of a row."""


def _subject(chunk: Chunk, title: str) -> str:
    """Return what a chunk is about: of a table, which has a chunk a row, the row's first name."""
    cells = (str(value).strip() for value in chunk.metadata.values())
    named = (cell for cell in cells if cell[:1].isupper() and len(cell.split()) <= _MOST_WORDS)
    return next(named, "") if chunk.metadata else title


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

    def find(self, text: str, written: datetime | None, subject: str) -> list[SentenceSpans]:
        """One `SentenceSpans` a sentence, in order; relative dates go by `written`.

        `subject` is what the text is about.
        """
        fences = find_fences(text)
        return [
            SentenceSpans(start, end, ())
            if any(a <= start < b for a, b in fences)
            else self._sentence(text, start, end, written, subject)
            for start, end in sentences(text, self.language)
        ]

    def _sentence(
        self, text: str, start: int, end: int, written: datetime | None, subject: str
    ) -> SentenceSpans:
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
        ordered = tuple(sorted(spans, key=lambda s: (s.start, -s.end, s.nested)))
        aliases += _stated(text, start, end, ordered, subject)
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
