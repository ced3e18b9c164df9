"""Ties names that differ by spelling alone, and short forms to their long ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from clew.indexing.linking.string_similarity import block_of, similarity
from clew.settings import LinkSettings
from clew.text import entity_key
from clew.types import Alias, AliasEvidence, Extraction

_SPELLED_EXACTLY = frozenset({"code", "date"})
"""Types whose names differ in meaning where they differ in a letter: `header` and `headers`."""
_JOINTS = frozenset("._:/$")


def _is_identifier(name: str) -> bool:
    """Whether a name is one word with joints within it: `Client.get`, and no "J. Smith"."""
    return " " not in name and not _JOINTS.isdisjoint(name[1:-1])


class Linker:
    """Knows the names of a store and finds those among a document's that mean one of them.

    It depends on the aliases that it was told and not on when: a linker built anew from a store's
    aliases finds the same links as one that learned them one by one.
    """

    def __init__(
        self, aliases: Iterable[Alias], rules: Mapping[str, str], settings: LinkSettings
    ) -> None:
        """`rules` are ties made by hand, key to key; the names in them are left as they are."""
        self._ruled = frozenset(rules) | frozenset(rules.values())
        self._settings = settings
        self._known: set[str] = set()
        self._anchors = _Anchors()
        self.add(aliases)

    def add(self, aliases: Iterable[Alias]) -> None:
        """Learn what documents saved by this or another process brought."""
        for alias in aliases:
            self._known.add(alias.key)
            # What was itself tied by likeness is no anchor, or chains would drift apart.
            if alias.method != "fuzzy" and not _is_identifier(alias.name):
                self._anchors.add(alias.key, alias.name)

    def links(self, extraction: Extraction) -> tuple[AliasEvidence, ...]:
        """The document's own aliases, then its new names that are spelled like a known one."""
        stated = [a for a in extraction.aliases if entity_key(a.alias) != entity_key(a.name)]
        if not self._settings.fuzzy:
            return tuple(stated)
        taken = {entity_key(a.alias) for a in stated} | self._ruled
        return (*stated, *self._fuzzy(extraction, taken))

    def _fuzzy(self, extraction: Extraction, taken: Collection[str]) -> Iterator[AliasEvidence]:
        """Each new name against those known, then against the document's new names before it."""
        threshold = self._settings.fuzzy_threshold
        within = _Anchors()
        for key, name in _names(extraction).items():
            if key in self._known or key in taken:
                continue
            found = self._anchors.nearest(key, threshold) or within.nearest(key, threshold)
            if found is None:
                within.add(key, name)
                continue
            score, target = found
            yield AliasEvidence(
                alias=name,
                name=target,
                method="fuzzy",
                score=score,
                evidence=f"spelled like {target!r}",
            )


class _Anchors:
    """Names that others may be spelled like, by block."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._blocks: dict[str, list[str]] = {}

    def add(self, key: str, name: str) -> None:
        """Learn a name; the first one of a key stays."""
        block = None if key in self._names else block_of(key)
        if block is not None:
            self._names[key] = name
            self._blocks.setdefault(block, []).append(key)

    def nearest(self, key: str, threshold: float) -> tuple[float, str] | None:
        """(score, name) of the most similar key, the first of the alphabet where several are."""
        block = block_of(key)
        if block is None:
            return None
        others = self._blocks.get(block, ())
        scored = [(-similarity(key, other, threshold), other) for other in others]
        score, other = min(scored, default=(0.0, ""))
        return (-score, self._names[other]) if score else None


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
