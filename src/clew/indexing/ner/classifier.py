"""What the names of a document name, and what its sentences state of them, as the tagger reads it.

What is written like a name may be none: a heading, a word that opens its line, a piece of a name.
Such terms tie passages like any name, and are no entities for people to look at. The tagger
(`clew.models.tagger`) tells them apart, which type a name has, and which relation a sentence
states between two names. A type that a pattern shows stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from clew.indexing.ner.entity_types import CODE
from clew.indexing.ner.persons import full_names, short_form, words_of
from clew.indexing.relations.phrases import is_denied, states_facts
from clew.ports import EITHER_WAY, KINDS, RELATIONS
from clew.text import entity_key
from clew.types import TERM, UNKNOWN_TYPE, ExtractedRelation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.ports import Said, Tagger
    from clew.types import CharRange, Chunk, ChunkExtraction, Extraction, Mention

UNCLASSIFIED = frozenset(("date", CODE, "concept"))
MOST_PLACES = 4
"""Places of a name that its type is judged by, from the first."""


_PERSON, _PLACE = frozenset(("person",)), frozenset(("place",))
_ACTS = frozenset(("person", "organisation"))
_LIES = frozenset(KINDS[1:]) - _PERSON
_WHERE = frozenset(("place", "organisation"))
_JOINED = {
    **dict.fromkeys(EITHER_WAY[1:6], (_PERSON, _PERSON)),
    "parent_of": (_PERSON, _PERSON),
    "lives_in": (_PERSON, _PLACE),
    "works_at": (_PERSON, _WHERE),
    "works_for": (_ACTS, _ACTS),
    "member_of": (_ACTS, frozenset(("organisation",))),
    "from": (frozenset(KINDS[1:]), frozenset(("place", "concept"))),
    "located_in": (_LIES, _WHERE),
    "took_place_in": (_LIES, _WHERE),
    "travelled_to": (_ACTS, frozenset(("place", "organisation", "event"))),
    "said_to": (_ACTS, _ACTS),
}
"""What the ends of a relation are; others may be anything."""


def fits(relation: str, head: str, tail: str) -> bool:
    """Return whether a relation may join things of two types, one of `KINDS` or another.

    >>> fits("lives_in", "person", "product"), fits("lives_in", "person", "name")
    (False, True)
    """
    heads, tails = _JOINED.get(relation, (frozenset(KINDS), frozenset(KINDS)))
    return (head in heads or head not in KINDS) and (tail in tails or tail not in KINDS)


@dataclass(slots=True)
class NamedThing:
    """A name of a document."""

    kind: str = UNKNOWN_TYPE
    """The type that a pattern shows."""
    chances: list[NDArray[np.float32]] = field(default_factory=list)
    """Of each place: (`KINDS`) probabilities of what it names."""

    def type_by(self, bounds: Mapping[str, float]) -> str:
        """Return one of `KINDS`, `UNKNOWN_TYPE` or `TERM`."""
        if not self.chances:
            return self.kind
        none, *kinds = np.mean(self.chances, axis=0).tolist()
        if 1 - none < bounds["likely"]:
            return TERM
        best = int(np.argmax(kinds))
        is_sure = kinds[best] >= bounds["sure"] * (1 - none)
        return KINDS[1 + best] if is_sure and self.kind == UNKNOWN_TYPE else self.kind


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a chunk as the tagger read it."""

    number: int
    places: Sequence[CharRange]
    names: Sequence[Sequence[str]]
    """By place: the name in full last, before it what is short for it."""
    said: Said


def classified(
    chunks: Sequence[Chunk], title: str, found: Extraction, tagger: Tagger
) -> Extraction:
    """Return what was found, each name with its type by all of its document, and more relations.

    What is an end of a relation, or stands for another name, is no mere term.
    """
    things = named_things(found)
    read = read_names(chunks, title, found, things, tagger)
    types = {key: thing.type_by(tagger.bounds) for key, thing in things.items()}
    # "Dad" and "Dr" are whomever the writer means.
    types |= {key: TERM for key, kind in types.items() if kind == "person" and not words_of(key)}
    relations = [relation for chunk in found.chunks for relation in chunk.relations]
    ends = [(one.head, one.tail) for one in relations]
    for name in chain(*ends, *((one.alias, one.name) for one in found.aliases)):
        if types.get(key := entity_key(name)) == TERM:
            types[key] = things[key].kind
    chunks_read = [
        _typed(chunk.text, said, sentences, types, tagger.bounds)
        for chunk, said, sentences in zip(chunks, found.chunks, read, strict=True)
    ]
    about = tuple((name, types.get(entity_key(name), kind)) for name, kind in found.about)
    return _with_full_names(replace(found, chunks=tuple(chunks_read), about=about))


def _typed(
    text: str,
    said: ChunkExtraction,
    read: Sequence[Sentence],
    types: Mapping[str, str],
    bounds: Mapping[str, float],
) -> ChunkExtraction:
    mentions = (
        replace(one, entity_type=types.get(entity_key(one.name), one.entity_type))
        for one in said.mentions
    )
    stated = _stated(text, said, read, types, bounds)
    return replace(said, mentions=tuple(mentions), relations=(*said.relations, *stated))


