"""Found first and found in five on real documents, by kind of question and by strategy.

    uv run python -m benchmarks.real.fetch FOLDER
    uv run python -m benchmarks.real FOLDER [--strategies auto,graph] [--misses] [--json]

The folder is indexed once, into a store beside it (`FOLDER.clew`); what has not changed since is
not indexed again. The questions that are held out are shown apart: nothing is tuned on them, and
`--misses` does not name them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import clew
from benchmarks.real.asking import Answer, ask_all, summarise
from benchmarks.real.questions import read_questions

STRATEGIES = "auto,graph,hybrid,keyword,vector"


def main() -> None:
    """Index, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--strategies", default=STRATEGIES, help=f"default: {STRATEGIES}")
    parser.add_argument("--store", type=Path, help="default: FOLDER.clew")
    parser.add_argument("--no-index", action="store_true", help="ask the store as it is")
    parser.add_argument("--misses", action="store_true", help="list what was not found in five")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    with clew.open(given.store or store_of(given.folder)) as engine:
        if not given.no_index:
            engine.index([given.folder], prune=True)
        strategies = given.strategies.split(",")
        answers = ask_all(engine, given.folder, read_questions(), strategies)
    halves = {
        name: [answer for answer in answers if answer.question.held_out is held_out]
        for name, held_out in (("open", False), ("held out", True))
    }
    tables = {name: summarise(half) for name, half in {"all": answers, **halves}.items()}
    if given.json:
        print(json.dumps(tables, indent=1))
        return
    for name, table in tables.items():
        print_table(name, table)
    if given.misses:
        print_misses(halves["open"])


def store_of(folder: Path) -> Path:
    """The store beside the folder."""
    return folder.with_name(f"{folder.name}.clew")


def print_table(name: str, table: dict[str, dict[str, dict[str, float]]]) -> None:
    """Print kinds as rows, strategies as columns: found first / found in five, in per cent."""
    strategies = list(table)
    print(f"\n## {name}\n\n| kind | questions | {' | '.join(strategies)} |")
    print("| --- " * (len(strategies) + 2) + "|")
    for kind, counted in table[strategies[0]].items():
        if kind == "no answer":
            continue
        cells = [
            f"{table[s][kind]['first']:.0f} / {table[s][kind]['five']:.0f}" for s in strategies
        ]
        print(f"| {kind} | {counted['questions']:.0f} | {' | '.join(cells)} |")
    for strategy in strategies:
        row = table[strategy]["no answer"]
        print(f"no answer, {strategy}: {', '.join(f'{k} {v:.3g}' for k, v in row.items())}")
        every = table[strategy]["all kinds"]
        print(
            f"answering sentence, {strategy}: {every['marked']:.0f} of {every['with a text']:.0f}"
            " hold what is sought"
        )


def print_misses(answers: Sequence[Answer]) -> None:
    """Print the questions whose answer is not in the first five, with what was."""
    for answer in answers:
        if answer.question.gold and not answer.five:
            print(f"\n{answer.strategy}, {answer.question.kind}: {answer.question.ask}")
            print(f"  sought {', '.join(gold.path for gold in answer.question.gold)}")
            print(f"  found  {', '.join(answer.found)}")


if __name__ == "__main__":
    main()
