"""Judge a reader on what it has not learned from: `python -m training.reader.judge DATA`.

Articles, by SQuAD 2.0's measure: the F1 of the words of an answer against the best of those
accepted; where the passage holds none, 1 for silence and 0 for anything else. As many questions
without an answer as with one are asked, so always being silent gives 50.

Folders of invented notes, where each question is read with every note: how often the note that
answers is the most relevant, and how many questions are answered right while one in eight is wrong.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np

from clew.models.reader import OnnxReader
from clew.plugins.evaluation.answers import measured
from clew.types import Unread
from training.reader import worlds
from training.reader.examples import read

WRONG = 1 / 8
"""Share of the questions about folders that may be answered wrong."""


def main() -> None:
    """Print both judgements."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="reader")
    parser.add_argument("--questions", type=int, default=600, help="of each kind, at most")
    given = parser.parse_args()
    reader = OnnxReader(given.model)
    articles(reader, given.data, given.questions)
    folders(reader, given.questions)


def articles(reader: OnnxReader, data: Path, most: int) -> None:
    """Print F1 with abstention, and of the answerable questions alone."""
    groups = [one for one in read(data, held_out=True) if one.source == "squad_dev"]
    random.Random(1).shuffle(groups)
    with_one = [one for one in groups if any(p.helps for p in one.passages)]
    without = [one for one in groups if not any(p.helps for p in one.passages)]
    size = min(len(with_one), len(without), most)
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


def folders(reader: OnnxReader, most: int) -> None:
    """Print how often the note that answers is found, and how often the answer in it."""
    groups = worlds.read(held_out=True, tempting=99)
    # A step of two hops has no answer of its own.
    groups = [one for one in groups if not one.answers or one.passages[0].answer]
    chosen = random.Random(1).sample(groups, min(most, len(groups)))
    first = 0
    said: list[tuple[float, bool]] = []
    hops: list[bool] = []
    for group in chosen:
        # A search leads to other passages, too: a thread by itself tells nothing.
        led = group.passages[0].thread
        asked = [Unread(one.text, one.title, led) for one in group.passages]
        readings = reader.read(group.question, asked)
        best = max(range(len(readings)), key=lambda n: readings[n].relevance)
        first += bool(group.answers) and best == 0
        sure = [one.sureness for one in readings]
        best = int(np.argmax(sure))
        goal = group.passages[best].answer
        start, end = readings[best].span
        is_right = goal is not None and start < goal[1] and end > goal[0]
        said.append((sure[best], is_right))
        if led:
            hops.append(is_right)
    known = sum(bool(one.answers) for one in chosen)
    right = np.cumsum([is_right for _, is_right in sorted(said, reverse=True)])
    wrong = np.arange(1, len(said) + 1) - right
    most_right = int(right[wrong <= WRONG * len(said)].max(initial=0))
    print(f"{len(chosen)} questions about folders, {known} with an answer")
    print(f"their note is the most relevant: {100 * first / known:.1f} %")
    print(f"answered right, always answering: {100 * right[-1] / known:.1f} % of these")
    print(f"of the {len(hops)} that take two steps: {100 * np.mean(hops):.1f} %")
    print(f"answered right, with {WRONG:.1%} of all wrong: {100 * most_right / known:.1f} %")


def best_threshold(margin: np.ndarray, score: np.ndarray, none: np.ndarray) -> float:
    """Return the margin from which answering pays best, found on these very questions."""
    tried = np.arange(-8.0, 8.0, 0.5)
    return float(max(tried, key=lambda least: np.where(margin > least, score, none).mean()))


if __name__ == "__main__":
    main()
