"""The learned ranker: two forests of boosted trees, kept as plain arrays and run with numpy.

They are trained by `training/` at the top of the repository. A tree is evaluated without walking
down it, as QuickScorer does (Lucchese et al. 2015): every node whose test fails strikes out the
leaves to its left, and the first leaf that is left is the one that a walk would reach. That makes
one comparison, one reduction and one look-up for all passages and all trees at once.

Where a question holds few names, the graph says little: see `temper`.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import ModelError
from clew.search.features import FEATURES, SECOND_FEATURES, lead, pairwise_features, remainder
from clew.search.walk import sentences_by_owner
from clew.text import terms

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.features import Evidence
    from clew.types import Vectors


FILE = "ranker.npz"
"""Lies beside this module."""
NAMED_ENOUGH = 0.25
"""Share of a question's idf in names from which on the trees alone decide."""
TEXT_SAY = 0.5
"""Weight of the text, next to the trees, where a question holds no names at all."""
TEXT = (
    *("vector_share", "keyword_share", "window_vector_share", "window_keyword_share"),
    "support",
)
"""What the text says: the channels alone and in windows, and likeness to the best passages."""
ALL_FEATURES = FEATURES + SECOND_FEATURES
"""Columns that the second ranking sees."""
ASKED = ("cover_unnamed", "cover_unnamed_sentence", "open_1")
"""Shares of what the question asks that the store does hold."""
JUDGED_FEATURES = (*ALL_FEATURES, *(f"{name}_asked" for name in ASKED), "score", "lead", "rank")
"""Columns that confidence is judged by: `ASKED` as shares of all that the question asks, what the
trees of the second ranking say, how far ahead of the best of the others a candidate is, and its
place."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees of at most 64 leaves whose sum is a score; all padded to the same size."""

    features: NDArray[np.int16]
    """(trees, nodes) the column that each node tests."""
    thresholds: NDArray[np.float32]
    """(trees, nodes) the test fails above it; infinite for padding."""
    kept: NDArray[np.unsignedinteger]
    """(trees, nodes) leaves that remain where the test fails; the leftmost is the lowest bit."""
    values: NDArray[np.float32]
    """(trees, leaves) what each leaf adds to the score."""

    def scores(self, matrix: Floats) -> Floats:
        """(n,) of the rows of an (n, features) float32 matrix; higher is better."""
        columns, struck = np.ascontiguousarray(matrix.T), ~self.kept
        lost = np.zeros((len(struck), len(matrix)), struck.dtype)
        for node in range(struck.shape[1]):
            failed = columns[self.features[:, node]] > self.thresholds[:, node, None]
            lost |= failed * struck[:, node, None]
        leaf = np.bitwise_count(lost & ~(lost + 1))
        scores: Floats = self.values[np.arange(len(leaf))[:, None], leaf].sum(axis=0)
        return scores


@dataclass(frozen=True, slots=True)
class Ranker:
    """What a file holds. Matrices are of one question, a row a candidate."""

    first: Forest
    """Ranks by `FEATURES`."""
    second: Forest
    """Ranks by `ALL_FEATURES`."""
    confidence: Forest
    """Judges by `JUDGED_FEATURES` whether a passage answers."""
    calibration: Floats
    """(2, k) scores of `confidence`, rising, and the probabilities (0 to 1) that they stand for."""
    trained_on: frozenset[str]
    """Hex SHA-256 of the queries.jsonl of each data set that it was trained on."""

    def rank_first(self, matrix: Floats) -> Floats:
        """(n,) scores of an (n, len(FEATURES)) matrix, tempered by plain text."""
        return temper(self.first.scores(matrix), matrix)

    def rank_second(self, matrix: Floats) -> Floats:
        """(n,) scores of the columns `ALL_FEATURES`, tempered by plain text."""
        return temper(self.second.scores(matrix), matrix)

    def judge(self, matrix: Floats) -> tuple[Floats, Floats]:
        """(n,) scores as `rank_second` has them, and probabilities, 0 to 1, of answering."""
        scores = self.second.scores(matrix)
        if not len(matrix):
            return scores, scores
        judgement = self.confidence.scores(judged(matrix, scores))
        confidences = np.interp(judgement, *self.calibration).astype(np.float32)
        return temper(scores, matrix), confidences


def judged(matrix: Floats, scores: Floats) -> Floats:
    """(n, len(JUDGED_FEATURES)) of the columns `ALL_FEATURES` and the second trees' scores."""
    final = temper(scores, matrix)
    rank = np.empty(len(final), np.float32)
    rank[np.argsort(-final, kind="stable")] = np.arange(len(final))
    asked = matrix[:, [ALL_FEATURES.index(name) for name in ASKED]]
    asked = asked * matrix[:, [ALL_FEATURES.index("question_asked")]]
    return np.column_stack([matrix, asked, scores, lead(final), rank]).astype(np.float32)


