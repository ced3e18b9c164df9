"""Hits and passages as pages show them."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from clew.request_end import go_on
from clew.search.options import Options
from clew.search.ranking.features import FEATURES, VectorReader
from clew.search.ranking.word_features import word_features
from clew.search.session import QuerySession

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clew.engine import Engine
    from clew.search.ranking.features import Evidence
    from clew.types import Hit, PathStep, StoredChunk


MOST_ENTITIES = 300
"""Entities of a text that are marked in it."""
FULL_SCALE = frozenset({"vector", "graph", "temporal"})
"""Channels whose scores are 0 to 1; those of others are drawn against the best of the result."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A score by a channel."""

    channel: str
    score: float
    width: int
    """0 to 100."""


@dataclass(frozen=True, slots=True)
class ThreadLink:
    """A step of a thread: an entity, and the sentence that leads on from it."""

    entity: str
    entity_id: int | None
    sentence: str
    document: str
    names_it_alone: bool
    """Whether the sentence is no more than the entity's name, as a title is."""


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A hit, ready to be shown."""

    number: int
    hit: Hit
    title: str
    segments: list[Segment]
    bars: list[Bar]
    thread: list[ThreadLink]
    entities: list[tuple[str, int | None]]


def shown_hits(engine: Engine, hits: Sequence[Hit]) -> list[ShownHit]:
    """The hits with their sentences marked, their scores as bars, their threads with ids."""
    ids = name_ids(engine, (name for hit in hits for name in _named(hit)))
    best = best_scores(hits)
    return [
        ShownHit(
            number=number,
            hit=hit,
            title=hit.chunk.title or hit.chunk.source,
            segments=answer_segments(hit),
            bars=bars(hit, best),
            thread=[_link(step, ids) for step in hit.path],
            entities=[(name, ids.get(name)) for name in hit.entities],
        )
        for number, hit in enumerate(hits, 1)
    ]


def best_scores(hits: Iterable[Hit]) -> dict[str, float]:
    """The highest score by channel."""
    best: dict[str, float] = {}
    for hit in hits:
        for channel, score in hit.scores.items():
            best[channel] = max(best.get(channel, 0.0), score)
    return best


def bars(hit: Hit, best: Mapping[str, float]) -> list[Bar]:
    """The scores of a hit, against the best of the result where they have no scale of their own."""
    return [
        Bar(channel, score, _width(score, 1.0 if channel in FULL_SCALE else best[channel]))
        for channel, score in hit.scores.items()
    ]


def answer_segments(hit: Hit) -> list[Segment]:
    """A passage with the sentence that answers marked."""
    start, end = hit.answer or (0, 0)
    return segments(hit.chunk.text, answer=(start - hit.chunk.start, end - hit.chunk.start))


def name_ids(engine: Engine, names: Iterable[str]) -> dict[str, int]:
    """Ids of entities by name; names that are of none are left out."""
    from clew.text import entity_key

    keys = {name: entity_key(name) for name in names}
    found = engine.store.resolve(sorted({key for key in keys.values() if key}))
    return {name: found[key] for name, key in keys.items() if key in found}


def named_segments(engine: Engine, chunks: Sequence[StoredChunk]) -> dict[int, list[Segment]]:
    """By id of the chunk: its text with the names marked that the graph knows there."""
    snapshot = engine.state.snapshot
    ids = np.array(sorted(chunk.id for chunk in chunks), dtype=np.int64)
    rows = snapshot.rows(ids[snapshot.known(ids)])
    entities = {
        int(chunk): snapshot.entity_ids[snapshot.passage_entities.row(int(row))].tolist()
        for chunk, row in zip(ids[snapshot.known(ids)], rows, strict=True)
    }
    wanted = list(dict.fromkeys(e for found in entities.values() for e in found))[:MOST_ENTITIES]
    names = {e: [alias.name for alias in engine.store.aliases(entity_id=e)] for e in wanted}
    return {
        chunk.id: segments(
            chunk.text,
            find_names(
                chunk.text,
                {name: e for e in entities.get(chunk.id, ()) for name in names.get(e, ())},
            ),
        )
        for chunk in chunks
    }


def _named(hit: Hit) -> Iterable[str]:
    yield from (step.entity for step in hit.path)
    yield from hit.entities
    for relation in hit.relations:
        yield from (relation.head, relation.tail)


def _link(step: PathStep, ids: Mapping[str, int]) -> ThreadLink:
    alone = step.sentence.strip() == step.entity.strip()
    return ThreadLink(step.entity, ids.get(step.entity), step.sentence, step.document, alone)


def _width(score: float, full: float) -> int:
    return round(100 * min(max(score / full if full > 0 else 0.0, 0.0), 1.0))


# Texts with parts of them marked: the answering sentence, the names that a text mentions.


WRAPPED = 50
"""Characters of a line that was broken for its width alone, at least."""


_HEADING = re.compile(r"#{1,6} +(?=\S)")


def headings(text: str) -> list[tuple[int, int, int]]:
    """Where the marks of each heading of Markdown begin, where its words do, and where they end.

    A line that text follows at once may be a comment of code, and is none.
    """
    found, start = [], 0
    for line, after in pairwise([*text.split("\n"), ""]):
        marks = _HEADING.match(line)
        if marks and not after.strip():
            found.append((start, start + marks.end(), start + len(line)))
        start += len(line) + 1
    return found


def plain(text: str) -> str:
    """The text as it flows, without the marks of its headings."""
    return "".join(piece.text for piece in segments(text))


def flowing(text: str) -> str:
    """The text with blanks for the breaks within its paragraphs; every offset stays."""
    lines = text.split("\n")
    ends = [
        " " if len(line) >= WRAPPED and after[:1].isalnum() else "\n"
        for line, after in pairwise(lines)
    ]
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True))


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text, and what it is."""

    text: str
    answer: bool = False
    """Whether it belongs to the answering sentence."""
    entity: int | None = None
    """Id of the entity that it names."""
    heading: bool = False
    """Whether it belongs to a heading."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A range of a text that names an entity."""

    start: int
    end: int
    entity: int


