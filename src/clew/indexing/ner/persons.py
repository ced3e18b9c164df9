"""Who is who: which names of persons stand for which, in a document and over a store.

"Orme", "Aunt Annis", "A. Orme" and "Annis O." stand for "Annis Orme" where nobody else is called
so, and "Gill Hocking" for "Gillian Hocking". Somebody called "Kaz" is meant by "Kaz Hocking", too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import TITLES
from clew.text import entity_key
from clew.types import AliasEvidence

if TYPE_CHECKING:
    from clew.stores.store import Store
    from clew.types import Extraction

SHORT_SCORE = 0.8
"""Score of a short name that is tied to the name in full."""
_LEAST = 3
"""Letters of a word that stands for itself, or for a longer one that begins with it."""
_TELLING = frozenset(("person", "place", "organisation", "event"))
"""Types of the names that tell whose world a text is of."""
INITIALS = 3
"""Initials in a document, at least: one or two capitals may be anything."""
TOGETHER = 100
"""Documents of a folder, at most, in which a name means one person."""


def short_form(short: str, name: str) -> AliasEvidence:
    """Return the evidence that ties a short name to the one in full."""
    why = f"short for {name!r}, and for nobody else where it stands"
    return AliasEvidence(alias=short, name=name, method="acronym", score=SHORT_SCORE, evidence=why)


def words_of(name: str) -> list[str]:
    """Return the words of a person's name, folded, without titles.

    >>> words_of("Dr. Annis M. Orme"), words_of("Uncle Kev")
    (['annis', 'm', 'orme'], ['kev'])
    """
    words = entity_key(name).split()
    return [word for word in words if word not in TITLES and any(map(str.isalpha, word))]


def forms_of(name: str) -> list[tuple[str, str]]:
    """Return how longer and shorter forms of a name begin and end, as keys.

    >>> forms_of("Annis"), forms_of("A. Orme")
    ([('annis', '')], [('a', ' orme')])
    """
    first, *more = words_of(name)
    last = more[-1] if more else ""
    if len(last) < 2:
        return [(first, "")]
    if len(first) == 1:
        return [(first, f" {last}")]
    return [(first[:_LEAST], f" {last}"), (f"{first[0]} ", f" {last}"), (f"{first} ", "")]


def stands_for(short: str, full: str) -> bool:
    """Whether a name has nothing but words of another in their order, some of them cut.

    With a title, it stands for the same name without.

    >>> [stands_for(one, "Gillian Mary Hocking") for one in ("Gill", "Gill Hocking", "Mary")]
    [True, True, False]
    """
    one, other = words_of(short), words_of(full)
    if one == other:
        return len(short) > len(full) and bool(one)
    if not one or len(one) > len(other):
        return False
    rest = iter(other)
    fits = [next((w for w in rest if w.startswith(word)), "") for word in one]
    # A word in full says who is meant, or a first name that lacks letters; one that lacks a single
    # one may be another's, as "Paul" of "Paula".
    whole = [w for w, word in zip(fits, one, strict=True) if w == word and len(w) >= _LEAST]
    is_cut = len(one) == 1 and fits[0] == other[0] and len(fits[0]) > len(one[0]) + 1
    if not all(fits) or not (whole or is_cut):
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
        longest = max(fitting, key=lambda name: (len(words_of(name)), -len(name)), default="")
        if all(name == longest or stands_for(name, longest) for name in fitting) and fitting:
            found[short] = longest
    return found


class Persons:
    """The persons that a document names, beside those that the store knows by the same words."""

    def __init__(
        self, store: Store, extraction: Extraction, stated: Sequence[AliasEvidence], source: str
    ) -> None:
        """`stated` is what the document says of names itself, `source` its own."""
        self._store, self._stated, self._source = store, stated, source
        told = {m.name: m.entity_type for chunk in extraction.chunks for m in chunk.mentions}
        self._names = [name for name, kind in told.items() if kind == "person" and words_of(name)]
        self._beside = [entity_key(name) for name, kind in told.items() if kind in _TELLING]
        self._initials = [n for n in told if n.isupper() and n.isalpha() and len(n) in (2, 3)]

    @cached_property
    def _known(self) -> dict[str, tuple[str, int]]:
        """Name and id of an entity by the key of a name, or of its first or last word."""
        words = {word for name in self._names for word in (words_of(name)[0], words_of(name)[-1])}
        return self._store.names_by_key([*words, *map(entity_key, self._names)])

    @cached_property
    def _whose(self) -> dict[str, int]:
        """Whose names of the store are that are longer or shorter."""
        forms = {form for name in self._names for form in forms_of(name)}
        forms |= {form for one in self._stated for form in _forms_with(one)}
        found = dict(self._store.persons_like(sorted(forms)))
        words = (word for name in self._names for word in words_of(name))
        return found | {word: self._known[word][1] for word in words if word in self._known}

    def links(self) -> Iterator[AliasEvidence]:
        """Yield what is stated and holds over the store, and which persons it knows otherwise."""
        if not self._names:
            yield from self._stated
            yield from self._of_initials()
            return
        yield from filter(self._holds, self._stated)
        yield from self._of_names()
        yield from self._of_initials()
        for one in self._stated:
            for begin, end in _forms_with(one):
                for other, id_ in self._whose.items():
                    key = entity_key(other)
                    is_form = key.startswith(begin) and key.endswith(end)
                    if is_form and id_ != self._id_of(one.name) and self._is_here(id_, [key]):
                        yield from self._all_names(other, one.name)

    def _of_names(self) -> Iterator[AliasEvidence]:
        tied = {one.alias for one in self._stated}
        for name in self._names:
            for other in self._alike(name):
                if other not in self._whose or self._whose[other] == self._id_of(name):
                    continue
                if stands_for(name, other) and name not in tied:
                    yield from self._tie(name, other, other)
                elif stands_for(other, name):
                    yield from self._tie(other, name, other)
            if name not in tied and (full := self._called(name)):
                yield from self._all_names(name, full)

    def _of_initials(self) -> Iterator[AliasEvidence]:
        """Yield whose initials stand in the document: in minutes, most capitals are somebody's."""
        if len(self._initials) < INITIALS:
            return
        forms = sorted({(n[0].lower(), "", f" {n[-1].lower()}") for n in self._initials})
        whose: dict[str, dict[int | str, str]] = {}
        for name, id_ in (
            *self._store.persons_like(forms),
            *((n, self._id_of(n)) for n in self._names),
        ):
            whose.setdefault("".join(word[0] for word in words_of(name)).upper(), {})[id_] = name
        found = {
            short: name
            for short in self._initials
            if len(meant := whose.get(short, {})) == 1
            for id_, name in meant.items()
            if isinstance(id_, str) or self._store.stands_with(id_, [], self._folder)
        }
        if INITIALS <= len(found) > len(self._initials) / 2:
            for short, name in found.items():
                yield replace(short_form(short, name), evidence=f"initials of {name!r}")

    @cached_property
    def _by_letters(self) -> dict[str, list[str]]:
        """Names of the store and the document by the first letters of each word."""
        found: dict[str, list[str]] = {}
        for name in dict.fromkeys((*self._whose, *self._names)):
            for word in words_of(name):
                found.setdefault(word[:_LEAST], []).append(name)
        return found

    def _alike(self, name: str) -> list[str]:
        """Names that may stand for it, or it for them: one word begins like one of its own."""
        near = (self._by_letters.get(word[:_LEAST], ()) for word in words_of(name))
        return list(dict.fromkeys(chain.from_iterable(near)))

    def _id_of(self, name: str) -> int | str:
        return self._known.get(entity_key(name), ("", name))[1]

    def _holds(self, one: AliasEvidence) -> bool:
        """Whether a short form of the document is not somebody else's whom the store knows."""
        held = self._known.get(entity_key(one.alias))
        return (
            held is None
            or one.method != "acronym"
            or one.alias not in self._names
            or held == self._known.get(entity_key(one.name))
            or self._store.stands_with(held[1], self._beside, self._folder)
        )

    def _called(self, name: str) -> str:
        """Return whom the store, or the document, calls by the first word of a name; else ""."""
        first, *more = words_of(name)
        here = (one.name for one in self._stated if entity_key(one.alias) == first)
        stated = next((other for other in here if words_of(other)[:1] != [first]), "")
        full, id_ = self._known.get(first, ("", -1))
        given, *rest = words_of(stated or full) or [first]
        if given == first or not more or not rest or not rest[-1].startswith(more[-1]):
            return ""
        is_own = id_ == self._id_of(name)
        return stated or (full if not is_own and self._is_here(id_, [first, *more]) else "")

    def _tie(self, short: str, full: str, stored: str) -> Iterator[AliasEvidence]:
        """Tie both where nobody else may be meant; `stored` is the one that is known."""
        fitting = (name for name in self._alike(short) if stands_for(short, name))
        meant = {self._id_of(n) if n in self._names else self._whose[n] for n in fitting}
        taken = [*words_of(short), *words_of(full), entity_key(short), entity_key(full)]
        if len(meant) == 1 and self._is_here(self._whose[stored], taken):
            yield from self._all_names(short, full)

    def _is_here(self, entity_id: int, taken: Sequence[str]) -> bool:
        """Whether an entity stands beside others of the document (not `taken`), or in its folder.

        Whom the store knows by a word of a name may be somebody else.
        """
        others = [key for key in self._beside if key not in taken]
        return self._store.stands_with(entity_id, others, self._folder)

    def _all_names(self, short: str, full: str) -> Iterator[AliasEvidence]:
        """Tie a name to the one in full, with all that the store knows the same person by.

        Where that has a name in full that cannot be this person's, the name alone.
        """
        held = self._whose.get(short, self._known.get(entity_key(short), ("", None))[1])
        names = [one.name for one in self._store.aliases(entity_id=held)] if held else []
        others = [name for name in names if len(words_of(name)) > 1 and "@" not in name]
        if not all(name == short or stands_for(name, full) for name in others):
            names = []
        for name in dict.fromkeys((short, *names)):
            yield short_form(name, full)

    @cached_property
    def _folder(self) -> str:
        """The largest folder around the document of at most `TOGETHER` documents, else its own."""
        _, *parts = self._source.split("/")
        own = self._source.removesuffix(parts[-1]) if parts else ""
        for around in accumulate(self._source.split("/")[:-1], lambda a, b: f"{a}/{b}"):
            if around and self._store.count_under(f"{around}/", TOGETHER + 1) <= TOGETHER:
                return f"{around}/"
        return own


def _forms_with(alias: AliasEvidence) -> list[tuple[str, str]]:
    """Return how a name begins and ends that has another first name of somebody, and the last."""
    words, full = words_of(alias.alias), words_of(alias.name)
    return [(f"{words[0]} ", f" {full[-1]}")] if len(words) == 1 < len(full) else []