def _with_full_names(found: Extraction) -> Extraction:
    """Return what was found, with names in full for short ones that stand for one person.

    A short name stays once in a chunk beside the name in full: questions may use either.
    """
    told = {one.name: one.entity_type for chunk in found.chunks for one in chunk.mentions}
    told |= dict(found.about)
    persons = [name for name, kind in told.items() if kind == "person"]
    shorts = [name for name, kind in told.items() if kind in ("person", UNKNOWN_TYPE)]
    full = full_names(shorts, persons)
    if not full:
        return found

    def named(chunk: ChunkExtraction) -> ChunkExtraction:
        kept: dict[tuple[str, int], Mention] = {}
        stay = set[str]()
        for one in chunk.mentions:
            if one.name in full and one.name not in stay:
                stay.add(one.name)
                kept[one.name, one.sentence] = replace(one, entity_type="person")
            whole = replace(one, name=full.get(one.name, one.name))
            before = kept.setdefault((whole.name, one.sentence), whole)
            if before is not whole and before.start != whole.start:
                more = replace(before, count=before.count + whole.count)
                kept[whole.name, one.sentence] = more
        relations = (
            replace(one, head=full.get(one.head, one.head), tail=full.get(one.tail, one.tail))
            for one in chunk.relations
        )
        return replace(
            chunk,
            mentions=tuple(kept.values()),
            relations=tuple(one for one in relations if one.head != one.tail),
        )

    aliases = (short_form(short, name) for short, name in full.items())
    return replace(
        found, chunks=tuple(map(named, found.chunks)), aliases=(*found.aliases, *aliases)
    )


def named_things(found: Extraction) -> dict[str, NamedThing]:
    """Return the names of a document by their keys.

    Left out is what the tagger does not know: dates, code, concepts, which a text marks as such,
    and names in scripts without capitals.
    """
    things: dict[str, NamedThing] = {}
    unknown = set[str]()
    mentioned = ((m.name, m.entity_type) for chunk in found.chunks for m in chunk.mentions)
    for name, kind in chain(mentioned, found.about):
        one = things.setdefault(key := entity_key(name), NamedThing())
        one.kind = kind if one.kind == UNKNOWN_TYPE else one.kind
        if kind in UNCLASSIFIED or name.lower() == name.upper():
            unknown.add(key)
    return {key: one for key, one in things.items() if key not in unknown}


def read_names(
    chunks: Sequence[Chunk],
    title: str,
    found: Extraction,
    things: Mapping[str, NamedThing],
    tagger: Tagger,
) -> list[list[Sentence]]:
    """Return the sentences of each chunk as the tagger read them; add to things what it says."""
    read = [
        _read(chunk, title, said, things, tagger)
        for chunk, said in zip(chunks, found.chunks, strict=True)
    ]
    for name, _ in found.about:
        thing = things.get(entity_key(name))
        if thing and not thing.chances:
            whole = (0, len(name))
            thing.chances.append(tagger.read("", name, {whole: [whole]})[whole].kinds[0])
    return read


def _read(
    chunk: Chunk,
    title: str,
    found: ChunkExtraction,
    things: Mapping[str, NamedThing],
    tagger: Tagger,
) -> list[Sentence]:
    """Read the sentences of a chunk that show a name for one of the first times, or several."""
    sentences: dict[int, dict[CharRange, list[str]]] = {}
    for one in found.mentions:
        if entity_key(one.name) in things:
            places = sentences.setdefault(one.sentence, {})
            places.setdefault((one.start, one.end), []).append(one.name)
    named = {}
    for number, places in sentences.items():
        shown = [things[entity_key(name)] for names in places.values() for name in names]
        if len(places) > 1 or any(len(thing.chances) < MOST_PLACES for thing in shown):
            named[found.sentences[number]] = number
    spans = {place: list(sentences[number]) for place, number in named.items()}
    read = []
    for place, said in tagger.read(title, chunk.text, spans).items():
        names = list(sentences[named[place]].values())
        for own, chances in zip(names, said.kinds, strict=True):
            for name in own:
                if len(kept := things[entity_key(name)].chances) < MOST_PLACES:
                    kept.append(chances)
        read.append(Sentence(named[place], spans[place], names, said))
    return read


def may_state(text: str, sentence: CharRange, one: CharRange, other: CharRange) -> bool:
    """Return whether a sentence means what it says of two names: no question, wish or denial."""
    return states_facts(text[slice(*sentence)]) and not is_denied(text[one[1] : other[0]])


def _stated(
    text: str,
    found: ChunkExtraction,
    read: Sequence[Sentence],
    types: Mapping[str, str],
    bounds: Mapping[str, float],
) -> Iterator[ExtractedRelation]:
    """Yield what sentences state between two names, but for what a pattern found there."""
    known = {
        (one.sentence, frozenset((entity_key(one.head), entity_key(one.tail))))
        for one in found.relations
    }
    for sentence in read:
        for (first, second), chances in sentence.said.relations.items():
            ends = sentence.names[first][-1], sentence.names[second][-1]
            places = sentence.places[first], sentence.places[second]
            keys = frozenset(map(entity_key, ends))
            best = int(np.argmax(chances[1:])) + 1
            head, tail = ends[::-1] if RELATIONS[best].endswith("<") else ends
            relation = RELATIONS[best].removesuffix("<")
            if relation in EITHER_WAY:
                # One fact, whichever is named first.
                head, tail = sorted(ends, key=entity_key)
            kinds = [types[entity_key(name)] for name in (head, tail)]
            if (
                chances[best] >= bounds["stated"]
                and len(keys) == 2
                and (sentence.number, keys) not in known
                and TERM not in kinds
                and fits(relation, *kinds)
                and may_state(text, found.sentences[sentence.number], *places)
            ):
                yield ExtractedRelation(
                    head=head,
                    relation_type=relation,
                    tail=tail,
                    sentence=sentence.number,
                    confidence=round(float(chances[best]), 3),
                )