def segments(
    text: str, names: Iterable[Mark] = (), answer: tuple[int, int] = (0, 0)
) -> list[Segment]:
    """The text in pieces, cut where a mark begins or ends; of marks that overlap the first counts.

    All offsets are of `text`; what lies outside is left out, and so are the marks of headings.
    """
    titles = headings(text)
    text = flowing(text)
    kept: list[Mark] = []
    for mark in sorted(names, key=lambda m: (m.start, -m.end)):
        if 0 <= mark.start < mark.end <= len(text) and (not kept or kept[-1].end <= mark.start):
            kept.append(mark)
    first, last = max(0, answer[0]), min(len(text), answer[1])
    cuts = {0, len(text), *(edge for m in kept for edge in (m.start, m.end))}
    cuts |= {edge for title in titles for edge in title}
    if first < last:
        cuts |= {first, last}
    pieces, marks, ahead = [], deque(kept), deque(titles)
    for start, end in pairwise(sorted(cuts)):
        while marks and marks[0].end <= start:
            marks.popleft()
        entity = marks[0].entity if marks and marks[0].start <= start else None
        while ahead and ahead[0][2] <= start:
            ahead.popleft()
        begin, words, _ = ahead[0] if ahead else (len(text), len(text), 0)
        if not begin <= start < words:
            pieces.append(Segment(text[start:end], first <= start < last, entity, start >= words))
    return pieces


def find_names(text: str, names: Mapping[str, int]) -> list[Mark]:
    """Where names stand in a text as whole words, longest first; case counts.

    Args:
        text: To be looked through.
        names: Ids of entities by name.
    """
    found: list[Mark] = []
    taken = bytearray(len(text))
    for name in sorted(filter(None, names), key=len, reverse=True):
        start = text.find(name)
        while start >= 0:
            end = start + len(name)
            if not any(taken[start:end]) and _is_whole(text, start, end):
                found.append(Mark(start, end, names[name]))
                taken[start:end] = b"\x01" * len(name)
            start = text.find(name, end)
    return found


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether no word goes on at either end."""
    before = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
    after = end < len(text) and text[end - 1].isalnum() and text[end].isalnum()
    return not before and not after


# What differs between two texts, line by line, and word by word within these.


Kind = Literal["same", "gone", "new", "left_out"]
MOST_LINES, MOST_WORDS = 2000, 400
"""Lines of a text, and words of a line, that are compared: it takes their square."""
AROUND = 2
"""Lines that stay the same that are shown beside each change."""
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line."""

    kind: Kind
    text: str
    """Of what is left out: how many lines."""


def difference(before: str, after: str) -> Iterator[list[Piece]]:
    """The lines of both texts, each in pieces; long stretches that are the same are left out.

    What comes after `MOST_LINES` is not compared.
    """
    old, new = before.splitlines()[:MOST_LINES], after.splitlines()[:MOST_LINES]
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for number, (kind, a, b, c, d) in enumerate(steps):
        if kind == "equal":
            first = 0 if number == 0 else AROUND
            last = 0 if number == len(steps) - 1 else AROUND
            yield from _unchanged(new[c:d], first, last)
        elif b - a == d - c:
            yield from (_words(*pair) for pair in zip(old[a:b], new[c:d], strict=True))
        else:
            yield from ([Piece("gone", line)] for line in old[a:b])
            yield from ([Piece("new", line)] for line in new[c:d])


