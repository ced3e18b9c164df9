"""Ties names that differ by spelling alone, finds terms that the store knows, suggests the rest.

What is sure is linked while indexing; pairs of entities that only may be one are for somebody to
decide.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, takewhile
from typing import NamedTuple

from rapidfuzz.distance import OSA, JaroWinkler

from clew.hookspecs import kind_of
from clew.indexing.ner.cased_ner import find_fences, is_telling
from clew.indexing.ner.entity_types import FIRST_NAMES, NameSpan, is_ordinary
from clew.indexing.ner.known_terms import KnownTerms, Words, may_be_term, phrases, stands_apart
from clew.indexing.ner.pattern_extractor import owner_of
from clew.indexing.ner.persons import Persons, stands_for, words_of
from clew.indexing.relations.patterns import Owner, find_owned_relations, find_relations
from clew.settings import LinkSettings
from clew.stores.store import Store
from clew.text import (
    ENDINGS_OF_ONE_SOUND,
    LEGAL_FORMS,
    block_of,
    entity_key,
    in_full,
    may_vary,
    skeleton,
    term_words,
    terms,
)
from clew.types import (
    TERM,
    WEAK_TYPES,
    AliasEvidence,
    Chunk,
    ChunkExtraction,
    Document,
    ExtractedRelation,
    Extraction,
    KnownName,
    Mention,
    MergeSuggestion,
)

_SPELLED_EXACTLY = frozenset({"code", "date"})
"""Types whose names differ in meaning where they differ in a letter: `header` and `headers`."""


class Linker:
    """Finds those among a document's names that mean one that the store knows.

    It asks the store for the names that are near, and keeps none: what it costs depends on the
    document alone.
    """

    def __init__(self, store: Store, settings: LinkSettings) -> None:
        self._store = store
        self._settings = settings

    def links(self, extraction: Extraction, source: str = "") -> tuple[AliasEvidence, ...]:
        """The document's own aliases, then its new names that are spelled like a known one.

        `source` is the document's.
        """
        stated = [a for a in extraction.aliases if entity_key(a.alias) != entity_key(a.name)]
        stated = list(Persons(self._store, extraction, stated, source).links())
        taken = {entity_key(a.alias) for a in stated}
        # The first name of each key, what the document is about before what it mentions.
        names: dict[str, str] = {}
        mentioned = ((m.name, m.entity_type) for chunk in extraction.chunks for m in chunk.mentions)
        for name, entity_type in chain(extraction.about, mentioned):
            key = entity_key(name)
            if entity_type not in _SPELLED_EXACTLY and key not in taken:
                names.setdefault(key, name)
        return (*stated, *self._near(names, stored=False))

    def late_links(self, names: Mapping[str, str]) -> Iterator[AliasEvidence]:
        """Names that are stored, given with their types, and are spelled like another one.

        For those that came at the same time as the other: `links` ties a name as it comes.
        """
        return self._near(
            {entity_key(n): n for n, kind in names.items() if kind not in _SPELLED_EXACTLY},
            stored=True,
        )

    def _near(self, names: Mapping[str, str], *, stored: bool) -> Iterator[AliasEvidence]:
        """Each name, by key, against those known, then against the new names before it."""
        threshold = self._settings.fuzzy_threshold
        blocks = {key: block for key in names if (block := block_of(key))}
        if not (self._settings.fuzzy and blocks):
            return
        found = self._store.link_candidates(list(blocks), list(dict.fromkeys(blocks.values())))
        within: dict[str, list[tuple[str, str]]] = {}
        for key, block in blocks.items():
            # Names ruled by hand are left as they are.
            if key in found.ruled or (key in found.known and not stored):
                continue
            others = [other for other in found.names.get(block, ()) if other[0] != key]
            near = _nearest(key, others, threshold)
            near = near or _nearest(key, within.get(block, ()), threshold)
            if near:
                score, name = near
                yield AliasEvidence(
                    alias=names[key],
                    name=name,
                    method="fuzzy",
                    score=score,
                    evidence=f"spelled like {name!r}",
                )
            elif not stored:
                within.setdefault(block, []).append((key, names[key]))


def _nearest(
    key: str, others: Sequence[tuple[str, str]], threshold: float
) -> tuple[float, str] | None:
    """(score, name) of the most similar key, the first of the alphabet where several are."""
    scored = [(-similarity(key, other, threshold), other, name) for other, name in others]
    score, _, name = min(scored, default=(0.0, "", ""))
    return (-score, name) if score else None


# Whether two keys are spellings of one name: "muhammad ali" and "mohammad ali".
#
# Spelling varies in vowels, doubled letters, h, and letters of one sound (s and z, c and k, y and
# i);
# names that differ otherwise are mostly names of different things ("Austria" and "Australia").


NEAR = 0.8
"""Jaro-Winkler similarity of a name that another may have been meant for."""
LONG_WORD = 9
"""Letters of a word that may differ by one consonant."""
SHORTEST_SINGLE = 7
"""Letters of a name of one word, at least."""
INFLECTED = 0.95
"""Score of two forms of one Cyrillic or Greek name with the same stem."""

COMPANY_FORM = 0.96
"""Score of two names that differ by how the form of the company is written."""

_SOUND_WITH_VOWELS = str.maketrans({"z": "s", "c": "k", "q": "k", "w": "v", "y": "i", "j": "i"})
_REPEATED = re.compile(r"(.)\1+")


def similarity(key: str, other: str, least: float = 0.0) -> float:
    """0 to 1: Jaro-Winkler where each word of one may be a spelling of the other's, else 0.

    Both keys must have the same `spelling.block_of`. What is below `least` counts as 0.
    """
    if key == other:
        return 1.0
    if in_full(key) == in_full(other):
        return COMPANY_FORM if least <= COMPANY_FORM else 0.0
    if key[0] > "z":
        return INFLECTED if _same_words(key.split(), other.split()) and least <= INFLECTED else 0.0
    # The cheap look in C first: nearly all pairs of a block end here.
    score = JaroWinkler.normalized_similarity(key, other, score_cutoff=least)
    return score if score and _same_words(key.split(), other.split()) else 0.0


def most_alike(name: str, names: Iterable[str], limit: int) -> list[str]:
    """Names that one may have been meant for, as a whole or by a word of theirs, nearest first."""
    given, near = name.casefold(), dict[str, float]()
    for other in names:
        words = (word.casefold() for word in (other, *other.split()))
        near[other] = max(JaroWinkler.normalized_similarity(given, word) for word in words)
    alike = (other for other, score in near.items() if score >= NEAR)
    return sorted(alike, key=lambda other: (-near[other], other))[:limit]


def _same_words(words: list[str], others: list[str]) -> bool:
    if len(words) != len(others):
        return False
    if len(words) == 1 and words[0][0] <= "z":
        # No others speak for it: "Minister" and "Minster" are not one.
        word, other = words[0], others[0]
        if skeleton(word) != skeleton(other) or OSA.distance(word, other) > 1:
            return False
        shorter = min(len(word), len(other))
        if shorter < SHORTEST_SINGLE or (shorter < LONG_WORD and _sound(word) != _sound(other)):
            return False
    return all(a == b or _alike(a, b) for a, b in zip(words, others, strict=True))


def _alike(word: str, other: str) -> bool:
    """Whether two words may be one: the same stem, the same consonants, or one slip of the pen."""
    if not (may_vary(word) and may_vary(other)):
        return False
    if word[0] > "z":
        return terms(word) == terms(other)
    if word[-1] != other[-1] and not ENDINGS_OF_ONE_SOUND.issuperset((word[-1], other[-1])):
        return False  # "Daniel" and "Daniela", "Bulgaria" and "Bulgarian"
    if word in FIRST_NAMES and other in FIRST_NAMES and _sound(word) != _sound(other):
        return False  # "Frances" and "Francis"
    shorter = min(len(word), len(other))
    if skeleton(word) == skeleton(other):
        return OSA.distance(word, other) <= (2 if shorter >= LONG_WORD - 1 else 1)
    return shorter >= LONG_WORD and OSA.distance(word, other) == 1


def _sound(word: str) -> str:
    return _REPEATED.sub(r"\1", word.translate(_SOUND_WITH_VOWELS))


# Terms that the store knows, found in the texts that are indexed after them.
#
# A name makes a term known where no prose says it by chance: one of several words that somebody
# defined, stressed or stated, or of which one is in no dictionary; or a single word that is in
# none.


_ASKED_AT_ONCE = 20_000
"""Terms."""
_LONE_TYPES = frozenset(("product", "organisation", "code"))
_SHORTEST_LONE = 4
"""Letters of a term of one word, at least."""


class StoreTerms:
    """Finds the terms of a store in a document; asks for those whose words stand there."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def found(
        self, document: Document, chunks: Sequence[Chunk], extraction: Extraction
    ) -> Extraction:
        """The extraction with a mention of each term that it lacks, in sentences of prose."""
        if kind_of(document.media_type):
            return extraction
        prose = list[_Prose]()
        for chunk, found in zip(chunks, extraction.chunks, strict=True):
            fences = find_fences(chunk.text)
            outside = [
                (start, end, ordinal)
                for ordinal, (start, end) in enumerate(found.sentences)
                if not any(a <= start < b for a, b in fences)
            ]
            prose.append(_Prose(chunk.text, outside, found, owner_of(document)))
        # The terms whose words stand in some texts.
        asked = dict.fromkeys(
            phrase
            for part in prose
            for start, end, _ in part.sentences
            for phrase in phrases(part.text, start, end)
        )
        terms, left = _Terms(), list(asked)
        while left:
            terms.add(self._store.known_terms(left[:_ASKED_AT_ONCE]))
            left = left[_ASKED_AT_ONCE:]
        if not terms.types:
            return extraction
        return replace(extraction, chunks=tuple(map(terms.within, prose)))


