"""Two passages side by side, by what the ranker sees of them, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.search.options import Options
from clew.search.ranking.features import FEATURES
from clew.search.ranking.first_stage_features import VectorReader
from clew.search.ranking.word_features import word_features
from clew.search.session import QuerySession

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.engine import Engine
    from clew.search.ranking.features import Evidence

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
