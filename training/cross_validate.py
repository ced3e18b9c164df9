"""Judge the training on questions that it has not seen.

    python -m training.cross_validate BENCH_DIR [--report FILE]

Five-fold over questions, then each family of data sets left out in turn. Everything is learned anew
for each: both rankings, and the first scores that the second one learns from.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from clew.plugins.evaluation.run import mean_scores, score_rankings
from training.prepare import prepare
from training.regime import fit
from training.sources import read_sources

if TYPE_CHECKING:
    from clew.graph.snapshot import Floats
    from clew.search.ranker import Ranker
    from training.groups import Group, Passage

KS = (2, 5, 10)
KEPT = 20
"""Passages of a ranking that are measured."""
MEASURES = ("recall@2", "recall@5", "recall@10", "ndcg@10")

Rankings: TypeAlias = Mapping[int, Sequence["Passage"]]
"""Passages, best first, by the number of the group."""
Figures: TypeAlias = Mapping[str, float]


def five_fold(groups: Sequence[Group]) -> Rankings:
    """Each question ranked by what was learned from the other folds."""
    return _held_out(groups, [group.fold for group in groups])


def left_out(groups: Sequence[Group]) -> Rankings:
    """Each question ranked by what was learned from the other families."""
    return _held_out(groups, [group.family for group in groups])


def _held_out(groups: Sequence[Group], parts: Sequence[Hashable]) -> dict[int, Sequence[Passage]]:
    """Each group ranked by what was learned from the groups of other parts."""
    rankings: dict[int, Sequence[Passage]] = {}
    for part in dict.fromkeys(parts):
        ranker = fit([group for group, own in zip(groups, parts, strict=True) if own != part])
        for number, group in enumerate(groups):
            if parts[number] == part:
                rankings[number] = group.ranking(scores_of(ranker, group))
    return rankings


def scores_of(ranker: Ranker, group: Group) -> Floats:
    """(n,) as `clew search` scores the group's candidates."""
    return ranker.rank_second(group.second(ranker.rank_first(group.evidence.matrix)))


def measure(groups: Sequence[Group], rankings: Rankings) -> dict[str, Figures]:
    """Mean of each measure by kind and family; the mean of its data sets where it has several."""
    scores: dict[tuple[str, str], list[Figures]] = {}
    for number, group in enumerate(groups):
        run = {"q": [_name(passage) for passage in rankings[number][:KEPT]]}
        gold = {"q": {_name(passage): grade for passage, grade in group.gold.items()}}
        key = (f"{group.family}, {group.kind}", group.dataset)
        scores.setdefault(key, []).append(score_rankings(run, gold, KS)["q"])
    by_family: dict[str, list[Figures]] = {}
    for (family, _), rows in scores.items():
        by_family.setdefault(family, []).append(mean_scores(rows))
    return {family: mean_scores(rows) for family, rows in by_family.items()}


def _name(passage: Passage) -> str:
    return "\t".join(passage)


def to_markdown(figures: Mapping[str, Mapping[str, Figures]]) -> str:
    """A table a kind of collection: a row a way of ranking, per cent."""
    lines = ["# Cross-validation of the ranker", ""]
    for family in next(iter(figures.values())):
        lines += [f"## {family}", "", f"| | {' | '.join(MEASURES)} |", "| --- |" + " --- |" * 4]
        for way, by_family in figures.items():
            values = (f"{100 * by_family[family][measure]:.1f}" for measure in MEASURES)
            lines.append(f"| {way} | {' | '.join(values)} |")
        lines.append("")
    return "\n".join(lines)


def cross_validate(groups: Sequence[Group]) -> dict[str, dict[str, Figures]]:
    """Figures by way of ranking."""
    ways: dict[str, Rankings] = {
        "hybrid": {number: group.hybrid for number, group in enumerate(groups)},
        "graph, five-fold": five_fold(groups),
        "graph, left out": left_out(groups),
    }
    return {way: measure(groups, rankings) for way, rankings in ways.items()}


def main() -> None:
    """Read the command line, judge, and print or write the report."""
    parser = argparse.ArgumentParser(description="Judge the training on questions not seen.")
    parser.add_argument("bench", type=Path, help="folder of folders in the BEIR layout")
    parser.add_argument("--report", type=Path, help="Markdown file to write")
    given = parser.parse_args()
    groups = prepare(read_sources(given.bench), lambda line: print(line, file=sys.stderr))
    report = to_markdown(cross_validate(groups))
    print(report)
    if given.report:
        given.report.write_text(report, encoding="utf-8")


if __name__ == "__main__":
    main()
