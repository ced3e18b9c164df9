"""Small documents, ready to save, for tests of stores."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from clew.text import sentences
from clew.types import (
    AliasEvidence,
    Chunk,
    ChunkExtraction,
    Document,
    ExtractedRelation,
    Extraction,
    IndexedDocument,
    Mention,
    Metadata,
    Section,
    Split,
)

if TYPE_CHECKING:
    from clew.types import Vector

DIMENSION = 8
EMBEDDER = ("test-embedder", DIMENSION)
"""The embedder that `make_entry` pretends to use."""
FUNCTIONAL = ("lives_in", "works_at")
"""The relation types that stores under test treat as functional."""


def make_entry(
    source: str,
    *paragraphs: str,
    title: str = "",
    names: Mapping[str, str] | Sequence[str] = (),
    about: Sequence[tuple[str, str]] = (),
    relations: Sequence[tuple[str, str, str]] = (),
    links: Sequence[AliasEvidence] = (),
    metadata: Metadata | None = None,
    chunk_metadata: Sequence[Metadata] = (),
    origin: str = "",
    created_at: datetime | None = None,
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
) -> IndexedDocument:
    """A document of one section and one chunk a paragraph.

    Args:
        source: Its identity.
        paragraphs: Its text; they are joined by empty lines.
        title: Its title, which is every chunk's context.
        names: Names that are mentioned wherever a sentence holds them; types by name, if given.
        about: (name, type) of what it is about.
        relations: (head, type, tail), said by every sentence that holds both names.
        links: What a linker would have found.
        metadata: The document's.
        chunk_metadata: The chunks' own, in order; chunks beyond have none.
        origin: What it was read from.
        created_at: When it was written.
        valid_from: From when on its relations hold.
        valid_until: Until when they do.
    """
    typed = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names, "name")
    parts = [p + "\n\n" for p in paragraphs[:-1]] + list(paragraphs[-1:])
    starts = [sum(map(len, parts[:i])) for i in range(len(parts))]
    own = [*chunk_metadata, *[{}] * (len(parts) - len(chunk_metadata))]
    stated = [
        ExtractedRelation(
            head=head,
            tail=tail,
            relation_type=kind,
            sentence=0,
            confidence=0.8,
            valid_from=valid_from,
            valid_until=valid_until,
        )
        for head, kind, tail in relations
    ]
    return IndexedDocument(
        document=Document(
            source=source,
            text="".join(parts),
            title=title,
            sha256=hashlib.sha256("".join(parts).encode()).hexdigest(),
            origin=origin,
            created_at=created_at,
            metadata=metadata or {},
        ),
        split=Split(
            sections=tuple(
                Section(ordinal=i, start=at, end=at + len(part))
                for i, (at, part) in enumerate(zip(starts, parts, strict=True))
            ),
            chunks=tuple(
                Chunk(
                    ordinal=i,
                    section=i,
                    start=at,
                    end=at + len(text),
                    text=text,
                    context=title,
                    metadata=own[i],
                )
                for i, (at, text) in enumerate(zip(starts, paragraphs, strict=True))
            ),
        ),
        vectors=np.array([make_vector(text) for text in paragraphs], np.float32).reshape(
            -1, DIMENSION
        ),
        extraction=Extraction(
            chunks=tuple(_extraction(text, typed, stated) for text in paragraphs),
            about=tuple(about),
        ),
        links=tuple(links),
    )


def make_link(alias: str, name: str) -> AliasEvidence:
    """Evidence that `alias` is short for `name`."""
    return AliasEvidence(
        alias=alias, name=name, method="acronym", score=0.9, evidence=f"{name} ({alias})"
    )


def make_vector(text: str, dimension: int = DIMENSION) -> Vector:
    """(dimension,) unit vector that only the text decides."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    vector = np.random.default_rng(seed).standard_normal(dimension)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def _extraction(
    text: str, names: Mapping[str, str], relations: Sequence[ExtractedRelation]
) -> ChunkExtraction:
    ranges = sentences(text)
    mentions: list[Mention] = []
    found: list[ExtractedRelation] = []
    for ordinal, (start, end) in enumerate(ranges):
        mentions += [
            Mention(
                name=name,
                entity_type=entity_type,
                sentence=ordinal,
                start=text.index(name, start),
                end=text.index(name, start) + len(name),
                count=text.count(name, start, end),
            )
            for name, entity_type in names.items()
            if name in text[start:end]
        ]
        found += [
            replace(relation, sentence=ordinal)
            for relation in relations
            if relation.head in text[start:end] and relation.tail in text[start:end]
        ]
    return ChunkExtraction(
        sentences=tuple(ranges), mentions=tuple(mentions), relations=tuple(found)
    )