def temper(scores: Floats, matrix: Floats) -> Floats:
    """(n,) the scores in standard units, plus the text's say where the question holds few names.

    What trees learn of questions without names does not carry over to other collections; the plain
    sum of what the channels say does. `matrix` has the first or all of the columns `ALL_FEATURES`.
    """
    if not len(scores):
        return scores
    names = ALL_FEATURES[: matrix.shape[1]]
    silence = max(0.0, 1 - float(matrix[0, names.index("question_named")]) / NAMED_ENOUGH)
    said = [name for name in TEXT if name in names]
    text = _standardised(matrix[:, [names.index(name) for name in said]]).sum(axis=1)
    return _standardised(scores) + np.float32(TEXT_SAY * silence) * _standardised(text)


def _standardised(values: Floats) -> Floats:
    """Mean 0 and deviation 1 over the candidates; all 0 where they are all alike."""
    deviation = values.std(axis=0)
    standardised: Floats = values - values.mean(axis=0)
    standardised /= np.where(deviation > 0, deviation, np.float32(1))
    return standardised


@cache
def shipped() -> Ranker:
    """The ranker that lies beside this module, read once.

    Raises `ModelError` where it is missing or made for other features.
    """
    with as_file(files(__package__) / FILE) as path:
        return load_ranker(path)


def load_ranker(path: Path) -> Ranker:
    """Read a ranker; raises `ModelError` where it cannot be read or was made for other features."""
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            _check_names(path, arrays["first_names"].tolist(), FEATURES)
            _check_names(path, arrays["second_names"].tolist(), ALL_FEATURES)
            return Ranker(
                first=_forest("first", arrays),
                second=_forest("second", arrays),
                confidence=_forest("confidence", arrays),
                calibration=arrays["calibration"],
                trained_on=frozenset(arrays["trained_on"].tolist()),
            )
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ModelError(
            f"cannot read the ranker {str(path)!r} ({error}); install clew again, or make it with "
            "`python -m training.train`"
        ) from error


def _forest(prefix: str, arrays: Mapping[str, NDArray[np.generic]]) -> Forest:
    return Forest(**{field.name: arrays[f"{prefix}_{field.name}"] for field in fields(Forest)})  # type: ignore[arg-type]


def _check_names(path: Path, given: list[str], expected: tuple[str, ...]) -> None:
    if tuple(given) == expected:
        return
    gone = sorted(set(given) - set(expected))
    new = sorted(set(expected) - set(given))
    detail = f"only the ranker has {gone}, only the code has {new}" if gone or new else "reordered"
    raise ModelError(
        f"the ranker {str(path)!r} was trained for other features ({detail}); train it again with "
        "`python -m training.train`"
    )


# The order of the candidates: both rankings, the confidence, and the second hop of the best.


@dataclass(frozen=True, slots=True)
class Ordered:
    """The candidates of a question, best first."""

    order: Ints
    """(n,) places of the candidates."""
    scores: Floats
    """(n,) 0 to 1, falling."""
    confidences: Floats
    """(n,) probability that each candidate answers, in the candidates' own order."""
    second_hop: SecondHop | None


def rank_candidates(
    ranker: Ranker, evidence: Evidence, snapshot: Snapshot, vectors: Vectors
) -> Ordered:
    """The candidates by what was learned; a second hop stands right before its first.

    `vectors` (n, dim) are the candidates' embeddings. A second hop is as sure as its first is,
    times the share of such that answer.
    """
    first = ranker.rank_first(evidence.matrix)
    related = pairwise_features(evidence, snapshot, vectors, first)
    matrix = np.concatenate([evidence.matrix, related], axis=1)
    scores, confidences = ranker.judge(matrix)
    order = np.argsort(-scores, kind="stable")
    hop = find_second_hop(evidence, snapshot, vectors, order, confidences)
    if hop is not None:
        best, second = order[0], int(np.searchsorted(evidence.rows, hop.second))
        confidences[second] = max(confidences[second], HELD * confidences[best])
        order = np.concatenate([[second], order[order != second]])
    between_0_and_1 = 1 / (1 + np.exp(-np.sort(scores)[::-1].astype(np.float64)))
    return Ordered(order, between_0_and_1.astype(np.float32), confidences, hop)


# The second hop: a passage that says what the best one leaves open, by a name that both hold.
#
# "Who gets the invoice for the hotel in Tallinn?": one note says which agency booked the hotel,
# and
# another where the agency's invoices go. The ranker puts the one first that holds more of the
# question. The answer stands in the other.


