"""What a language model's facts add to `graph`, with a ranker that learned from such graphs, too.

    python -m training.enriched BENCH_DIR [--sets hotpotqa,multihop2] [--measured musique]

The questions of the measured set are asked twice: of its store as patterns make it, and once the
recorded facts of its `llm_triples.jsonl` were entered beside them (see `benchmarks.enrich`). Each
is ranked by what was learned from the questions of the other folds, and from those of the other
sets, whose graphs are made by patterns alone, since no facts were recorded of them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import clew
from benchmarks.enrich import TRIPLES, read_triples, recorded
from benchmarks.recorded import RecordedLanguageModel
from clew.models.onnx import OnnxEmbedder
from clew.plugins.evaluation.run import load_beir
from clew.settings import load_settings
from training.cross_validate import MEASURES, Figures, measure, scores_of
from training.groups import FOLDS
from training.prepare import Remembering, groups_of, prepare
from training.regime import fit
from training.sources import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.ports import Embedder
    from clew.search.ranker import Ranker
    from training.groups import Group, Passage

    Groups: TypeAlias = Sequence[Group]

WITHOUT, WITH = "patterns alone", "with the model's facts"


def ask_both(source: Source, triples: Path, embedder: Embedder) -> dict[str, Groups]:
    """The questions, asked of the store without the recorded facts and with them."""
    with tempfile.TemporaryDirectory(prefix="clew-training-") as folder:
        with clew.open(folder, embedder=embedder) as store:
            store.add_documents(source.data.documents)
            found: dict[str, Groups] = {WITHOUT: groups_of(store, "plain", [source])}
            model = RecordedLanguageModel(recorded(store, source.data, read_triples(triples)))
        with clew.open(folder, embedder=embedder, language_model=model) as store:
            store.enrich("extract")
            found[WITH] = groups_of(store, "plain", [source])
    return found


def compare(asked: Mapping[str, Groups], others: Groups) -> dict[tuple[str, str], Figures]:
    """Figures by the graph that is asked, and the graphs that the ranker learned from."""
    learned: dict[str, Groups] = {**asked, "both": [*asked[WITHOUT], *asked[WITH]]}
    found: dict[tuple[str, str], Figures] = {}
    for name, groups in learned.items():
        rankers = [_without(groups, others, fold) for fold in range(FOLDS)]
        for graph, questions in asked.items():
            ranked = {
                number: _ranking(rankers[group.fold], group)
                for number, group in enumerate(questions)
            }
            (found[graph, name],) = measure(questions, ranked).values()
    return found


def _without(groups: Groups, others: Groups, fold: int) -> Ranker:
    return fit([*others, *(group for group in groups if group.fold != fold)])


def _ranking(ranker: Ranker, group: Group) -> Sequence[Passage]:
    return group.ranking(scores_of(ranker, group))


def to_markdown(figures: Mapping[tuple[str, str], Figures]) -> str:
    """A row a graph and a way of learning, per cent."""
    lines = [f"| graph asked | learned from | {' | '.join(MEASURES)} |", "| --- " * 6 + "|"]
    for (graph, learned), row in sorted(figures.items()):
        values = " | ".join(f"{100 * row[name]:.1f}" for name in MEASURES)
        lines.append(f"| {graph} | {learned} | {values} |")
    return "\n".join(lines)


def run(bench: Path, measured: str, sets: Sequence[str], say: Callable[[str], None]) -> str:
    """The table."""
    embedder = Remembering(OnnxEmbedder(load_settings().embed))
    others = [Source(name, load_beir(bench / name)) for name in sets]
    learned = prepare(others, say, copied=False, embedder=embedder)
    source = Source(measured, load_beir(bench / measured))
    asked = ask_both(source, bench / measured / TRIPLES, embedder)
    say(f"{measured}: {len(source.data.questions)} questions asked twice")
    return to_markdown(compare(asked, learned))


def main() -> None:
    """Read the command line, learn, and print the table."""
    parser = argparse.ArgumentParser(description="Judge graphs with a model's facts.")
    parser.add_argument("bench", type=Path, help="folder of folders in the BEIR layout")
    parser.add_argument("--sets", default="", help="that are learned from, too")
    parser.add_argument("--measured", default="musique", help="the set with recorded facts")
    given = parser.parse_args()
    sets = [name for name in given.sets.split(",") if name]
    print(run(given.bench, given.measured, sets, lambda line: print(line, file=sys.stderr)))


if __name__ == "__main__":
    main()
