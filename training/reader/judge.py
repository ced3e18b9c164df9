"""Judge a reader on articles that it has not learned from: `python -m training.reader.judge DATA`.

SQuAD 2.0's measure: the F1 of the words of an answer against the best of those accepted; where the
passage holds none, 1 for silence and 0 for anything else. As many questions without an answer as
with one are asked, so always being silent gives 50.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np

from clew.models.reader import OnnxReader
from clew.plugins.evaluation.answers import measured
from clew.types import Unread
from training.reader.examples import read


def main() -> None:
    """Print F1 with abstention, and of the answerable questions alone."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="reader")
    parser.add_argument("--questions", type=int, default=600, help="of each kind, at most")
    given = parser.parse_args()
    reader = OnnxReader(given.model)
    groups = [one for one in read(given.data, held_out=True) if one.source == "squad_dev"]
    random.Random(1).shuffle(groups)
    with_one = [one for one in groups if any(p.helps for p in one.passages)]
    without = [one for one in groups if not any(p.helps for p in one.passages)]
    size = min(len(with_one), len(without), given.questions)
    margins, scores, silent = [], [], []
    for group in (*with_one[:size], *without[:size]):
        passage = next((p for p in group.passages if p.helps), group.passages[0])
        (reading,) = reader.read(group.question, [Unread(passage.text, passage.title)])
        margins.append(reading.margin)
        quoted = passage.text[slice(*reading.span)]
        scores.append(measured(quoted, group.answers if passage.helps else ())["f1"])
        silent.append(not passage.helps)
    margin, score, none = np.array(margins), np.array(scores), np.array(silent)
    print(f"{size} questions with an answer, {size} without")
    print(f"F1 of the answerable alone, always answering: {100 * score[~none].mean():.1f}")
    for least in (0.0, best_threshold(margin, score, none)):
        said = np.where(margin > least, score, none)
        print(
            f"F1 with abstention at a margin of {least:.1f}: {100 * said.mean():.1f}"
            f" (answerable {100 * said[~none].mean():.1f}, others {100 * said[none].mean():.1f})"
        )


def best_threshold(margin: np.ndarray, score: np.ndarray, none: np.ndarray) -> float:
    """Return the margin from which answering pays best, found on these very questions."""
    tried = np.arange(-8.0, 8.0, 0.5)
    return float(max(tried, key=lambda least: np.where(margin > least, score, none).mean()))


if __name__ == "__main__":
    main()
