"""Which short forms of persons' names stand for which names in full.

"Orme", "Annis", "A. Orme" and "Annis O." stand for "Annis Orme" where nobody else is called so,
and "Gill Hocking" for "Gillian Hocking".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clew.indexing.ner.entity_types import TITLES
from clew.text import entity_key
from clew.types import AliasEvidence

SHORT_SCORE = 0.8
"""Score of a short name that is tied to the name in full."""
_LEAST = 3
"""Letters of a word that stands for itself, or for a longer one that begins with it."""


def short_form(short: str, name: str) -> AliasEvidence:
    """Return the evidence that ties a short name to the one in full."""
    why = f"short for {name!r}, and for nobody else where it stands"
    return AliasEvidence(alias=short, name=name, method="acronym", score=SHORT_SCORE, evidence=why)


def words_of(name: str) -> list[str]:
    """Return the words of a person's name, folded, without titles.

    >>> words_of("Dr. Annis M. Orme")
    ['annis', 'm', 'orme']
    """
    return [word for word in entity_key(name).split() if word not in TITLES]


def forms_of(name: str) -> list[tuple[str, str]]:
    """Return how longer and shorter forms of a name begin and end, as keys.

    >>> forms_of("Annis"), forms_of("A. Orme")
    ([('annis ', '')], [('a', ' orme')])
    """
    first, *more = words_of(name)
    last = more[-1] if more else ""
    if len(last) < 2:
        return [(f"{first} ", "")]
    if len(first) == 1:
        return [(first, f" {last}")]
    return [(first[:_LEAST], f" {last}"), (f"{first[0]} ", f" {last}"), (f"{first} ", "")]


def stands_for(short: str, full: str) -> bool:
    """Whether a name has nothing but words of another in their order, some of them cut.

    >>> [stands_for(one, "Gillian Mary Hocking") for one in ("Gillian", "Gill Hocking", "Mary")]
    [True, True, False]
    """
    one, other = words_of(short), words_of(full)
    if not one or one == other or len(one) > len(other):
        return False
    rest = iter(other)
    fits = [next((w for w in rest if w.startswith(word)), "") for word in one]
    # A word in full says who is meant; the first is the first name, or alone the surname.
    whole = [w for w, word in zip(fits, one, strict=True) if w == word and len(w) >= _LEAST]
    if not all(fits) or not whole:
        return False
    if other[0] != fits[0] and (len(one) > 1 or other[-1] != fits[0]):
        return False
    cut = [word for w, word in zip(fits, one, strict=True) if w != word and len(word) > 1]
    return all(len(word) >= _LEAST for word in cut)


def full_names(shorts: Iterable[str], persons: Iterable[str]) -> Mapping[str, str]:
    """Return for short names the one person of those given whom each may stand for.

    Of names that stand for each other, the longest is the person's.

    >>> full_names(["Annis", "Orme"], ["Annis Orme", "Annis Pike"])
    {'Orme': 'Annis Orme'}
    """
    known = [name for name in dict.fromkeys(persons) if len(words_of(name)) > 1]
    found = {}
    for short in dict.fromkeys(shorts):
        fitting = [name for name in known if stands_for(short, name)]
        longest = max(fitting, key=lambda name: (len(words_of(name)), len(name)), default="")
        if all(name == longest or stands_for(name, longest) for name in fitting) and fitting:
            found[short] = longest
    return found