class _Prose(NamedTuple):
    """A chunk of prose."""

    text: str
    sentences: list[tuple[int, int, int]]
    """(start, end, ordinal) of those that are no code."""
    found: ChunkExtraction
    owner: Owner | None
    """What it was told of, if it is an observation."""


class _Terms:
    """Some terms of a store."""

    def __init__(self) -> None:
        self.types: dict[str, str] = {}
        """Entity type by name."""
        self._only_related: set[str] = set()
        """Words told by hand that prose says by chance: where a relation is stated of them."""
        self._names: dict[Words, str] = {}
        self._openings: set[Words] = set()
        self._known = KnownTerms(self._names, self._openings)

    def add(self, names: Iterable[KnownName]) -> None:
        """Learn names; the first of those that differ by case, plural or hyphens stays."""
        for known in names:
            words = term_words(known.name)
            if words not in self._names and (_is_term(known) or known.tier == "manual"):
                if not _is_term(known):
                    self._only_related.add(known.name)
                self._names[words] = known.name
                self.types[known.name] = known.entity_type
                self._openings.update(words[:n] for n in range(1, len(words) + 1))

    def within(self, prose: _Prose) -> ChunkExtraction:
        """What was found in a chunk, with a mention of each term that it lacks.

        And with what its sentences state of these terms, a word that is told by hand among them.
        """
        text, found = prose.text, prose.found
        taken = bytearray(len(text))
        for mention in found.mentions:
            taken[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
        new: dict[tuple[int, str], Mention] = {}
        spans: dict[int, list[NameSpan]] = {}
        for start, end, ordinal in prose.sentences:
            for left, right, name in self._known.find(text, start, end):
                if any(taken[left:right]) or not stands_apart(text, left, right):
                    continue
                spans.setdefault(ordinal, []).append(NameSpan(left, right, name, self.types[name]))
                if name in self._only_related:
                    continue
                kind, key = self.types[name], (ordinal, entity_key(name))
                first = Mention(
                    name=name, entity_type=kind, sentence=ordinal, start=left, end=right, count=0
                )
                before = new.get(key, first)
                new[key] = replace(before, count=before.count + 1)
        related = list(self._related(prose, spans))
        for ordinal, of_sentence in spans.items():
            ends = {n for r in related if r.sentence == ordinal for n in (r.head, r.tail)}
            for span in of_sentence:
                if span.name in ends:
                    new.setdefault(
                        (ordinal, entity_key(span.name)),
                        Mention(
                            name=span.name,
                            entity_type=span.entity_type,
                            sentence=ordinal,
                            start=span.start,
                            end=span.end,
                        ),
                    )
        said = {(mention.sentence, entity_key(mention.name)) for mention in found.mentions}
        added = [mention for key, mention in new.items() if key not in said]
        if not (added or related):
            return found
        return replace(
            found,
            mentions=(*found.mentions, *added),
            relations=(*found.relations, *related),
        )

    def _related(
        self, prose: _Prose, spans: Mapping[int, list[NameSpan]]
    ) -> Iterator[ExtractedRelation]:
        """What sentences state of terms and names that they have, and was not found before."""
        known = {
            (one.sentence, entity_key(one.head), one.relation_type, entity_key(one.tail))
            for one in prose.found.relations
        }
        for start, end, ordinal in prose.sentences:
            if ordinal not in spans:
                continue
            names = [
                NameSpan(one.start, one.end, one.name, one.entity_type)
                for one in prose.found.mentions
                if one.sentence == ordinal
            ]
            names = sorted([*names, *spans[ordinal]], key=lambda span: (span.start, -span.end))
            terms = {span.name for span in spans[ordinal]}
            place = (start, end, ordinal)
            stated = [*find_relations(prose.text, place, names, ())]
            if prose.owner:
                stated += find_owned_relations(prose.text, place, names, prose.owner)
            for one in stated:
                fact = ordinal, entity_key(one.head), one.relation_type, entity_key(one.tail)
                if fact not in known and not terms.isdisjoint((one.head, one.tail)):
                    yield one


def _is_term(known: KnownName) -> bool:
    name = known.name
    stated = known.tier == "manual" or known.entity_type == "concept"
    if may_be_term(name):
        return stated or not all(map(is_ordinary, name.split()))
    if not name.isalpha() or len(name) < _SHORTEST_LONE or not is_telling(name.casefold()):
        return False
    return stated or known.entity_type in _LONE_TYPES or not name[1:].islower()


# What is left of an extraction without the names that were pruned from the store.


def without_names(extraction: Extraction, keys: Collection[str]) -> Extraction:
    """The extraction without mentions, relations and aliases of names with these keys.

    What the document is about stays.
    """
    if not keys:
        return extraction
    pruned = set(keys) - {entity_key(name) for name, _ in extraction.about}
    return replace(
        extraction,
        chunks=tuple(
            replace(
                chunk,
                mentions=tuple(one for one in chunk.mentions if entity_key(one.name) not in pruned),
                relations=tuple(
                    one
                    for one in chunk.relations
                    if pruned.isdisjoint((entity_key(one.head), entity_key(one.tail)))
                ),
            )
            for chunk in extraction.chunks
        ),
        aliases=tuple(
            one
            for one in extraction.aliases
            if pruned.isdisjoint((entity_key(one.alias), entity_key(one.name)))
        ),
    )


# Pairs of entities that may be one, for somebody to decide: parts of names, companies, joints.
#
# What is sure is linked while indexing (`linker`); what is listed here stays apart until then.


_ACRONYM = re.compile(r"[A-Z]{3,6}")
_UNFIT = frozenset(("code", "date", TERM))
"""Types whose names are one only where they are spelled the same, or may be none."""
_MOST_CANDIDATES = 3
"""Entities that a short name may stand for; where there are more, it says too little."""
_WIDEST_BLOCK = 100
"""Names that begin alike and are compared with each other, at most."""
_LEAST_ALIKE = 0.85
_SHORTEST_JOINED = 6
"""Letters of names that differ by their blanks alone, at least."""


class _Pair(NamedTuple):
    source: KnownName
    target: KnownName
    confidence: float
    reason: str


def suggest_merges(names: Sequence[KnownName], rules: Mapping[str, str]) -> list[MergeSuggestion]:
    """The surest first, each pair of entities once; what `rules` keep apart is left out."""
    usable = [known for known in names if known.entity_type not in _UNFIT]
    best: dict[tuple[int, int], _Pair] = {}
    for pair in (*_of_persons(usable), *_of_companies(usable), *_of_acronyms(usable),
                 *_of_joints(usable), *_of_spellings(usable)):  # fmt: skip
        ids = (pair.source.entity_id, pair.target.entity_id)
        key = (min(ids), max(ids))
        kinds = {pair.source.entity_type, pair.target.entity_type} - {*WEAK_TYPES}
        one, other = entity_key(pair.source.name), entity_key(pair.target.name)
        # Somebody has decided about both.
        decided = one in rules and other in rules and rules[one] != rules[other]
        if ids[0] == ids[1] or len(kinds) > 1 or decided:
            continue
        if key not in best or best[key].confidence < pair.confidence:
            best[key] = pair
    ordered = sorted(best.values(), key=lambda p: (-p.confidence, p.source.name, p.target.name))
    return [
        MergeSuggestion(
            source_id=source.entity_id,
            source=source.name,
            target_id=target.entity_id,
            target=target.name,
            confidence=round(confidence, 2),
            reason=reason,
        )
        for source, target, confidence, reason in ordered
    ]


def _of_persons(names: Sequence[KnownName]) -> Iterator[_Pair]:
    """Short forms of persons' names: "J. Smith", "Smith" and "John" beside "John Smith"."""
    by_word: defaultdict[str, list[KnownName]] = defaultdict(list)
    for known in names:
        if known.entity_type == "person" and len(words := words_of(known.name)) > 1:
            for word in {words[0], words[-1]}:
                by_word[word].append(known)
    for known in names:
        words = words_of(known.name)
        if known.entity_type == "person" or not all(map(is_ordinary, words)):
            near = chain.from_iterable(by_word[word] for word in {*words} & by_word.keys())
            fitting = [one for one in near if stands_for(known.name, one.name)]
            sure = 0.8 if len(words) > 1 else 0.5
            yield from _candidates(known, fitting, sure, "short form")


def _candidates(
    known: KnownName, fitting: Sequence[KnownName], sure: float, what: str
) -> Iterator[_Pair]:
    """A pair with each entity that a short name fits, less sure where it fits several."""
    distinct = {one.entity_id: one for one in fitting if one.entity_id != known.entity_id}
    if len(distinct) > _MOST_CANDIDATES:
        return
    count = len(distinct)
    for one in distinct.values():
        told = f"of {one.name} alone" if count == 1 else f"of {count} entities"
        yield _Pair(known, one, sure / count, f"{known.name} is the {what} {told}")


def _of_companies(names: Sequence[KnownName]) -> Iterator[_Pair]:
    """A company with its form and without: "Acme" beside "Acme Corporation"."""
    by_key = {entity_key(known.name): known for known in names}
    for key, known in by_key.items():
        # The legal form may be one with dots, too: "dekker b v".
        words = key.split()
        lone = sum(1 for _ in takewhile(lambda word: len(word) == 1, reversed(words)))
        for size in (1, lone):
            if 0 < size < len(words) and "".join(words[-size:]) in LEGAL_FORMS:
                base = by_key.get(" ".join(words[:-size]))
                if base is not None:
                    reason = f"the same name without {known.name.rpartition(' ')[2]}"
                    yield _Pair(base, known, 0.7, reason)
                break


def _of_acronyms(names: Sequence[KnownName]) -> Iterator[_Pair]:
    """Initials of names: "WHO" beside "World Health Organization"."""
    long: defaultdict[str, list[KnownName]] = defaultdict(list)
    for known in names:
        words = [word for word in known.name.split() if word[0].isupper()]
        if len(words) > 2 and known.entity_type != "person":
            long["".join(word[0] for word in words)].append(known)
    for known in names:
        if _ACRONYM.fullmatch(known.name):
            yield from _candidates(known, long.get(known.name, ()), 0.5, "initials")


def _of_joints(names: Sequence[KnownName]) -> Iterator[_Pair]:
    """Names that differ by blanks or a plural alone: "Net Zero" and "Netzero"."""
    first: dict[tuple[str, str], KnownName] = {}
    for what in ("blanks", "their number"):
        for known in names:
            if what == "blanks":
                spelling = entity_key(known.name).replace(" ", "")
            else:
                spelling = "" if known.entity_type == "person" else " ".join(term_words(known.name))
            if len(spelling) >= _SHORTEST_JOINED:
                same = first.setdefault((what, spelling), known)
                yield _Pair(known, same, 0.7, f"the names differ by {what} alone")


def _of_spellings(names: Sequence[KnownName]) -> Iterator[_Pair]:
    """Names that are spelled alike, if not so much that indexing links them."""
    blocks: defaultdict[str, list[KnownName]] = defaultdict(list)
    for known in names:
        block = block_of(entity_key(known.name))
        if block is not None and len(blocks[block]) < _WIDEST_BLOCK:
            blocks[block].append(known)
    for same in blocks.values():
        for i, known in enumerate(same):
            key = entity_key(known.name)
            for other in same[:i]:
                score = similarity(key, entity_key(other.name), _LEAST_ALIKE)
                if 0 < score < 1:
                    yield _Pair(known, other, score * 0.7, f"spelled alike ({score:.2f})")
