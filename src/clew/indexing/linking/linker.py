"""Ties names that differ by spelling alone, and short forms to their long ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from clew.indexing.linking.string_similarity import similarity
from clew.spelling import block_of
from clew.text import entity_key
from clew.types import AliasEvidence, Extraction, LinkCandidates

if TYPE_CHECKING:
    from clew.ports import GraphStore
    from clew.settings import LinkSettings

_SPELLED_EXACTLY = frozenset({"code", "date"})
"""Types whose names differ in meaning where they differ in a letter: `header` and `headers`."""


class Linker:
    """Finds those among a document's names that mean one that the store knows.

    It asks the store for the names that are near, and keeps none: what it costs depends on the
    document alone.
    """

    def __init__(self, store: GraphStore, settings: LinkSettings) -> None:
        self._store = store
        self._settings = settings

    def links(self, extraction: Extraction) -> tuple[AliasEvidence, ...]:
        """The document's own aliases, then its new names that are spelled like a known one."""
        stated = [a for a in extraction.aliases if entity_key(a.alias) != entity_key(a.name)]
        if not self._settings.fuzzy:
            return tuple(stated)
        taken = {entity_key(a.alias) for a in stated}
        return (*stated, *self._fuzzy(_names(extraction), taken))

    def late_links(self, names: Mapping[str, str]) -> Iterator[AliasEvidence]:
        """Names that are stored, given with their types, and are spelled like another one.

        For those that came at the same time as the other: `links` ties a name as it comes.
        """
        blocks = {
            key: (block, name)
            for name, entity_type in names.items()
            if entity_type not in _SPELLED_EXACTLY and (block := block_of(key := entity_key(name)))
        }
        if not (self._settings.fuzzy and blocks):
            return
        wanted = list(dict.fromkeys(block for block, _ in blocks.values()))
        found = self._store.link_candidates(list(blocks), wanted)
        for key, (block, name) in blocks.items():
            others = [other for other in found.names.get(block, ()) if other[0] != key]
            near = _nearest(key, others, self._settings.fuzzy_threshold)
            if near and key not in found.ruled:
                yield _link(name, *near)

    def _fuzzy(self, names: Mapping[str, str], taken: Collection[str]) -> Iterator[AliasEvidence]:
        """Each new name against those known, then against the document's new names before it."""
        threshold = self._settings.fuzzy_threshold
        blocks = {key: block for key in names if (block := block_of(key)) and key not in taken}
        if not blocks:
            return
        found = self._store.link_candidates(list(blocks), list(dict.fromkeys(blocks.values())))
        within: dict[str, list[tuple[str, str]]] = {}
        for key, block in _new(blocks, found):
            name = names[key]
            near = _nearest(key, found.names.get(block, ()), threshold)
            near = near or _nearest(key, within.get(block, ()), threshold)
            if near is None:
                within.setdefault(block, []).append((key, name))
                continue
            yield _link(name, *near)


def _link(name: str, score: float, target: str) -> AliasEvidence:
    evidence = f"spelled like {target!r}"
    return AliasEvidence(alias=name, name=target, method="fuzzy", score=score, evidence=evidence)


def _new(blocks: Mapping[str, str], found: LinkCandidates) -> Iterator[tuple[str, str]]:
    """(key, block) of what the store does not know; names ruled by hand are left as they are."""
    for key, block in blocks.items():
        if key not in found.known and key not in found.ruled:
            yield key, block


def _nearest(
    key: str, others: Sequence[tuple[str, str]], threshold: float
) -> tuple[float, str] | None:
    """(score, name) of the most similar key, the first of the alphabet where several are."""
    scored = [(-similarity(key, other, threshold), other, name) for other, name in others]
    score, _, name = min(scored, default=(0.0, "", ""))
    return (-score, name) if score else None


def _names(extraction: Extraction) -> dict[str, str]:
    """First name by key, what the document is about before what it mentions."""
    names: dict[str, str] = {}
    for name, entity_type in extraction.about:
        if entity_type not in _SPELLED_EXACTLY:
            names.setdefault(entity_key(name), name)
    for chunk in extraction.chunks:
        for mention in chunk.mentions:
            if mention.entity_type not in _SPELLED_EXACTLY:
                names.setdefault(entity_key(mention.name), mention.name)
    return names
