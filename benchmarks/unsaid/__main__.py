"""Questions about known names: recognised where nothing is said, lost where it is.

    uv run python -m benchmarks.unsaid [--bench BENCH_DIR] [--real FOLDER]

The questions stand beside this module; those about `hotpotqa2` are asked where its folder is given.
`--bench` asks the questions of `hotpotqa2` and `musique`, too, and `--real` those of
`benchmarks/real`. Lost is one whose answer is among ten passages and is not called an answer.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import clew
from benchmarks.real.questions import Gold, below, read_questions
from clew.plugins.evaluation.run import load_beir
from clew.types import Hit

HERE = Path(__file__).parent
SETS = ("hotpotqa2", "musique")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and what came of it."""

    corpus: str
    held_out: bool
    has_answer: bool
    found: bool
    answered: bool
    confidence: float


def main() -> None:
    """Ask, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bench", type=Path, help="folder of folders in the BEIR layout")
    parser.add_argument("--real", type=Path, help="the documents of benchmarks/real")
    given = parser.parse_args()
    asked = [*_files(), *(_sets(given.bench) if given.bench else ())]
    asked += _real(given.real) if given.real else ()
    print("| questions | half | recognised | lost | mean confidence without / with an answer |")
    print("| --- | --- | --- | --- | --- |")
    for corpus in dict.fromkeys(one.corpus for one in asked):
        for held_out in (False, True):
            print(_row([a for a in asked if (a.corpus, a.held_out) == (corpus, held_out)]))


def _row(asked: list[Asked]) -> str:
    without = [one for one in asked if not one.has_answer]
    found = [one for one in asked if one.has_answer and one.found]
    means = (sum(a.confidence for a in half) / max(len(half), 1) for half in (without, found))
    return (
        f"| {asked[0].corpus} | {'kept apart' if asked[0].held_out else 'looked at'}"
        f" | {sum(not a.answered for a in without)} of {len(without)}"
        f" | {sum(not a.answered for a in found)} of {len(found)}"
        f" | {' / '.join(f'{mean:.2f}' for mean in means)} |"
    )


def _own(corpus: str) -> Iterator[tuple[str, str, bool]]:
    for line in (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        if one["corpus"] == corpus:
            yield one["ask"], one["gold"], one["held_out"]


def _files() -> Iterator[Asked]:
    with tempfile.TemporaryDirectory() as place, clew.open(place) as engine:
        engine.index([HERE / "files"])
        for ask, gold, held_out in _own("files"):
            right = _ends_in(gold) if gold else None
            yield _ask(engine, "files", ask, held_out=held_out, right=right)


def _ends_in(gold: str) -> Callable[[Hit], bool]:
    return lambda hit: hit.chunk.source.endswith(gold)


def _sets(bench: Path) -> Iterator[Asked]:
    for name in SETS:
        dataset = load_beir(bench / name)
        with tempfile.TemporaryDirectory() as place, clew.open(place) as engine:
            engine.add_documents(dataset.documents)
            for number, question in enumerate(dataset.questions):
                gold = {id_ for id_, grade in dataset.qrels[question.id].items() if grade > 0}
                sources = {s for s, id_ in dataset.passage_of_source.items() if id_ in gold}
                right = _is_from(sources)
                yield _ask(engine, name, question.text, held_out=number % 2 == 1, right=right)
            for ask, _, held_out in _own(name):
                yield _ask(engine, name, ask, held_out=held_out, right=None)


def _is_from(sources: Iterable[str]) -> Callable[[Hit], bool]:
    return lambda hit: hit.chunk.source in sources


def _real(folder: Path) -> Iterator[Asked]:
    with tempfile.TemporaryDirectory() as place, clew.open(place) as engine:
        engine.index([folder])
        for one in read_questions():

            def right(hit: Hit, golds: Sequence[Gold] = one.gold) -> bool:
                path = below(folder, hit.chunk.source)
                return any(gold.holds(path, hit.chunk.text) for gold in golds)

            held_out, known = one.held_out, right if one.gold else None
            yield _ask(engine, "real", one.ask, held_out=held_out, right=known)


def _ask(
    engine: clew.Clew, corpus: str, ask: str, *, held_out: bool, right: Callable[[Hit], bool] | None
) -> Asked:
    result = engine.search(ask, limit=10)
    return Asked(
        corpus=corpus,
        held_out=held_out,
        has_answer=right is not None,
        found=right is not None and any(map(right, result.hits)),
        answered=result.answered,
        confidence=result.confidence or 0.0,
    )


if __name__ == "__main__":
    main()
