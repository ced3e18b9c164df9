"""Pairs of entities that may be one, for somebody to decide: parts of names, companies, joints.

What is sure is linked while indexing (`linker`); what is listed here stays apart until then.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from clew.indexing.linking import similarity
from clew.indexing.ner.entity_types import is_ordinary, is_person_shaped
from clew.text import LEGAL_FORMS, block_of, entity_key, term_words
from clew.types import KnownName, MergeSuggestion

_INITIALLED = re.compile(r"(?P<initial>[^\W\d_])\. ?(?:[^\W\d_]\. ?){0,2}[^\W\d_]{2,40}")
_ACRONYM = re.compile(r"[A-Z]{3,6}")
_UNFIT = frozenset(("code", "date"))
"""Types whose names are one only where they are spelled the same."""
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
        if ids[0] == ids[1] or not _may_be_one(pair, rules):
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


def _may_be_one(pair: _Pair, rules: Mapping[str, str]) -> bool:
    """Whether their types agree, and nobody has decided about both."""
    kinds = {pair.source.entity_type, pair.target.entity_type} - {"name"}
    one, other = entity_key(pair.source.name), entity_key(pair.target.name)
    decided = one in rules and other in rules and rules[one] != rules[other]
    return len(kinds) < 2 and not decided


def _of_persons(names: Sequence[KnownName]) -> Iterator[_Pair]:
    """Initials, surnames and first names: "J. Smith", "Smith" and "John" beside "John Smith"."""
    by_surname: defaultdict[str, list[KnownName]] = defaultdict(list)
    by_first: defaultdict[str, list[KnownName]] = defaultdict(list)
    for known in names:
        is_full = known.entity_type == "person" and is_person_shaped(known.name)
        if is_full and not _INITIALLED.fullmatch(known.name):
            first, *_, last = known.name.split()
            by_surname[last].append(known)
            by_first[first].append(known)
    for known in names:
        if initialled := _INITIALLED.fullmatch(known.name):
            surname = known.name.replace(".", ". ").split()[-1]
            fitting = [p for p in by_surname.get(surname, ()) if p.name[0] == initialled["initial"]]
            yield from _candidates(known, fitting, 0.8, "initial and surname")
        elif known.name.isalpha() and known.name.istitle():
            if not is_ordinary(known.name):
                yield from _candidates(known, by_surname.get(known.name, ()), 0.5, "surname")
            if known.entity_type == "person" or not is_ordinary(known.name):
                yield from _candidates(known, by_first.get(known.name, ()), 0.4, "first name")


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
        base = _without_form(key)
        if base in by_key:
            reason = f"the same name without {known.name.rpartition(' ')[2]}"
            yield _Pair(by_key[base], known, 0.7, reason)


def _without_form(key: str) -> str:
    """The key without the legal form at its end, one with dots too ("dekker b v"); "" without."""
    words = key.split()
    lone = sum(1 for _ in takewhile(lambda word: len(word) == 1, reversed(words)))
    for size in (1, lone):
        if 0 < size < len(words) and "".join(words[-size:]) in LEGAL_FORMS:
            return " ".join(words[:-size])
    return ""


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
