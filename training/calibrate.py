"""Judge the confidence on questions that it has not seen.

    python -m training.calibrate BENCH_DIR [--report FILE]

Five-fold over questions, then each family of data sets left out in turn (the ranking below it is
five-fold in both): how far the probabilities are from what comes true, and which least confidence
tells questions without an answer from the others.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from training.confidence import learn_confidence, top
from training.prepare import prepare
from training.regime import judged_out_of_fold, second_matrices, weigh, weigh_judged
from training.sources import read_sources
from training.train import NOT_LEARNED_FROM

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from clew.graph.snapshot import Floats
    from training.groups import Group

BINS = 10
"""Of equal width, for the expected calibration error."""
LOST = 0.03
"""Share of the questions with an answer that may be taken for questions without."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A question, and how sure the answer is."""

    group: Group
    confidences: Floats
    """Of its best candidates."""
    answers: Floats
    """Whether each answers, 0 or 1."""

    @property
    def highest(self) -> float:
        """Confidence of the whole."""
        return float(self.confidences.max(initial=0.0))


def held_out(groups: Sequence[Group], parts: Sequence[Hashable]) -> list[Judged]:
    """Each group judged by what was learned from the groups of other parts."""
    matrices = judged_out_of_fold(groups, second_matrices(groups))
    found: dict[int, Judged] = {}
    for part in dict.fromkeys(parts):
        others = [i for i, own in enumerate(parts) if own != part]
        learned = [groups[i] for i in others]
        forest, calibration = learn_confidence(
            learned, [matrices[i] for i in others], weigh_judged(learned)
        )
        for i in (i for i, own in enumerate(parts) if own == part):
            kept = top(matrices[i])
            sure = np.interp(forest.scores(matrices[i][kept]), *calibration)
            answers = (groups[i].grades[kept] > 0).astype(np.float32)
            found[i] = Judged(groups[i], sure.astype(np.float32), answers)
    return [found[i] for i in range(len(groups))]


def calibration_error(judged: Sequence[Judged]) -> float:
    """Mean distance of the confidences from the share that answers, over bins; families alike."""
    weights = weigh([one.group for one in judged])
    each = np.repeat(weights, [len(one.confidences) for one in judged])
    sure = np.concatenate([one.confidences for one in judged])
    answers = np.concatenate([one.answers for one in judged])
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights=each * (sure - answers), minlength=BINS)
    return float(np.abs(gaps).sum() / each.sum())


def least_confidence(judged: Sequence[Judged]) -> float:
    """The highest least confidence that loses at most `LOST` of the questions with an answer."""
    highest = np.array([one.highest for one in judged])
    weights = weigh([one.group for one in judged])
    order = np.argsort(highest)
    lost = np.cumsum(weights[order]) / weights.sum()
    return float(highest[order][np.searchsorted(lost, LOST)])


def below(judged: Sequence[Judged], least: float) -> float:
    """Share of the questions whose best passage does not reach `least`; families alike."""
    weights = weigh([one.group for one in judged])
    return float(np.average([one.highest < least for one in judged], weights=weights))


def report(groups: Sequence[Group]) -> list[str]:
    """Lines of a report."""
    lines = []
    for way, parts in (
        ("five-fold", [group.fold for group in groups]),
        ("left out", [group.family for group in groups]),
    ):
        judged = held_out(groups, parts)
        answered = [one for one in judged if one.group.kind == "plain"]
        foreign = [one for one in judged if one.group.kind == "foreign"]
        least = least_confidence(answered)
        lines += [
            f"## {way}",
            f"expected calibration error: {100 * calibration_error(judged):.1f} points of all,"
            f" {100 * calibration_error(answered):.1f} of questions with an answer",
            f"least confidence {least:.3f}: recognises {100 * below(foreign, least):.1f} % of"
            " the questions without an answer,"
            f" loses {100 * below(answered, least):.1f} % of the others",
            "| | error | lost |",
            "| --- | --- | --- |",
        ]
        for family in dict.fromkeys(one.group.family for one in answered):
            own = [one for one in answered if one.group.family == family]
            error, lost = calibration_error(own), below(own, least)
            lines.append(f"| {family} | {100 * error:.1f} | {100 * lost:.1f} |")
    return lines


def main() -> None:
    """Read the command line, judge, and print or write the report."""
    parser = argparse.ArgumentParser(description="Judge the confidence on questions not seen.")
    parser.add_argument("bench", type=Path, help="folder of folders in the BEIR layout")
    parser.add_argument("--report", type=Path, help="Markdown file to write")
    given = parser.parse_args()
    sources = [one for one in read_sources(given.bench) if one.family not in NOT_LEARNED_FROM]
    groups = prepare(sources, lambda line: print(line, file=sys.stderr))
    text = "\n".join(report(groups))
    print(text)
    if given.report:
        given.report.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
