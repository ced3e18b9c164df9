"""Topics: names and key phrases that several documents are on, and the themes that they form.

A passage is on the few candidates that weigh most in it: tf · idf, times log2(1 + words) and, for
phrases, what C-value leaves them. A candidate is a topic where two documents are on it, or three
passages of one.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.partition import WeightedGraph, in_order, leiden, sums
from clew.graph.snapshot import ABOUT_WEIGHT, Adjacency, distinct, find_sorted
from clew.languages import english_words, language_words, read_word_lists, word_list
from clew.ports import TopicSet
from clew.text import STOP_WORDS, entity_key, fold, terms
from clew.types import TERM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.ports import VectorIndex
    from clew.stores.store import Store
    from clew.types import Ids, Vector, Vectors

    Values = NDArray[np.float64]
    Marks = NDArray[np.bool_]


# --- names and groups --------------------------------------------------------------------

_SYMBOLS = re.compile(r"[{}();=<>_/*#|\\\[\]]")
_MOST_SYMBOLS = 0.06
"""Share of a text's characters from which on it is code or a table rather than prose."""
_TITLE_NAMES = 3
_NO_TITLE = re.compile(
    r"[\W\d_]*\Z|\S+@\S+\Z|__\w+__\Z|.*[:?]\Z|.{60}|(?:\S+\s+){6}|(?:re|fwd?|aw|tr|rv|i):\s"
    r"|\S+\.(?:rst|txt|md|x?html?|log|eml|mbox|docx?|pdf|epub)(?:\.\w{2,4})?\Z",
    re.DOTALL | re.IGNORECASE,
)
"""Numbers, marks, addresses, methods that every class has, labels, questions, whole sentences,
replies, and files of text, whose names say less than what they are about."""


def is_symbolic(text: str) -> bool:
    """Whether a text is code, or a table, rather than prose in any language."""
    return len(_SYMBOLS.findall(text)) > _MOST_SYMBOLS * len(text)


def title_of(names: Sequence[str]) -> str:
    """What to call those that are named so, the most central first.

    No name that says again what another one does: of "Debian" and "Debian Project", of "package"
    and "packages", the first one is taken.
    """
    chosen: list[str] = []
    for name in names:
        if len(chosen) == _TITLE_NAMES:
            break
        key = set(terms(name))
        said = [set(terms(other)) for other in chosen]
        if is_telling(name) and not any(key <= s or s <= key for s in said):
            chosen.append(" ".join(name.split()))
    return listed(chosen or names[:1])


def is_telling(name: str) -> bool:
    """Whether a name tells a reader what is named: no mark, no file, no ordinary word ("file")."""
    word = name.casefold()
    ordinary = {word, word.removesuffix("s")} & (english_words() | FILLERS | STOP_WORDS)
    return not ordinary and _NO_TITLE.match(name) is None


def mean_direction(vectors: Vectors) -> Vector:
    """(dim,) unit length; of vectors that cancel out, the first."""
    total = vectors.sum(axis=0, dtype=np.float64)
    length = np.linalg.norm(total)
    return (total / length).astype(np.float32) if length > 1e-6 else vectors[0]


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them: `A`, `A and B`, `A, B and C`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def best_of_groups(groups: Ints, values: Values | Floats, size: int, limit: int) -> Adjacency:
    """By group: the places of its highest values, highest first; equal ones in order of place."""
    order = np.lexsort((-values, groups))
    starts = np.searchsorted(groups[order], np.arange(size + 1))
    rank = np.arange(len(order)) - starts[groups[order]]
    kept = order[rank < limit]
    return Adjacency.from_pairs(groups[kept], kept, size)


# --- themes ------------------------------------------------------------------------------

# Leiden's communities of topics that share stretches of documents.


_STRETCH = 10
"""Passages of a document that count as one when it is asked which topics go together."""
_PER_STRETCH = 20
"""Topics of a stretch that are connected to each other."""


