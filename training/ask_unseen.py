"""Ask whole questions, by any strategies, of rankers that have not seen them.

    python -m training.ask_unseen BENCH_DIR [--strategies graph,auto] [--report FILE]

As `clew eval`, but each question is ranked by what was learned from the other folds: so the
figures say what a strategy does on questions that nobody trained on. By type of question, too,
where a data set has types.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from clew.engine import Engine
from clew.models.onnx import OnnxEmbedder
from clew.plugins.evaluation.run import mean_scores, rank_passages, score_rankings
from clew.settings import load_settings
from clew.types import NamedStrategy
from training.cross_validate import KS, MEASURES
from training.groups import FOLDS, fold_of
from training.prepare import Remembering, prepare
from training.regime import fit
from training.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from clew.ports import Embedder
    from clew.search.ranker import Ranker
    from training.cross_validate import Figures
    from training.groups import Group
    from training.sources import Source

    Say = Callable[[str], None]

HITS = 60
"""Chunks asked for: several may be of one passage."""
KEPT = 20
"""Passages of a ranking that are measured."""


class Unseen(Engine):
    """An engine that ranks by what was learned from the folds that a question is not of."""

    fold = 0
    rankers: Mapping[int, Ranker]

    @property
    def ranker(self) -> Ranker:
        """The ranker of the fold at hand."""
        return self.rankers[self.fold]


def learn(groups: Sequence[Group], say: Say) -> dict[int, Ranker]:
    """By fold: the ranker learned from all others."""
    rankers = {}
    for fold in range(FOLDS):
        rankers[fold] = fit([group for group in groups if group.fold != fold])
        say(f"fold {fold + 1} of {FOLDS} learned")
    return rankers


def measure(
    source: Source, strategy: str, rankers: Mapping[int, Ranker], embedder: Embedder
) -> tuple[dict[str, Figures], Counter[str]]:
    """Figures over `all` questions and by type, and how often each strategy was chosen."""
    scores: dict[str, list[Figures]] = {}
    chosen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="clew-training-") as folder:
        settings = load_settings(store=Path(folder))
        with Unseen(settings, embedder=embedder) as engine:
            engine.rankers = rankers
            engine.add_documents(source.data.documents)
            for question in source.data.questions:
                engine.fold = fold_of(question.text)
                result = engine.search(question.text, strategy=NamedStrategy(strategy), limit=HITS)
                chosen[result.strategy] += 1
                run = {"q": rank_passages(result.hits, source.data)[:KEPT]}
                gold = {"q": source.data.qrels[question.id]}
                found = score_rankings(run, gold, KS)["q"]
                for kind in ("all", *([question.type] if question.type else [])):
                    scores.setdefault(kind, []).append(found)
    return {kind: mean_scores(rows) for kind, rows in scores.items()}, chosen


def ask(bench: Path, strategies: Sequence[str], say: Say) -> Iterator[str]:
    """The report, line by line: a row a family, strategy and type; the mean of its data sets."""
    sources = read_sources(bench)
    embedder = Remembering(OnnxEmbedder(load_settings().embed))
    rankers = learn(prepare(sources, say, embedder=embedder), say)
    yield f"| | strategy | type | {' | '.join(MEASURES)} | chosen |"
    yield "| --- | --- | --- |" + " --- |" * (len(MEASURES) + 1)
    for family in dict.fromkeys(source.family for source in sources):
        members = [source for source in sources if source.family == family]
        for strategy in strategies:
            measured = [measure(source, strategy, rankers, embedder) for source in members]
            say(f"{family} by {strategy}")
            yield from _rows(family, strategy, measured)


def _rows(
    family: str, strategy: str, measured: Sequence[tuple[Mapping[str, Figures], Counter[str]]]
) -> Iterator[str]:
    counts = sum((chosen for _, chosen in measured), Counter[str]())
    chosen = ", ".join(f"{name} {count}" for name, count in counts.most_common())
    for kind in sorted({kind for figures, _ in measured for kind in figures}):
        rows = [figures[kind] for figures, _ in measured if kind in figures]
        mean = mean_scores(rows)
        values = " | ".join(f"{100 * mean[measure]:.1f}" for measure in MEASURES)
        yield f"| {family} | {strategy} | {kind} | {values} | {chosen if kind == 'all' else ''} |"


def main() -> None:
    """Read the command line, ask, and print or write the report."""
    parser = argparse.ArgumentParser(description="Ask questions of rankers that never saw them.")
    parser.add_argument("bench", type=Path, help="folder of folders in the BEIR layout")
    parser.add_argument("--strategies", default="graph,multi_hop,auto", help="separated by commas")
    parser.add_argument("--report", type=Path, help="Markdown file to write")
    given = parser.parse_args()
    lines = []
    for line in ask(
        given.bench, given.strategies.split(","), lambda line: print(line, file=sys.stderr)
    ):
        print(line, flush=True)
        lines.append(line)
    if given.report:
        given.report.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
