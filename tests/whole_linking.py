"""Linking as it was before names were looked up: by reading all of a store's. Slow, and right."""

from __future__ import annotations

from collections.abc import Iterator

from clew.indexing.linking import _is_term, similarity
from clew.indexing.ner.known_terms import KnownTerms, stands_apart
from clew.stores.store import Store
from clew.text import entity_key, in_full, is_identifier, may_vary, skeleton, term_words
from clew.types import ChunkExtraction, Extraction

_EXACT = frozenset({"code", "date"})


def whole_links(store: Store, extraction: Extraction, threshold: float) -> list[tuple[str, str]]:
    """(alias, name) of the names of a document that are spelled like another."""
    aliases, rules = store.aliases(), store.link_rules()
    known = {alias.key for alias in aliases}
    ruled = {*rules, *rules.values(), *(entity_key(a.alias) for a in extraction.aliases)}
    anchors = {a.key: a.name for a in aliases if a.method != "fuzzy" and not is_identifier(a.name)}
    within: dict[str, str] = {}
    links = []
    for key, name in _names(extraction):
        if key in known or key in ruled or _block(key) is None:
            continue
        target = _nearest(key, anchors, threshold) or _nearest(key, within, threshold)
        if target is None:
            within.setdefault(key, name)
        else:
            links.append((name, target))
    return links


def whole_terms(store: Store, text: str, found: ChunkExtraction) -> Iterator[tuple[int, int, str]]:
    """(start, end, name) of the store's terms in a text of prose, where no name stands."""
    names: dict[tuple[str, ...], str] = {}
    for known in store.known_names():
        if _is_term(known):
            names.setdefault(term_words(known.name), known.name)
    openings = {words[:n] for words in names for n in range(1, len(words) + 1)}
    taken = {i for mention in found.mentions for i in range(mention.start, mention.end)}
    for start, end in found.sentences:
        for left, right, name in KnownTerms(names, openings).find(text, start, end):
            if taken.isdisjoint(range(left, right)) and stands_apart(text, left, right):
                yield left, right, name


def _names(extraction: Extraction) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    mentions = (mention for chunk in extraction.chunks for mention in chunk.mentions)
    for name, kind in [*extraction.about, *((m.name, m.entity_type) for m in mentions)]:
        key = entity_key(name)
        if kind not in _EXACT and key not in seen:
            seen.add(key)
            yield key, name


def _nearest(key: str, names: dict[str, str], threshold: float) -> str | None:
    near = [
        (-score, other)
        for other in names
        if _block(other) == _block(key) and (score := similarity(key, other, threshold))
    ]
    return names[min(near)[1]] if near else None


def _block(key: str) -> str | None:
    """Of each Latin word the first two sounds, else its first three letters."""
    words = in_full(key)
    if sum(map(len, words)) < 6 or not any(map(may_vary, words)):
        return None
    return " ".join(
        (skeleton(w)[:2] if w[0] <= "z" else w[:3]) if may_vary(w) else w for w in words
    )
