"""What is left of an extraction without the names that were pruned from the store."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from clew.text import entity_key

if TYPE_CHECKING:
    from clew.types import ChunkExtraction, Extraction


def without_names(extraction: Extraction, keys: Collection[str]) -> Extraction:
    """The extraction without mentions, relations and aliases of names with these keys.

    What the document is about stays.
    """
    if not keys:
        return extraction
    pruned = set(keys) - {entity_key(name) for name, _ in extraction.about}
    return replace(
        extraction,
        chunks=tuple(_without(chunk, pruned) for chunk in extraction.chunks),
        aliases=tuple(
            one
            for one in extraction.aliases
            if pruned.isdisjoint((entity_key(one.alias), entity_key(one.name)))
        ),
    )


def _without(chunk: ChunkExtraction, pruned: set[str]) -> ChunkExtraction:
    return replace(
        chunk,
        mentions=tuple(one for one in chunk.mentions if entity_key(one.name) not in pruned),
        relations=tuple(
            one
            for one in chunk.relations
            if pruned.isdisjoint((entity_key(one.head), entity_key(one.tail)))
        ),
    )
