"""What each part of the ranking adds: five-fold, with that part's features blanked out.

    python -m training.ablate BENCH_DIR [--report FILE]

Learns from the data sets as they are, without the merged and the nameless copies, and leaves parts
out of the first ranking alone: the figures differ a little from those of
`training.cross_validate`, and the run is much shorter.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clew.search.features import FEATURES
from training.cross_validate import Rankings, five_fold, measure
from training.prepare import prepare
from training.regime import first_out_of_fold
from training.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from training.cross_validate import Figures
    from training.groups import Group

PARTS: Mapping[str, tuple[str, ...]] = {
    "windows (neighbours)": ("window_",),
    "walks": ("walk",),
    "bridges": ("bridge", "onward"),
    "words covered": ("cover",),
    "entities of the question": ("seeds",),
}
"""Beginnings of the names of the features that make up each part."""
SHOWN = {
    "hotpotqa": ("recall@2", "recall@5"),
    "2wikimultihopqa": ("recall@2", "recall@5"),
    "musique": ("recall@2", "recall@5"),
    "cranfield": ("ndcg@10",),
    "locomo": ("recall@10",),
}


def blank(group: Group, beginnings: tuple[str, ...]) -> Group:
    """The group with the features of a part all 0."""
    matrix = group.evidence.matrix.copy()
    matrix[:, [name.startswith(beginnings) for name in FEATURES]] = 0
    return replace(group, evidence=replace(group.evidence, matrix=matrix))


def by_walk(groups: Sequence[Group]) -> Rankings:
    """The main walk alone, nothing learned."""
    return {number: group.ranking(group.evidence.walk) for number, group in enumerate(groups)}


def by_first(groups: Sequence[Group]) -> Rankings:
    """The first ranking alone, five-fold."""
    scores = first_out_of_fold(groups)
    return {number: group.ranking(scores[number]) for number, group in enumerate(groups)}


def ablate(groups: Sequence[Group]) -> dict[str, dict[str, Figures]]:
    """Figures by what was left out."""
    ways: dict[str, Rankings] = {
        "hybrid, nothing learned": {n: group.hybrid for n, group in enumerate(groups)},
        "the walk, nothing learned": by_walk(groups),
        "both rankings": five_fold(groups),
        "the first ranking": by_first(groups),
    }
    for part, beginnings in PARTS.items():
        ways[f"… without {part}"] = by_first([blank(group, beginnings) for group in groups])
    return {way: measure(groups, rankings) for way, rankings in ways.items()}


def to_markdown(figures: Mapping[str, Mapping[str, Figures]]) -> str:
    """One table, a row a way, per cent."""
    heads = [f"{family} {measure}" for family, measures in SHOWN.items() for measure in measures]
    lines = [f"| | {' | '.join(heads)} |", "| --- |" + " --- |" * len(heads)]
    for way, by_family in figures.items():
        values = [
            f"{100 * by_family[f'{family}, plain'][measure]:.1f}"
            for family, measures in SHOWN.items()
            for measure in measures
        ]
        lines.append(f"| {way} | {' | '.join(values)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Read the command line, leave parts out, print or write the table."""
    parser = argparse.ArgumentParser(description="What each part of the ranking adds.")
    parser.add_argument("bench", type=Path, help="folder of folders in the BEIR layout")
    parser.add_argument("--report", type=Path, help="Markdown file to write")
    given = parser.parse_args()
    groups = prepare(
        read_sources(given.bench), lambda line: print(line, file=sys.stderr), copied=False
    )
    table = to_markdown(ablate(groups))
    print(table)
    if given.report:
        given.report.write_text(table, encoding="utf-8")


if __name__ == "__main__":
    main()