def _unchanged(lines: Sequence[str], first: int, last: int) -> Iterator[list[Piece]]:
    """The first and the last of lines that are the same, and how many lie between."""
    hidden = len(lines) - first - last
    if hidden <= 1:
        first, last, hidden = len(lines), 0, 0
    yield from ([Piece("same", line)] for line in lines[:first])
    if hidden:
        yield [Piece("left_out", str(hidden))]
    yield from ([Piece("same", line)] for line in lines[len(lines) - last :])


def _words(before: str, after: str) -> list[Piece]:
    """A line that changed; one of very many words as a whole."""
    go_on()
    old, new = _WORD.findall(before), _WORD.findall(after)
    if max(len(old), len(new)) > MOST_WORDS:
        return [Piece("gone", before), Piece("new", after)]
    pieces: list[Piece] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(Piece("same", "".join(new[c:d])))
            continue
        if a < b:
            pieces.append(Piece("gone", "".join(old[a:b])))
        if c < d:
            pieces.append(Piece("new", "".join(new[c:d])))
    return pieces


# Two passages side by side, by what the ranker sees of them, in words.


BY_ITSELF: Mapping[str, str] = {
    "vector": "nearness in meaning",
    "cover": "share of the question's words in it",
    "cover_sentence": "share of the words in one sentence",
    "cover_rare": "share of the rare words",
    "cover_marked": "share of the names and numbers",
    "context_cover": "share of the words in its title and headings",
    "phrase": "words in the order of the question",
}
"""What can be said of any passage, 0 to 1 but for the first, which is -1 to 1."""
BY_TIES: Mapping[str, str] = {
    "seeds_share": "tie to the question's own names",
    "bridge": "tie to names that stand beside them",
    "onward_about": "tie to names one step further",
    "walk": "how often walks along names come by",
}
"""What is known of candidates alone."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A value of the first hit beside that of another passage; None where it was not looked at."""

    name: str
    first: float | None
    other: float | None

    @property
    def difference(self) -> float:
        """How much the first is ahead, or behind."""
        return abs((self.first or 0.0) - (self.other or 0.0))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two passages, and whether the other was a candidate at all."""

    features: list[Feature]
    """Those that differ the most first."""
    was_candidate: bool
    reasons: list[str]
    """Why it was none."""


def compare_passages(
    engine: Engine, question: str, first: int, others: Sequence[int]
) -> Comparison | None:
    """Compare passages by id: the first hit, and of others the nearest in meaning.

    Filters and periods are left aside. None where the graph of now does not know both, as of texts
    of before, and in a store that is searched by words alone.
    """
    if engine.state.keyword_only:
        return None
    defaults = engine.settings.search
    options = Options(
        strategy="graph", limit=1, max_tokens=defaults.max_tokens, now=engine.state.now()
    )
    session = QuerySession.start(engine.state, question, options)
    asked = np.array(sorted(others), dtype=np.int64)
    known = asked[session.snapshot.known(asked)]
    if not len(known) or not session.snapshot.known(np.array([first]))[0]:
        return None
    evidence = session.gather()
    nearness = VectorReader(session.views.vectors.vectors).read(known) @ evidence.analysis.vector
    other = int(known[np.argmax(nearness)])
    sides = [_values(session, evidence, chunk) for chunk in (first, other)]
    names = {**BY_ITSELF, **BY_TIES}
    features = [Feature(text, *(side.get(name) for side in sides)) for name, text in names.items()]
    was_candidate = "walk" in sides[1]
    return Comparison(
        sorted(features, key=lambda feature: -feature.difference),
        was_candidate,
        [] if was_candidate else _reasons(*sides),
    )


def _values(session: QuerySession, evidence: Evidence, chunk: int) -> dict[str, float]:
    """By name: what is known of a passage; of its ties only where it was a candidate."""
    ids = np.array([chunk], dtype=np.int64)
    rows = session.snapshot.rows(ids)
    place = int(np.searchsorted(evidence.rows, rows[0]))
    if place < len(evidence.rows) and evidence.rows[place] == rows[0]:
        values = dict(zip(FEATURES, evidence.matrix[place].tolist(), strict=True))
        return {name: values[name] for name in (*BY_ITSELF, *BY_TIES)}
    columns = word_features(evidence.analysis, session.snapshot, evidence.coverage, rows)
    vectors = VectorReader(session.views.vectors.vectors).read(ids)
    found = {name: float(columns[name][0]) for name in BY_ITSELF if name in columns}
    return {"vector": float((vectors @ evidence.analysis.vector)[0]), **found}


def _reasons(first: Mapping[str, float], other: Mapping[str, float]) -> list[str]:
    """Why a passage was no candidate; it was found by none of the ways."""
    words = other["cover"]
    return [
        "It holds none of the question's words."
        if words == 0
        else f"It holds {words:.0%} of the question's words by weight; others hold more of them.",
        f"Its nearness in meaning is {other['vector']:.2f}, that of the first hit"
        f" {first['vector']:.2f}; others are nearer.",
        "No names that tie passages together lead from the question to it.",
    ]