LOOKED_AT = 5
"""Best passages, of which the first may have a second hop among the others."""
FEW = 5
"""Passages that mention the name, at most: what many mention leads anywhere."""
COVERED = 0.5
"""Share of the question that the first passage's sentence with the name covers, at least."""
OPEN_WORDS, OPEN_MEANING = 0.1, 0.2
"""What the second says of the rest, at least: share of the words, or cosine."""
FEWER_NAMES, FEWER_WORDS = 0.2, 0.1
"""By how much the second holds less of the question's names, or of its words if it has no names."""
LED_TO, LIKELY = 2, 0.5
"""Other passages that the first one's names lead to, at most; else the second's confidence."""
_ASKED = re.compile(r"\b(?:which|what|how many|how much) (\w+)(?: (\w+))?", re.IGNORECASE)
HELD = 0.85
"""Share of such second passages that answer where the first does: fewer than the 46 of 49 in four
data sets, since the ranker had learned from these; see docs/quality.md."""


@dataclass(frozen=True, slots=True)
class SecondHop:
    """Two passages that answer together; all are rows of the snapshot."""

    first: int
    second: int
    entity: int
    """What both mention."""
    sentence: int
    """Of the first, with the entity."""


def find_second_hop(
    evidence: Evidence, snapshot: Snapshot, vectors: Vectors, order: Ints, confidences: Floats
) -> SecondHop | None:
    """The second hop of the best passage, if one of the next ones is it.

    `order` (n,) are places of the candidates, best first; `vectors` (n, dim) their embeddings.
    Where it is not the next one, or the best passage's names lead to several others, the ranker
    itself must hold it for likely.
    """
    best, others = order[0], order[1:LOOKED_AT]
    first = int(evidence.rows[best])
    # Where the best passage holds what is asked by name ("which team"), it answers by itself.
    asked = _ASKED.search(evidence.analysis.text)
    words = terms(" ".join(asked.groups(""))) if asked and terms(asked[1]) else []
    rows = snapshot.term_rows(words)
    if words and len(rows) == len(set(words)):
        holding = (snapshot.sentence_chunk[snapshot.postings.row(row)] for row in rows)
        if all(first in passages for passages in holding):
            return None
    # (n,) whether each of the others holds less of the question, and some of what is open.
    near, said, _ = remainder(evidence, vectors, np.array([best]), others)
    names, cover = (evidence.matrix[:, FEATURES.index(n)] for n in ("cover_marked", "cover"))
    held, less = (names, FEWER_NAMES) if names[best] else (cover, FEWER_WORDS)
    fewer = held[others] < held[best] - less
    fitting = others[np.flatnonzero(fewer & ((said >= OPEN_WORDS) | (near >= OPEN_MEANING)))]
    ties = _ties(evidence, snapshot, first) if len(fitting) else {}
    entries, _ = snapshot.entity_passages.entries(np.array(list(ties), dtype=np.int64))
    led_to = {*snapshot.entity_passages.items[entries].tolist()} - {first}
    for place in fitting.tolist():
        second = int(evidence.rows[place])
        shared = [e for e in snapshot.passage_entities.row(second).tolist() if e in ties]
        alone = place == order[1] and len(led_to) <= LED_TO
        if shared and (alone or confidences[place] >= LIKELY):
            entity = max(shared, key=lambda e: ties[e])
            return SecondHop(first, second, entity, ties[entity][1])
    return None


def _ties(evidence: Evidence, snapshot: Snapshot, passage: int) -> dict[int, tuple[float, int]]:
    """What a passage's sentences tie to the question: their coverage and row, by entity.

    Seeds aside, since they lead to the passage, and what many passages mention.
    """
    coverage = evidence.coverage
    sentences, _ = sentences_by_owner(snapshot, np.array([passage]))
    shares = coverage.share(coverage.with_context(sentences))
    entries, owner = snapshot.sentence_entities.entries(sentences)
    entities = snapshot.sentence_entities.items[entries]
    often = snapshot.entity_frequency[entities]
    tied = (shares[owner] >= COVERED) & (often > 1) & (often <= FEW)
    tied &= ~np.isin(entities, [seed.row for seed in evidence.analysis.seeds])
    ties: dict[int, tuple[float, int]] = {}
    values = (entities[tied], shares[owner[tied]], sentences[owner[tied]])
    for entity, share, sentence in zip(*(one.tolist() for one in values), strict=True):
        ties[entity] = max(ties.get(entity, (0.0, -1)), (share, sentence))
    return ties
