"""Topics: names and key phrases that several documents are on, and the themes that they form.

A passage is on the few candidates that weigh most in it: tf · idf, times log2(1 + words) and, for
phrases, what C-value leaves them. A candidate is a topic where two documents are on it, or three
passages of one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.partition import WeightedGraph, in_order, leiden, sums
from clew.graph.phrases import FILLERS, Phrases, names_something
from clew.graph.snapshot import ABOUT_WEIGHT, Adjacency, distinct, find_sorted
from clew.languages import english_words, language_words
from clew.ports import TopicSet
from clew.text import STOP_WORDS, entity_key, terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.ports import VectorIndex
    from clew.stores.store import Store
    from clew.types import Ids, Vector, Vectors

    Values = NDArray[np.float64]

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
    order = np.argsort(-central, kind="stable")
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
    frequent &= ~np.isin(snapshot.entity_ids, store.entities_of_type("date"))
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
