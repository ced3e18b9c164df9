"""Ready-made entities and triples, such as a language model made them, from a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from clew.errors import InputError
from clew.indexing.ner.entity_types import type_of_name
from clew.indexing.ner.pattern_extractor import about_names
from clew.sentences import sentences
from clew.text import STOP_WORDS, entity_key
from clew.types import Chunk, ChunkExtraction, Document, ExtractedRelation, Extraction, Mention
from clew.word_lists import word_list

_DATE = re.compile(r"(?=.*?\d{4})[\d\s./-]*+(?:(?<=\d{4})s[\d\s./-]*+)?", re.DOTALL)
_NOT_WORD = re.compile(r"\W+")
_AUXILIARIES = word_list("is was are were be been being has have had does did do")
Triple = tuple[str, str, str]
"""(subject, predicate, object)"""
CONFIDENCE = 0.9
"""Of every triple: somebody read the text to make it, and nobody checked it."""


@dataclass(frozen=True, slots=True)
class Record:
    """What the file says of one document."""

    entities: tuple[str, ...]
    triples: tuple[Triple, ...]
    left_out: int = 0
    """Lists that are no triples of names: of two or four parts, with numbers, or empty."""

    def names(self) -> list[str]:
        """Entities, then what the triples tie together, each once."""
        ends = (name for head, _, tail in self.triples for name in (head, tail))
        return list(dict.fromkeys((*self.entities, *ends)))


class TripleExtractor:
    """Replays a JSON Lines file of `{"_id", "entities": […], "triples": [[s, p, o], …]}`.

    A record belongs to the document whose source ends in `#<_id>` or whose metadata has it as `_id`
    or `id`, and to the chunk that has it as its key. Documents without one yield their title alone.
    """

    def __init__(self, path: Path) -> None:
        """Read the file whole; raises `InputError` where a line is not such a record.

        `left_out` tells how many of its triples are none (two or four parts, say).
        """
        self._records = dict(_read(path))
        self.left_out = sum(record.left_out for record in self._records.values())
        self.name = f"triples/1:{path.name}"

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """Names in every sentence that has them; those that no sentence has, in the first one."""
        whole = self._record(document)
        builders = [_Builder(chunk.text) for chunk in chunks]
        if whole is not None:
            _spread(whole, builders)
        for chunk, builder in zip(chunks, builders, strict=True):
            own = self._records.get(chunk.key) if chunk.key else None
            if own is not None:
                _spread(own, [builder])
        return Extraction(
            chunks=tuple(builder.build() for builder in builders),
            about=about_names(document.title),
        )

    def _record(self, document: Document) -> Record | None:
        given = (document.source.rpartition("#")[2], *map(document.metadata.get, ("_id", "id")))
        return next((self._records[str(n)] for n in given if str(n) in self._records), None)


class _Builder:
    """What is found in one chunk so far."""

    def __init__(self, text: str) -> None:
        self.sentences = sentences(text)
        lowered = text.lower()
        self._text = lowered if len(lowered) == len(text) else text
        self._mentions: dict[tuple[int, str], Mention] = {}
        self._relations: list[ExtractedRelation] = []

    def find(self, name: str) -> list[tuple[int, int, int]]:
        """(sentence, start, count) of each sentence that holds the name, in any case."""
        wanted = name.lower()
        found = []
        for ordinal, (start, end) in enumerate(self.sentences):
            at = self._text.find(wanted, start, end)
            if at >= 0:
                found.append((ordinal, at, self._text.count(wanted, start, end)))
        return found

    def mention(self, name: str) -> bool:
        """Add the name wherever the text has it; whether it has it at all."""
        places = self.find(name)
        for sentence, start, count in places:
            self._add(name, sentence, start, start + len(name), count)
        return bool(places)

    def mention_first(self, name: str) -> None:
        """Add a name that the text does not have as it is written."""
        if self.sentences:
            self._add(name, 0, *self.sentences[0], 1)

    def relate(self, triple: Triple) -> bool:
        """Add the triple to the first sentence that has both its names; whether there is one."""
        heads = {sentence for sentence, _, _ in self.find(triple[0])}
        both = [sentence for sentence, _, _ in self.find(triple[2]) if sentence in heads]
        if both:
            self._relate(triple, both[0])
        return bool(both)

    def relate_first(self, triple: Triple) -> None:
        """Add a triple whose names stand in no sentence together."""
        if self.sentences:
            self._relate(triple, 0)

    def build(self) -> ChunkExtraction:
        """Everything added, in order of the text."""
        mentions = sorted(self._mentions.values(), key=lambda m: (m.sentence, m.start, m.name))
        return ChunkExtraction(
            sentences=tuple(self.sentences),
            mentions=tuple(mentions),
            relations=tuple(dict.fromkeys(self._relations)),
        )

    def _add(self, name: str, sentence: int, start: int, end: int, count: int) -> None:
        kind = "date" if _DATE.fullmatch(name) else type_of_name(name)
        mention = Mention(
            name=name, entity_type=kind, sentence=sentence, start=start, end=end, count=count
        )
        self._mentions.setdefault((sentence, entity_key(name)), mention)

    def _relate(self, triple: Triple, sentence: int) -> None:
        head, predicate, tail = triple
        self._relations.append(
            ExtractedRelation(
                head=head,
                tail=tail,
                relation_type=relation_type_of(predicate),
                sentence=sentence,
                confidence=CONFIDENCE,
                is_causal=predicate.casefold().startswith(("cause", "lead", "led to")),
            )
        )


def _spread(record: Record, builders: Sequence[_Builder]) -> None:
    """Put a record's names and triples where the chunks have them, else into the first chunk."""
    for name in record.names():
        found = [builder.mention(name) for builder in builders]
        if builders and not any(found):
            builders[0].mention_first(name)
    for triple in record.triples:
        if not any(builder.relate(triple) for builder in builders) and builders:
            builders[0].relate_first(triple)


def relation_type_of(predicate: str) -> str:
    """snake_case, without auxiliary verbs: "was born on" → born_on, "is a" → is_a."""
    words = [word for word in _NOT_WORD.split(predicate.casefold()) if word]
    kept = [word for word in words if word not in _AUXILIARIES]
    if not kept or kept in (["a"], ["an"], ["the"]):
        kept = ["is", "a"] if words else ["relates", "to"]
    return "_".join(kept)


def _read(path: Path) -> Iterator[tuple[str, Record]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read triples from {str(path)!r}: {error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield _record(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"{str(path)!r}, line {number}: {line[:80]!r} is no record; expected"
                    ' {"_id": text, "entities": [text, …], "triples": [[text, text, text], …]}'
                ) from error


def _record(value: object) -> tuple[str, Record]:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, not {value!r}")
    names = [name for name in map(_text, value.get("entities", [])) if _names_something(name)]
    given = value.get("triples", [])
    if not isinstance(given, list):
        raise TypeError(f"expected a list of triples, not {given!r}")
    triples = [triple for triple in map(_triple, given) if triple]
    return _text(value["_id"]), Record(tuple(names), tuple(triples), len(given) - len(triples))


def _triple(value: object) -> Triple | None:
    """None for what is no triple of names, as language models make some in every file."""
    if not isinstance(value, list) or len(value) != 3:
        return None
    head, predicate, tail = value
    if not all(isinstance(part, str) for part in value):
        return None
    if not (_names_something(head) and _names_something(tail)):
        return None
    return head.strip(), predicate.strip(), tail.strip()


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, not {value!r}")
    return value.strip()


def _names_something(name: str) -> bool:
    key = entity_key(name)
    return len(key) > 1 and key not in STOP_WORDS