def find_themes(on: Adjacency, snapshot: Snapshot) -> tuple[Ints, Values]:
    """(T,) the theme of each topic, from 0 on, and how central it is there.

    `on` gives the passages by topic.

    Topics are connected by the stretches that they share, over the root of the product of those
    that each has (Salton's cosine).
    """
    topics = len(on.starts) - 1
    topic = np.repeat(np.arange(topics), np.diff(on.starts))
    # (C,) a number for the stretch of its document that each passage stands in.
    documents = snapshot.columns.documents
    begins = np.append(True, documents[1:] != documents[:-1])[: len(documents)]
    ordinal = np.arange(len(documents)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    stretch = (np.cumsum(ordinal % _STRETCH == 0) - 1)[on.items]
    codes, counts = np.unique(stretch * max(topics, 1) + topic, return_counts=True)
    where, which = np.divmod(codes, max(topics, 1))
    spread = np.bincount(which, minlength=topics)
    kept = best_of_groups(
        where, counts.astype(np.float64), int(where.max(initial=-1)) + 1, _PER_STRETCH
    )
    # All ordered pairs of different items of one row.
    counts = np.diff(kept.starts)
    owner = np.repeat(np.arange(len(counts)), counts)
    entries, place = kept.entries(owner)
    first, second = kept.items[place], kept.items[entries]
    apart = first != second
    first, second = first[apart], second[apart]
    heads, tails = which[first], which[second]
    weights = 1 / np.sqrt(spread[heads] * spread[tails])
    graph = WeightedGraph.from_pairs(heads, tails, weights, topics)
    themes = in_order(_join_others(leiden(graph), where, which, kept))
    inside = themes[graph.heads()] == themes[graph.rows.items]
    return themes, sums(graph.heads()[inside], graph.weights[inside], topics)


def _join_others(themes: Ints, where: Ints, which: Ints, kept: Adjacency) -> Ints:
    """Topics alone in their theme join the one that most of their stretches are on.

    `where` and `which` pair stretches with topics; `kept` has the pairs that count, by stretch.
    """
    alone = np.bincount(themes)[themes] == 1
    left = np.flatnonzero(alone[which])
    entries, owner = kept.entries(where[left])
    theme = themes[which[kept.items[entries]]]
    count = int(themes.max(initial=0)) + 1
    joins = ~alone[which[kept.items[entries]]]
    codes, shared = np.unique((which[left[owner]] * count + theme)[joins], return_counts=True)
    order = np.argsort(shared, kind="stable")
    topic, best = np.divmod(codes[order], count)
    joined = themes.copy()
    joined[topic] = best  # the last of each topic, which it shares most with, stays
    return joined


# --- topics ------------------------------------------------------------------------------


MAX_TOPICS = 4000
"""Topics of a store; those that weigh most in all passages together."""
PER_PASSAGE = 5
"""Topics that a passage is on, at most."""
_DOCUMENTS = 2
"""Documents that make a topic."""
_PASSAGES = 3
"""Passages of one document that make a topic."""
_COMMON_SHARE = 0.2
"""Share of the passages beyond which a name or phrase says nothing of any of them."""
_COMMON = 10
"""Passages up to which that is not asked."""
_ABOUT = 2
"""Occurrences that it counts for to be what the passage's document is about."""


def make_topics(store: Store, vectors: VectorIndex, snapshot: Snapshot) -> TopicSet:
    """The topics of all passages, those of most documents first."""
    names, *held = _names(store, snapshot)
    phrases, *others = _phrases(store, snapshot, names)
    numbers, passages, weights = (np.concatenate(pair) for pair in zip(held, others, strict=True))
    size = len(names) + len(phrases.lengths)
    numbers, passages = _assign(numbers, passages, weights, size, snapshot, store.chunk_ids())
    documents = _document_counts(numbers, passages, snapshot, size)
    counts = np.bincount(numbers, minlength=size)
    order = np.lexsort((-counts, -documents))
    chosen = order[counts[order] > 0]
    place = np.zeros(size, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    on = Adjacency.from_unsorted(place[numbers], passages, len(chosen))
    keys, shown = list[str](), list[str]()
    for number in chosen.tolist():
        if number < len(names):
            keys.append(f"name: {entity_key(names[number])}")
            shown.append(names[number])
        else:
            keys.append(f"phrase: {phrases.key(number - len(names))}")
            shown.append(phrases.name(number - len(names)))
    of_topic = [snapshot.chunk_ids[on.row(topic)] for topic in range(len(chosen))]
    own = [mean_direction(vectors.vectors(ids)) for ids in of_topic]
    directions = np.array(own, dtype=np.float32)
    themes, central = find_themes(on, snapshot)
    # What a theme is about names it, before who is.
    persons = store.entity_names(store.entities_of_type("person").tolist()).values()
    order = np.lexsort((-central, np.isin(shown, list(persons))))
    groups = [order[themes[order] == theme] for theme in distinct(themes)]
    topic = np.repeat(np.arange(len(chosen)), np.diff(on.starts))
    return TopicSet(
        keys=tuple(keys),
        names=tuple(shown),
        vectors=directions,
        themes=themes,
        documents=documents[chosen],
        chunks=np.column_stack([topic, snapshot.chunk_ids[on.items]]),
        theme_titles=tuple(title_of([shown[place] for place in group]) for group in groups),
        theme_vectors=np.array(
            [mean_direction(directions[group]) for group in groups], dtype=np.float32
        ),
    )


def _names(store: Store, snapshot: Snapshot) -> tuple[list[str], Ints, Ints, Values]:
    """Names of entities that the texts of several passages have; where each is, and what it weighs.

    Of each name in each passage that holds it: its number, the row of the passage, and frequency ·
    length. Titles alone make no topics, nor do dates and single ordinary words.
    """
    entity = snapshot.passage_entities.items
    said = snapshot.passage_strengths % ABOUT_WEIGHT > 0
    frequent = np.bincount(entity[said], minlength=len(snapshot.entity_ids)) >= _DOCUMENTS
    for kind in ("date", TERM):
        frequent &= ~np.isin(snapshot.entity_ids, store.entities_of_type(kind))
    known = store.entity_names(snapshot.entity_ids[frequent].tolist())
    known = {id_: " ".join(name.split()) for id_, name in known.items() if is_telling(name)}
    frequent &= np.isin(snapshot.entity_ids, list(known))
    names = [known[id_] for id_ in snapshot.entity_ids[frequent].tolist()]
    passage = np.repeat(np.arange(snapshot.size), np.diff(snapshot.passage_entities.starts))
    kept = frequent[entity]
    number = (np.cumsum(frequent) - 1)[entity[kept]]
    lengths = np.array([len(name.split()) for name in names], dtype=np.int64)
    often = np.minimum(snapshot.passage_strengths[kept], 1 + _ABOUT)
    return names, number, passage[kept], often * np.log2(1 + lengths[number])


def _phrases(
    store: Store, snapshot: Snapshot, names: Sequence[str]
) -> tuple[Phrases, Ints, Ints, Values]:
    """Phrases that are no such name; where each is, and what it weighs.

    Of each phrase in each passage that holds it: its number behind the names, the row of the
    passage, and frequency · length · independence.
    """
    rows: list[int] = []
    languages: list[str] = []

    def texts() -> Iterator[str]:
        places = {chunk_id: row for row, chunk_id in enumerate(snapshot.chunk_ids.tolist())}
        for passage in store.passages():
            if passage.chunk_id in places and not is_symbolic(passage.text):
                rows.append(places[passage.chunk_id])
                languages.append(passage.language)
                yield passage.text

    phrases = Phrases(texts(), _DOCUMENTS)
    held = phrases.occurrences
    first = np.searchsorted(held[:, 0], np.arange(len(phrases.lengths)))
    is_english = np.array([language_words(language) is None for language in languages], dtype=bool)
    usable = phrases.is_varied() & phrases.is_together() & phrases.is_nominal(is_english)
    named = {" ".join(terms(name)) for name in names}
    for phrase, place in enumerate(held[first, 1].tolist()):
        usable[phrase] &= names_something(phrases.words(phrase), languages[place])
        usable[phrase] &= phrases.key(phrase).replace("-", " ") not in named
    phrase, passage, count = held[usable[held[:, 0]]].T
    often = np.minimum(count, 1 + _ABOUT) * np.log2(1 + phrases.lengths[phrase])
    row = np.array(rows, dtype=np.int64)[passage]
    return phrases, len(names) + phrase, row, often * phrases.independence[phrase]


def _assign(
    numbers: Ints, passages: Ints, weights: Values, size: int, snapshot: Snapshot, present: Ids
) -> tuple[Ints, Ints]:
    """(topic, passage) pairs: the best few of each passage, of those that are on enough."""
    frequency = np.bincount(numbers, minlength=size)
    weights = weights * np.log1p(snapshot.size / np.maximum(frequency, 1))[numbers]
    common = frequency > max(_COMMON, _COMMON_SHARE * snapshot.size)
    there = find_sorted(present, snapshot.chunk_ids)[1]
    usable = (weights > 0) & ~common[numbers] & there[passages]
    while True:
        left = np.flatnonzero(usable)
        best = left[best_of_groups(passages[left], weights[left], snapshot.size, PER_PASSAGE).items]
        documents = _document_counts(numbers[best], passages[best], snapshot, size)
        held = np.bincount(numbers[best], minlength=size)
        enough = (documents >= _DOCUMENTS) | (held >= _PASSAGES)
        if enough[numbers[best]].all():
            break
        usable &= enough[numbers]
    total = sums(numbers[best], weights[best], size)
    heaviest = np.zeros(size, dtype=bool)
    heaviest[np.argsort(-total, kind="stable")[:MAX_TOPICS]] = True
    best = best[heaviest[numbers[best]]]
    return numbers[best], passages[best]


def _document_counts(numbers: Ints, passages: Ints, snapshot: Snapshot, size: int) -> Ints:
    """(size,) documents whose passages are on each topic."""
    known = distinct(snapshot.columns.documents)
    document = np.searchsorted(known, snapshot.columns.documents)[passages]
    pairs = distinct(numbers * max(len(known), 1) + document)
    return np.bincount(pairs // max(len(known), 1), minlength=size)


# Key phrases of passages: word sequences that come back, found without a language model.
#
# Candidates are the sequences of 2 to 4 words without a stop word or a mark between them (RAKE,
# Rose et al. 2010). Those of several passages are kept, longer ones grown from shorter ones
# (Apriori, Agrawal & Srikant 1994). What stands mostly inside longer phrases is worth less: C-value
# (Frantzi, Ananiadou & Mima 2000).

# Whether texts use a word as a noun or as a verb, by the words beside it; no lists of either.
#
# "the list", "of lists" speak for a noun; "to install", "installs the" for a verb (the classes
# of a word by its neighbours: Schütze 1995). English texts alone are read so.

_LISTS = read_word_lists("clew.graph", "phrases.toml")
_BEFORE_NOUNS = word_list(_LISTS["determiners"]) | word_list(_LISTS["prepositions"])
_BEFORE_VERBS = word_list(_LISTS["before_verbs"])
_AFTER_VERBS = word_list(_LISTS["determiners"]) | word_list(_LISTS["objects"])
_LEAST = 2
"""Places of a verb that are needed to call a word one."""
_LEAST_SHARE = 0.05
"""Share of a word's places, likewise: what stands beside most others tells nothing."""
_FIRST = 2
"""How many times as often as a noun a word is a verb that opens no phrase; its own places may say
otherwise ("the access control")."""
_LAST = 8
"""Likewise, that ends none: nouns seldom follow an article where they have adjectives."""


# --- phrases -----------------------------------------------------------------------------


LONGEST = 4
"""Words of a phrase, at most."""

_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]|\n(?=\s|[A-Z][\w-]{1,30}:)")
"""Words, marks, and the ends of lines before an empty or indented one, or a header's name."""
_PARTICIPLE = re.compile(r"\w{4}ed$", re.IGNORECASE)
_BREAK = -1
_LEAST_TOGETHER = 0.2
"""Normalised pointwise mutual information of neighbours, from -1 to 1, that a phrase needs."""
_WORDINGS = 50
"""Occurrences that decide how a phrase is worded."""
FILLERS = word_list(_LISTS["fillers"]) | word_list(_LISTS["code_words"])
"""Words that begin, end or fill sentences of every subject: they name none."""
_EMPTY = STOP_WORDS | FILLERS


class Phrases:
    """Phrases that several of the texts hold, shorter ones first; numbers are positions."""

    def __init__(self, texts: Iterable[str], at_least: int = 2) -> None:
        self._read(texts)
        levels = [self._stems]
        for length in range(2, LONGEST + 1):
            levels.append(self._longer(levels[-1], length, at_least))
        levels = levels[1:]
        sizes = [int(level.max(initial=-1)) + 1 for level in levels]
        self.lengths = np.repeat(np.arange(2, LONGEST + 1), sizes)
        """(P,) words."""
        firsts = np.cumsum([0, *sizes[:-1]])
        numbered = [np.where(n >= 0, n + f, _BREAK) for n, f in zip(levels, firsts, strict=True)]
        phrase = np.concatenate([level[level >= 0] for level in numbered])
        at = np.concatenate([np.flatnonzero(level >= 0) for level in numbered])
        order = np.lexsort((at, phrase))
        self._starts = Adjacency.from_pairs(phrase[order], at[order], len(self.lengths))
        """By phrase: where it begins."""
        self._phrase = phrase[order]
        width = int(self._passages.max(initial=0)) + 1
        held, counts = np.unique(phrase * width + self._passages[at], return_counts=True)
        self.occurrences = np.column_stack([*np.divmod(held, width), counts])
        """(n, 3): phrase, place of the passage, how often; sorted."""
        self.independence = self._independence(numbered)
        """(P,) 0 to 1: the share of its occurrences that C-value leaves a phrase."""

    def _read(self, texts: Iterable[str]) -> None:
        """The words of all texts in a row, a break after each and where a phrase cannot go on."""
        stem_numbers: dict[str, int] = {}
        word_numbers: dict[str, int] = {}
        stem_of: dict[str, int] = {}
        stems, words, passages = array("q"), array("q"), array("q")
        for place, text in enumerate(texts):
            before = len(words)
            for word in _TOKEN.findall(text):
                number = stem_of.get(word)
                if number is None:
                    stem = _stem(word)
                    number = stem_numbers.setdefault(stem, len(stem_numbers)) if stem else _BREAK
                    stem_of[word] = number
                stems.append(number)
                words.append(word_numbers.setdefault(word, len(word_numbers)))
            stems.append(_BREAK)
            words.append(_BREAK)
            passages.extend([place] * (len(words) - before))
        self._stem_texts, self._word_texts = list(stem_numbers), list(word_numbers)
        self._stems, self._words = np.array(stems, np.int64), np.array(words, np.int64)
        """(N,) numbers of the stems, and of the words as they are written; -1 for a break."""
        self._passages = np.array(passages, np.int64)
        """(N,) place of the text."""

    def _longer(self, shorter: Ints, length: int, at_least: int) -> Ints:
        """(N,) the phrase of one word more than `shorter` that begins at each place; -1 for none.

        Enough passages hold it. None ends with a participle: "film directed" is half of one.
        """
        last = length - 1
        ending = [not _PARTICIPLE.search(word) for word in self._word_texts]
        ends = np.array([*ending, False])[self._words] & (self._stems >= 0)
        starts = np.flatnonzero((shorter >= 0) & np.append(ends, [False] * last)[last:])
        codes = shorter[starts] * max(len(self._stem_texts), 1) + self._stems[starts + last]
        phrases, phrase = np.unique(codes, return_inverse=True)
        width = int(self._passages.max(initial=0)) + 1
        holders = distinct(phrase * width + self._passages[starts]) // width
        frequent = np.bincount(holders, minlength=len(phrases)) >= at_least
        numbers = np.full(len(shorter), _BREAK)
        numbers[starts] = np.where(frequent, np.cumsum(frequent) - 1, _BREAK)[phrase]
        return numbers

    def _independence(self, levels: Sequence[Ints]) -> NDArray[np.float64]:
        """1 - t / (c · f): f occurrences, t of them within c longer phrases."""
        frequency = np.diff(self._starts.starts)
        size = max(len(frequency), 1)
        pairs = [
            (level[at + step], longer[at])
            for level, longer in pairwise(levels)
            for at in [np.flatnonzero(longer >= 0)]
            for step in (0, 1)
        ]
        inner, outer = (np.concatenate(column) for column in zip(*pairs, strict=True))
        nested = np.bincount(inner, minlength=len(frequency))
        kinds = np.bincount(distinct(inner * size + outer) // size, minlength=len(frequency))
        return np.clip(1 - nested / np.maximum(kinds * frequency, 1), 0, 1)

    # --- how phrases are worded

    def _numbers(self, phrase: int, of: Ints) -> list[int]:
        """The words of a phrase where it stands first, as `of` numbers words."""
        first = int(self._starts.row(phrase)[0])
        return of[first : first + int(self.lengths[phrase])].tolist()

    def key(self, phrase: int) -> str:
        """Its stems, joined by spaces."""
        numbers = self._numbers(phrase, self._stems)
        return " ".join(self._stem_texts[number] for number in numbers)

    def words(self, phrase: int) -> list[str]:
        """As it is worded first."""
        return [self._word_texts[number] for number in self._numbers(phrase, self._words)]

    def name(self, phrase: int) -> str:
        """As it is most often worded; the first of equals."""
        length = int(self.lengths[phrase])
        wordings = Counter(
            tuple(self._words[start : start + length].tolist())
            for start in self._starts.row(phrase)[:_WORDINGS].tolist()
        )
        (best, _), *_ = wordings.most_common(1)
        return " ".join(self._word_texts[number] for number in best)

    # --- whether they are any

    def is_varied(self) -> Marks:
        """(P,) whether it is no part of something longer, which goes on with one word.

        Nor of a text that was copied, which has the same words on both sides (accessor variety,
        Feng et al. 2004).
        """
        size, kinds = len(self.lengths), len(self._word_texts) + 1
        phrase, at = self._phrase, self._starts.items
        # Each place has one before it; the end of a text has the last number.
        bounded = np.concatenate([[_BREAK], self._words])
        stem = np.concatenate([[_BREAK], self._stems])
        is_mark = np.array([*(not word[0].isalnum() for word in self._word_texts), True])
        fixed, held = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool)
        for place in (at, at + self.lengths[phrase] + 1):
            pairs = distinct(phrase * kinds + bounded[place] + 1)
            alone = np.bincount(pairs // kinds, minlength=size) == 1
            alone &= np.bincount(phrase, is_mark[bounded[place]], size) == 0
            fixed += alone
            held |= alone & (np.bincount(phrase, stem[place] >= 0, size) > 0)
        return ~held & (fixed < 2)

    def is_together(self) -> Marks:
        """(P,) whether its words stand together clearly more often than chance has them.

        By normalised pointwise mutual information (Bouma 2009).
        """
        total = max(len(self._stems), 2)
        counts = np.bincount(self._stems[self._stems >= 0], minlength=len(self._stem_texts))
        often = np.log(np.diff(self._starts.starts) / total)
        first = self._starts.items[self._starts.starts[:-1]]
        by_chance = np.zeros(len(self.lengths))
        for place in range(LONGEST):
            has = self.lengths > place
            by_chance[has] += np.log(counts[self._stems[first[has] + place]] / total)
        return often - by_chance > -_LEAST_TOGETHER * often * (self.lengths - 1)

    def is_nominal(self, is_english: Marks) -> Marks:
        """(P,) whether a phrase names something rather than tells what is done.

        `is_english` tells of each text whether its words count. A word is a verb where far more of
        its places show one than show a noun; a phrase's own places may tell otherwise.
        """
        known: dict[str, int] = {}
        folded = [known.setdefault(fold(word), len(known)) for word in self._word_texts]
        words = np.array([*folded, len(known)])[self._words]
        bounded = np.concatenate([[len(known)], words, [len(known)]])
        after_noun_sign, after_verb_sign, before_object = (
            np.array([*(word in signs for word in known), False])[beside]
            for signs, beside in (
                (_BEFORE_NOUNS, bounded[:-2]),
                (_BEFORE_VERBS, bounded[:-2]),
                (_AFTER_VERBS, bounded[2:]),
            )
        )
        counts, nouns, before, after = (
            np.bincount(words[marks & is_english[self._passages]], minlength=len(known) + 1)
            for marks in (words >= 0, after_noun_sign, after_verb_sign, before_object)
        )
        verbs = before + after
        often = (verbs >= _LEAST) & (verbs >= _LEAST_SHARE * counts)
        opening, ending = (often & (verbs > times * nouns) for times in (_FIRST, _LAST))
        # Within a phrase, a verb of the third person ("allows") needs to be no more than opening.
        third = np.array([*(word[-1:] == "s" != word[-2:-1] for word in known), False])
        inside = np.where(third, opening, ending)

        phrase, starts, lengths = self._phrase, self._starts.items, self.lengths
        held = np.diff(self._starts.starts)
        first = starts[self._starts.starts[:-1]]
        last, size = first + lengths - 1, len(lengths)
        as_noun, as_verb, with_object = (
            np.bincount(phrase, marks, size)
            for marks in (
                after_noun_sign[starts],
                after_verb_sign[starts],
                before_object[starts + lengths[phrase] - 1],
            )
        )
        wrong = opening[words[first]] & (as_noun <= as_verb)
        wrong |= ending[words[last]] | (opening[words[last]] & (3 * with_object > held))
        for place in range(1, LONGEST - 1):
            middle = np.minimum(first + place, last)
            wrong |= (lengths > place + 1) & inside[words[middle]]
        return ~wrong


def names_something(words: Sequence[str], language: str) -> bool:
    """Whether the words may name something in the language of the text.

    None of them is a function word or comes twice, they are not all shouted, and where common nouns
    have a capital, the last one does.
    """
    folded = {word.casefold() for word in words}
    if len(folded) < len(words) or all(word.isupper() for word in words):
        return False
    known = language_words(language)
    if known is None:
        return True
    ends_well = known.nouns is None or words[-1][0].isupper()
    return ends_well and folded.isdisjoint(known.stop_words | known.fillers)


def _stem(word: str) -> str:
    """The stem that a word has in a phrase; empty for one that is in none."""
    folded = fold(word)
    if len(folded) < 3 or not folded[0].isalpha() or folded in _EMPTY:
        return ""
    if folded.endswith("ly") or "'" in folded or "’" in folded:  # adverbs, "didn't"
        return ""
    found = terms(word)
    unspaced = len(found) > 1 and "-" not in word  # bigrams of a script without spaces
    return "" if unspaced else "-".join(found)
