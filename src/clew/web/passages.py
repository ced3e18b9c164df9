"""Hits and passages as pages show them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from clew.engine import Engine
from clew.request_end import go_on
from clew.search.features import FEATURES, Evidence, VectorReader, word_features
from clew.search.options import Options
from clew.search.session import QuerySession
from clew.text import entity_key
from clew.types import Hit, StoredChunk

MOST_ENTITIES = 300
"""Entities of a text that are marked in it."""
FULL_SCALE = frozenset({"vector", "graph", "temporal"})
"""Channels whose scores are 0 to 1; those of others are drawn against the best of the result."""


def scales(hits: Sequence[Hit]) -> dict[str, float]:
    """What a full bar of each channel stands for."""
    channels = {channel for hit in hits for channel in hit.scores}
    best = {name: max(hit.scores.get(name, 0.0) for hit in hits) for name in channels}
    return {
        name: 1.0 if name in FULL_SCALE or score <= 0 else score for name, score in best.items()
    }


def answer_segments(hit: Hit) -> list[Segment]:
    """A passage with the sentence that answers marked."""
    start, end = hit.answer or (0, 0)
    return segments(hit.chunk.text, answer=(start - hit.chunk.start, end - hit.chunk.start))


def name_ids(engine: Engine, names: Iterable[str]) -> dict[str, int]:
    """Ids of entities by name; names that are of none are left out."""
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
            # No word goes on at either end.
            edges = (text[max(0, at - 1) : at + 1] for at in (start, end))
            whole = not any(len(edge) > 1 and edge.isalnum() for edge in edges)
            if whole and not any(taken[start:end]):
                found.append(Mark(start, end, names[name]))
                taken[start:end] = b"\x01" * len(name)
            start = text.find(name, end)
    return found


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
    at = 0
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(AROUND):
        yield from _left_out(new[at : group[0][3]])
        for kind, a, b, c, d in group:
            if kind == "equal":
                yield from ([Piece("same", line)] for line in new[c:d])
            elif b - a == d - c:
                yield from (_words(*pair) for pair in zip(old[a:b], new[c:d], strict=True))
            else:
                yield from ([Piece("gone", line)] for line in old[a:b])
                yield from ([Piece("new", line)] for line in new[c:d])
            at = d
    yield from _left_out(new[at:])


def _left_out(lines: Sequence[str]) -> Iterator[list[Piece]]:
    """How many lines are the same; a single one is shown."""
    if len(lines) == 1:
        yield [Piece("same", lines[0])]
    elif lines:
        yield [Piece("left_out", str(len(lines)))]


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


Comparison = dict[str, Any]
"""Two passages: `features`, where their values differ, the most first (`name`, and the value of the
`first` hit beside that of the `other`, None where it was not looked at); and `reasons` why the
other was no candidate: without a reason it was one."""


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
    nearness = VectorReader(session.views.vectors.vectors)(known) @ evidence.analysis.vector
    other = int(known[np.argmax(nearness)])
    sides = [_values(session, evidence, chunk) for chunk in (first, other)]
    names = {**BY_ITSELF, **BY_TIES}
    first_side, other_side = sides
    features: list[dict[str, Any]] = [
        {"name": text, "first": first_side.get(name), "other": other_side.get(name)}
        for name, text in names.items()
    ]
    features.sort(key=lambda one: -abs((one["first"] or 0.0) - (one["other"] or 0.0)))
    return {"features": features, "reasons": [] if "walk" in other_side else _reasons(*sides)}


def _values(session: QuerySession, evidence: Evidence, chunk: int) -> dict[str, float]:
    """By name: what is known of a passage; of its ties only where it was a candidate."""
    ids = np.array([chunk], dtype=np.int64)
    rows = session.snapshot.rows(ids)
    place = int(np.searchsorted(evidence.rows, rows[0]))
    if place < len(evidence.rows) and evidence.rows[place] == rows[0]:
        values = dict(zip(FEATURES, evidence.matrix[place].tolist(), strict=True))
        return {name: values[name] for name in (*BY_ITSELF, *BY_TIES)}
    columns = word_features(evidence.analysis, session.snapshot, evidence.coverage, rows)
    vectors = VectorReader(session.views.vectors.vectors)(ids)
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
