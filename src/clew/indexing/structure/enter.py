"""Entering what a document's structure states into what its sentences gave."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, TypeAlias

from clew.hookspecs import kind_of
from clew.indexing.relations.descriptions import CONCEPT, IS_A
from clew.text import entity_key
from clew.types import (
    AliasEvidence,
    ChunkExtraction,
    ExtractedRelation,
    Mention,
    Statement,
    Structure,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from clew.types import Chunk, Document, Extraction


Stated: TypeAlias = "Statement | AliasEvidence"


def structure(
    *, of: str = "", titled: bool = True, prose: bool = True, most: int
) -> Callable[[Callable[[Document], Iterable[Stated]]], Callable[[Document], Structure]]:
    """Make a reader of structure of a function that gives what it sees, which may say things twice.

    It is asked for documents of the media type `of` alone, if one is given; not for those without
    a title (`titled`) and those that are no prose, such as source code (`prose`). The first `most`
    different things count, and nothing is stated of itself.
    """

    def reader(read: Callable[[Document], Iterable[Stated]]) -> Callable[[Document], Structure]:
        @wraps(read)
        def read_structure(document: Document) -> Structure:
            kind = document.media_type
            is_for = of in ("", kind) and not (prose and kind_of(kind))
            is_for = is_for and (not titled or bool(entity_key(document.title)))
            statements: dict[tuple[str, ...], Statement] = {}
            aliases: dict[AliasEvidence, None] = {}
            for one in read(document) if is_for else ():
                if isinstance(one, AliasEvidence):
                    aliases[one] = None
                    continue
                head, tail = entity_key(one.head), entity_key(one.tail)
                if head and tail and head != tail:
                    statements.setdefault((head, one.relation_type, tail), one)
                if len(statements) == most:
                    break
            return Structure(statements=tuple(statements.values()), aliases=tuple(aliases))

        return read_structure

    return reader


def add_structure(
    extraction: Extraction, structure: Structure, chunks: Sequence[Chunk]
) -> Extraction:
    """The extraction with the statements as relations of the sentences in which they stand.

    Both names of a statement become mentions of that sentence unless they are already. A statement
    outside of all chunks counts for the chunk before it, or else the first. An alias is mentioned
    once, beside the first mention of the name that it stands for, so that the store knows it; one
    of what the document is about in the first sentence, where no text names that. A declared
    entity is mentioned where it is declared, and has the declared type wherever it is mentioned.
    """
    if not chunks or not (structure.statements or structure.aliases or structure.entities):
        return extraction
    types = {entity_key(one.name): one.entity_type for one in structure.entities}
    entered = [_Entered(*both, types) for both in zip(extraction.chunks, chunks, strict=True)]
    starts = [chunk.start for chunk in chunks]
    for one in structure.entities:
        if entity_key(one.name):
            at = entered[max(0, bisect_right(starts, one.start) - 1)]
            at.mention(one.name, one.entity_type, one.start, one.end)
    for said in structure.statements:
        if entity_key(said.head) and entity_key(said.tail):
            entered[max(0, bisect_right(starts, said.start) - 1)].state(said)
    missing: dict[str, dict[str, str]] = defaultdict(dict)
    for alias in structure.aliases:
        missing[entity_key(alias.name)][entity_key(alias.alias)] = alias.alias
    for chunk in entered:
        chunk.name_beside(missing)
    for title, _ in extraction.about:
        for name in missing.pop(entity_key(title), {}).values():
            entered[0].add(Mention(name=name, sentence=0, start=0, end=0))
    return replace(
        extraction,
        chunks=tuple(chunk.extraction() for chunk in entered),
        about=tuple((n, types.get(entity_key(n), kind)) for n, kind in extraction.about),
        aliases=tuple(dict.fromkeys((*extraction.aliases, *structure.aliases))),
    )


class _Entered:
    """What one chunk holds, on its way."""

    def __init__(self, found: ChunkExtraction, chunk: Chunk, types: Mapping[str, str]) -> None:
        """`types` are those of declared entities, by key."""
        self._found, self._chunk = found, chunk
        self._sentences = found.sentences or ((0, len(chunk.text)),)
        self._mentions = [
            replace(m, entity_type=types.get(entity_key(m.name), m.entity_type)) if types else m
            for m in found.mentions
        ]
        self._known = {(m.sentence, entity_key(m.name)) for m in found.mentions}
        self._statements: list[tuple[int, Statement]] = []

    def mention(self, name: str, entity_type: str, start: int, end: int) -> int:
        """Mention a name in the sentence that states it, and say which that is."""
        place = min(max(start - self._chunk.start, 0), max(len(self._chunk.text) - 1, 0))
        firsts = [first for first, _ in self._sentences]
        ordinal = max(0, bisect_right(firsts, place) - 1)
        if (ordinal, entity_key(name)) not in self._known:
            left, right = _place(self._chunk, self._sentences[ordinal], name, start, end)
            self.add(
                Mention(name=name, entity_type=entity_type, sentence=ordinal, start=left, end=right)
            )
        return ordinal

    def add(self, mention: Mention) -> None:
        """Take in a mention as it is."""
        self._known.add((mention.sentence, entity_key(mention.name)))
        self._mentions.append(mention)

    def state(self, one: Statement) -> None:
        """Mention what a statement names, and relate it."""
        ordinal = self.mention(one.head, one.head_type, one.start, one.end)
        if one.relation_type != IS_A:  # what a thing is names nothing
            self.mention(one.tail, one.tail_type, one.start, one.end)
        self._statements.append((ordinal, one))

    def name_beside(self, missing: dict[str, dict[str, str]]) -> None:
        """Mention the aliases of what is named, which are then no longer missing."""
        for mention in tuple(self._mentions):
            for name in missing.pop(entity_key(mention.name), {}).values():
                at = self._chunk.text.find(name, *self._sentences[mention.sentence])
                place = (at, at + len(name)) if at >= 0 else (mention.start, mention.end)
                self.add(replace(mention, name=name, start=place[0], end=place[1], count=1))

    def extraction(self) -> ChunkExtraction:
        """With the types that statements tell of names."""
        if self._mentions == list(self._found.mentions) and not self._statements:
            return self._found
        said = [one for _, one in self._statements]
        ends = [*((s.head, s.head_type) for s in said), *((s.tail, s.tail_type) for s in said)]
        told = {entity_key(name): kind for name, kind in ends if kind != "name"}
        relations = {(r.head, r.relation_type, r.tail): r for r in self._found.relations}
        for ordinal, one in self._statements:
            relation = ExtractedRelation(
                head=one.head,
                tail=one.tail,
                relation_type=one.relation_type,
                sentence=ordinal if one.start < one.end else None,
                confidence=one.confidence,
                valid_from=one.valid_from,
                valid_until=one.valid_until,
                tail_type=CONCEPT if one.tail_type == CONCEPT else "name",
            )
            relations.setdefault((one.head, one.relation_type, one.tail), relation)
        return ChunkExtraction(
            sentences=self._sentences,
            mentions=tuple(
                replace(m, entity_type=told.get(entity_key(m.name), "name"))
                if m.entity_type == "name"
                else m
                for m in self._mentions
            ),
            relations=tuple(relations.values()) if said else self._found.relations,
        )


def _place(
    chunk: Chunk, sentence: tuple[int, int], name: str, start: int, end: int
) -> tuple[int, int]:
    """Where a name stands in a sentence, in the chunk's text; else the range that states it."""
    at = chunk.text.find(name, *sentence)
    if at >= 0:
        return at, at + len(name)
    if "\n" in chunk.text[slice(*sentence)]:  # the name may go over the end of a line
        wrapped = re.compile(r"\s{1,20}".join(map(re.escape, name.split())))
        if found := wrapped.search(chunk.text, *sentence):
            return found.span()
    first = min(max(start - chunk.start, sentence[0]), sentence[1])
    return first, min(max(end - chunk.start, first), sentence[1])
