"""The learned ranker: two forests of boosted trees, kept as plain arrays and run with numpy.

They are trained by `training/` at the top of the repository. A tree is evaluated without walking
down it, as QuickScorer does (Lucchese et al. 2015): every node whose test fails strikes out the
leaves to its left, and the first leaf that is left is the one that a walk would reach. That makes
one comparison, one reduction and one look-up for all passages and all trees at once.

Where a question holds few names, the graph says little: see `temper`.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import ModelError
from clew.search.ranking.features import FEATURES
from clew.search.ranking.normalise import lead
from clew.search.ranking.pairwise_features import SECOND_FEATURES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats

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


def save_ranker(ranker: Ranker, path: Path) -> None:
    """Write the ranker with the names of its features; equal rankers make equal files."""
    arrays = {
        "first_names": np.array(FEATURES),
        "second_names": np.array(ALL_FEATURES),
        "calibration": ranker.calibration,
        "trained_on": np.array(sorted(ranker.trained_on), dtype=np.str_),
        **_columns("first", ranker.first),
        **_columns("second", ranker.second),
        **_columns("confidence", ranker.confidence),
    }
    np.savez_compressed(path, allow_pickle=False, **arrays)


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


def _columns(prefix: str, forest: Forest) -> dict[str, NDArray[np.generic]]:
    return {f"{prefix}_{field.name}": getattr(forest, field.name) for field in fields(Forest)}


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
