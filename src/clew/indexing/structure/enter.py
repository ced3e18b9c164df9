"""Entering what a document's structure states into what its sentences gave."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, TypeAlias

from clew.indexing.relations.descriptions import CONCEPT, IS_A
from clew.indexing.splitting.code import is_code
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
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from clew.types import Chunk, DeclaredEntity, Document, Extraction


Stated: TypeAlias = "Statement | AliasEvidence"


def structure(
    *, titled: bool = True, prose: bool = True, most: int
) -> Callable[[Callable[[Document], Iterable[Stated]]], Callable[[Document], Structure]]:
    """Make a reader of structure of a function that gives what it sees, which may say things twice.

    It is not asked for documents without a title (`titled`) and for source code (`prose`), the
    first `most` different things count, and nothing is stated of itself.
    """

    def reader(read: Callable[[Document], Iterable[Stated]]) -> Callable[[Document], Structure]:
        @wraps(read)
        def read_structure(document: Document) -> Structure:
            has_title = bool(entity_key(document.title))
            is_for = (has_title or not titled) and not (prose and is_code(document.media_type))
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
    placed: dict[int, list[Statement]] = defaultdict(list)
    starts = [chunk.start for chunk in chunks]
    extraction = _with_declared(extraction, structure.entities, chunks, starts)
    for statement in structure.statements:
        if entity_key(statement.head) and entity_key(statement.tail):
            placed[max(0, bisect_right(starts, statement.start) - 1)].append(statement)
    entered = [
        _with_statements(found, chunk, placed[i]) if i in placed else found
        for i, (found, chunk) in enumerate(zip(extraction.chunks, chunks, strict=True))
    ]
    return replace(
        extraction,
        chunks=_with_aliases(entered, structure.aliases, chunks, extraction.about),
        aliases=tuple(dict.fromkeys((*extraction.aliases, *structure.aliases))),
    )


def _with_declared(
    extraction: Extraction,
    declared: Sequence[DeclaredEntity],
    chunks: Sequence[Chunk],
    starts: Sequence[int],
) -> Extraction:
    """The extraction with the declared entities as mentions, and their types in all it names."""
    if not declared:
        return extraction
    types = {entity_key(one.name): one.entity_type for one in declared}

    def typed(mention: Mention) -> Mention:
        kind = types.get(entity_key(mention.name))
        return replace(mention, entity_type=kind) if kind else mention

    found = [replace(c, mentions=tuple(map(typed, c.mentions))) for c in extraction.chunks]
    for one in declared:
        if entity_key(one.name):
            i = max(0, bisect_right(starts, one.start) - 1)
            found[i] = _with_mention(found[i], chunks[i], one)
    about = tuple((n, types.get(entity_key(n), kind)) for n, kind in extraction.about)
    return replace(extraction, chunks=tuple(found), about=about)


def _with_mention(found: ChunkExtraction, chunk: Chunk, one: DeclaredEntity) -> ChunkExtraction:
    """With a mention of the entity in the sentence that declares it, unless it has one."""
    sentences = found.sentences or ((0, len(chunk.text)),)
    place = min(max(one.start - chunk.start, 0), max(len(chunk.text) - 1, 0))
    ordinal = max(0, bisect_right([start for start, _ in sentences], place) - 1)
    key = entity_key(one.name)
    if any(m.sentence == ordinal and entity_key(m.name) == key for m in found.mentions):
        return found
    start, end = _place(chunk, sentences[ordinal], one.name, one.start, one.end)
    mention = Mention(
        name=one.name, entity_type=one.entity_type, sentence=ordinal, start=start, end=end
    )
    return replace(found, sentences=sentences, mentions=(*found.mentions, mention))


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


def _with_statements(
    found: ChunkExtraction, chunk: Chunk, statements: Sequence[Statement]
) -> ChunkExtraction:
    sentences = found.sentences or ((0, len(chunk.text)),)
    starts = [start for start, _ in sentences]
    types = _told_types(statements)
    mentions = [
        replace(m, entity_type=types.get(entity_key(m.name), "name"))
        if m.entity_type == "name"
        else m
        for m in found.mentions
    ]
    relations = {(r.head, r.relation_type, r.tail): r for r in found.relations}
    known = {(mention.sentence, entity_key(mention.name)) for mention in mentions}
    for one in statements:
        place = min(max(one.start - chunk.start, 0), max(len(chunk.text) - 1, 0))
        ordinal = max(0, bisect_right(starts, place) - 1)
        for mention in _mentions(one, chunk, sentences[ordinal], ordinal):
            key = ordinal, entity_key(mention.name)
            if key not in known:
                known.add(key)
                mentions.append(mention)
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
        sentences=sentences, mentions=tuple(mentions), relations=tuple(relations.values())
    )


def _told_types(statements: Sequence[Statement]) -> dict[str, str]:
    """Types by key, of the names that statements tell one of."""
    ends = ((n, t) for s in statements for n, t in ((s.head, s.head_type), (s.tail, s.tail_type)))
    return {entity_key(name): kind for name, kind in ends if kind != "name"}


def _with_aliases(
    entered: Sequence[ChunkExtraction],
    aliases: Sequence[AliasEvidence],
    chunks: Sequence[Chunk],
    about: Sequence[tuple[str, str]],
) -> tuple[ChunkExtraction, ...]:
    missing: dict[str, dict[str, str]] = defaultdict(dict)
    for alias in aliases:
        missing[entity_key(alias.name)][entity_key(alias.alias)] = alias.alias
    found = [_beside_names(one, chunk, missing) for one, chunk in zip(entered, chunks, strict=True)]
    unnamed = [
        Mention(name=name, sentence=0, start=0, end=0)
        for title, _ in about
        for name in missing.pop(entity_key(title), {}).values()
    ]
    if unnamed:
        first = found[0]
        sentences = first.sentences or ((0, len(chunks[0].text)),)
        found[0] = replace(first, sentences=sentences, mentions=(*first.mentions, *unnamed))
    return tuple(found)


def _beside_names(
    found: ChunkExtraction, chunk: Chunk, missing: dict[str, dict[str, str]]
) -> ChunkExtraction:
    """With the aliases of the names that it mentions, which are then no longer missing."""
    added: list[Mention] = []
    for mention in found.mentions:
        for name in missing.pop(entity_key(mention.name), {}).values():
            start, end = found.sentences[mention.sentence]
            at = chunk.text.find(name, start, end)
            place = (at, at + len(name)) if at >= 0 else (mention.start, mention.end)
            added.append(replace(mention, name=name, start=place[0], end=place[1], count=1))
    return replace(found, mentions=(*found.mentions, *added)) if added else found


def _mentions(
    statement: Statement, chunk: Chunk, sentence: tuple[int, int], ordinal: int
) -> Iterator[Mention]:
    """The names, where they stand in the sentence, else where the statement does."""
    names = [(statement.head, statement.head_type)]
    if statement.relation_type != IS_A:  # what a thing is names nothing
        names.append((statement.tail, statement.tail_type))
    for name, entity_type in names:
        start, end = _place(chunk, sentence, name, statement.start, statement.end)
        yield Mention(name=name, entity_type=entity_type, sentence=ordinal, start=start, end=end)
