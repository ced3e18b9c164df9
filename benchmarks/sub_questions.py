"""What sub-questions would add, written by people, by how many of them are to the point.

    python -m benchmarks.sub_questions BENCH_DIR [--strategy hybrid]

The questions of strategyqa come with the steps that people wrote down for them (`decomposition`).
They are played back as the reply of a language model; steps that need the answer of another ("#1")
are left out. A step is to the point with probability p, else it is one of another question. Without
a model, questions are split by rule.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import clew
from clew.evaluation.beir import BeirDataset, load_beir
from clew.ports.models import Reply, Request
from clew.testing.fakes import ScriptedLanguageModel

SHARES = (1.0, 0.9, 0.7, 0.5)
RANKS = (5, 10)


class People(ScriptedLanguageModel):
    """Answers with the steps that people wrote, some of them those of other questions."""

    def __init__(self, steps: Mapping[str, Sequence[str]], share: float) -> None:
        super().__init__(name=f"people, {share}")  # replies are kept by name
        chance = random.Random(1)
        others = [step for found in steps.values() for step in found]
        self.steps = {
            text: [step if chance.random() < share else chance.choice(others) for step in found]
            for text, found in steps.items()
        }

    def reply(self, request: Request) -> Reply:
        """The steps of the question, a line each."""
        lines = [f"- {step}" for step in self.steps.get(request.subject, ())] or [
            f"- {request.subject}"
        ]
        return ScriptedLanguageModel(["\n".join(lines)]).reply(request)


def read_steps(folder: Path) -> dict[str, list[str]]:
    """The steps that can be asked alone, by question."""
    lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return {
        record["text"]: [step for step in record["metadata"]["decomposition"] if "#" not in step]
        for record in records
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("bench", type=Path, help="folder of BEIR data sets")
    parser.add_argument("--strategy", default="hybrid")
    parser.add_argument("--questions", type=int, help="the first ones alone")
    given = parser.parse_args()
    data = load_beir(given.bench / "strategyqa")
    data = replace(data, questions=data.questions[: given.questions])
    steps = read_steps(given.bench / "strategyqa")
    with tempfile.TemporaryDirectory(prefix="clew-parts-") as folder:
        with clew.open(folder) as store:
            store.add_documents(data.documents)
            print(row("none", recalls(store, data, given.strategy, parts=False)))
            print(row("by rule", recalls(store, data, given.strategy, parts=True)))
        for share in SHARES:
            with clew.open(folder, language_model=People(steps, share)) as store:
                print(row(f"p = {share}", recalls(store, data, given.strategy, parts=True)))


def recalls(store: clew.Clew, data: BeirDataset, strategy: str, *, parts: bool) -> list[float]:
    """Mean recall at each of `RANKS`."""
    found = [0.0] * len(RANKS)
    for question in data.questions:
        hits = store.search(
            question.text, strategy=strategy, limit=max(RANKS), sub_questions=parts, context=False
        ).hits
        ids = [data.passage_of(hit.chunk.source, hit.chunk.key) for hit in hits]
        gold = {id_ for id_, grade in data.qrels[question.id].items() if grade > 0}
        for place, rank in enumerate(RANKS):
            found[place] += len(gold.intersection(ids[:rank])) / len(gold)
    return [share / len(data.questions) for share in found]


def row(name: str, shares: Sequence[float]) -> str:
    """A row of a table, in per cent."""
    return f"| {name} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |"


if __name__ == "__main__":
    main()
