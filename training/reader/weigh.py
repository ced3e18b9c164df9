"""Learn how the reader counts beside the ranking, and write it beside the reader's model.

    python -m training.reader.weigh DATA --real FOLDER [--bench BENCH] [--model FOLDER] [--write]

Every question is asked as `clew search` asks it, and its best candidates are read. `order` is
learned by the choice among the candidates of a question, `confidence` by whether each answers; some
questions are asked of their store without what answers them, too. What is learned from are the open
folders of `benchmarks/everyday`, those of `worlds/` that the reader has not learned from, the open
half of `benchmarks/real`, and for the confidence the articles of SQuAD 2.0 that the reader has not
learned from, with the questions that they do not answer: the ranker has seen nothing of the first,
the second and the last. Figures are five-fold, by question.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import clew
from benchmarks.everyday.__main__ import HERE, OPEN
from benchmarks.real.__main__ import store_of
from benchmarks.real.questions import Gold, below, read_questions
from clew.engine import Engine
from clew.models.reader import OnnxReader
from clew.plugins.evaluation.run import load_beir
from clew.search.options import Options
from clew.search.ranker import rank_candidates
from clew.search.reading import ORDER, SURE, Read, can_be_read, signs
from clew.search.session import QuerySession
from clew.types import LEAST_LIKELY_READ, Document, Reading, StoredChunk
from training.reader import worlds
from training.reader.examples import HELD_OUT_WALKED, Group, read, share_of
from training.reader.walked import SETS
from training.sources import cap

QUESTIONS, FOLDERS = 100, 40
"""Of a set, and invented folders, at most."""
FOLDS = 5
WITHOUT, ELSEWHERE = 0.4, ", not there"
"""Share of the questions that are asked of their store without what answers them, too, and how such
a set is called."""
ARTICLES = "articles"
"""Questions of encyclopaedic prose tell how sure to be, not how to order people's files."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its best candidates in the order of the ranking, and which answer."""

    set: str
    question: str
    columns: np.ndarray
    """(candidates, 4) as `clew.search.reading.signs` gives them."""
    grades: np.ndarray
    """(candidates, gold passages) whether the one is the other."""

    @property
    def learned_from(self) -> bool:
        """Not those that are held out, nor the sets that are asked to judge by."""
        return self.set.removesuffix(ELSEWHERE) in ("everyday", "worlds", "real", ARTICLES)


def main() -> None:
    """Ask, learn, print, and write where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data", type=Path, help="what `training.reader.train` reads")
    parser.add_argument("--real", type=Path, help="the folder of `benchmarks.real.fetch`")
    parser.add_argument(
        "--bench", type=Path, help="data sets to judge by, nothing is learned of them"
    )
    parser.add_argument(
        "--sets", default="musique,2wikimultihopqa,hotpotqa,hotpotqa2,locomo/0,realtalk/0"
    )
    parser.add_argument("--model", default="reader")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    reader = OnnxReader(given.model)
    asked = [*_of_everyday(reader), *_of_worlds(reader), *_of_articles(given.data, reader)]
    if given.real:
        asked += _of_real(given.real, reader)
    learned = [one for one in asked if one.learned_from]
    if given.bench:
        for name in given.sets.split(","):
            asked += _of_bench(given.bench, name, reader)
    weights = {"order": learn_order(of_files(learned)), "confidence": learn_confidence(learned)}
    report(asked)
    report_confidence(asked)
    print(json.dumps(weights))
    if given.write:
        file = reader.located[0].folder / "config.json"
        told = json.loads(file.read_text("utf-8")) | {
            n: [round(x, 4) for x in w] for n, w in weights.items()
        }
        file.write_text(json.dumps(told, indent=2) + "\n", "utf-8")


def _of_bench(bench: Path, name: str, reader: OnnxReader) -> Iterator[Asked]:
    data = cap(load_beir(bench / name))
    with tempfile.TemporaryDirectory() as folder, clew.open(store=folder) as engine:
        engine.add_documents(data.documents)
        # Of those that the reader has learned from, only what was left out.
        left_out = HELD_OUT_WALKED if name in SETS else 1.0
        questions = [one for one in data.questions if share_of(one.text) < left_out]
        for question in sorted(questions, key=lambda one: share_of(one.text))[:QUESTIONS]:
            gold = [id_ for id_, grade in data.qrels[question.id].items() if grade > 0]

            def grades(chunk: StoredChunk, gold: list[str] = gold) -> list[bool]:
                passage = data.passage_of(chunk.source, chunk.key)
                return [passage == one for one in gold]

            yield from _read(engine, reader, name, question.text, grades)
    print(name, flush=True)


def _of_real(folder: Path, reader: OnnxReader) -> Iterator[Asked]:
    with clew.open(store_of(folder)) as engine:
        engine.index([folder], prune=True)
        for question in read_questions():
            if not question.gold:
                continue

            def grades(chunk: StoredChunk, gold: Sequence[Gold] = question.gold) -> list[bool]:
                return [one.holds(below(folder, chunk.source), chunk.text) for one in gold]

            part = "real held out" if question.held_out else "real"
            yield from _read(engine, reader, part, question.ask, grades)


def _of_everyday(reader: OnnxReader) -> Iterator[Asked]:
    for name in OPEN:
        with tempfile.TemporaryDirectory() as store, clew.open(store=store) as engine:
            engine.index([HERE / name])
            for line in (HERE / f"{name}.jsonl").read_text("utf-8").splitlines():
                told = json.loads(line)

                def grades(chunk: StoredChunk, gold: list[str] = told["gold"]) -> list[bool]:
                    return [Path(chunk.source).name == one for one in gold] or [False]

                yield from _read(engine, reader, "everyday", told["question"], grades)


def _of_worlds(reader: OnnxReader) -> Iterator[Asked]:
    folders: defaultdict[str, list[Group]] = defaultdict(list)
    for group in worlds.read(held_out=True, tempting=99):
        folders[group.source].append(group)
    for source in sorted(folders, key=share_of)[:FOLDERS]:
        groups = folders[source]
        notes = {one.text: one.title for group in groups for one in group.passages}
        answered: defaultdict[str, list[str]] = defaultdict(list)
        for group in groups:
            # A step of two hops adds nothing to what its goal answers.
            answered[group.question] += [one.text for one in group.passages if one.answer]
        chosen = sorted(answered, key=share_of)[: QUESTIONS // 8]
        yield from _of_documents(reader, "worlds", notes, {one: answered[one] for one in chosen})


def _of_articles(data: Path, reader: OnnxReader) -> Iterator[Asked]:
    groups = [one for one in read(data, held_out=True) if one.source == "squad_dev"]
    texts = {passage.text: passage.title for one in groups for passage in one.passages}
    chosen = sorted(groups, key=lambda one: share_of(one.question))[: 2 * QUESTIONS]
    answered = {one.question: [p.text for p in one.passages if p.helps] for one in chosen}
    yield from _of_documents(reader, ARTICLES, texts, answered)


def _of_documents(
    reader: OnnxReader, name: str, texts: Mapping[str, str], answered: Mapping[str, Sequence[str]]
) -> Iterator[Asked]:
    """Questions about texts (with their titles), each with the texts that answer it."""
    documents = [
        Document(source=f"{n}.md", title=title, text=text)
        for n, (text, title) in enumerate(texts.items())
    ]
    with tempfile.TemporaryDirectory() as store, clew.open(store=store) as engine:
        engine.add_documents(documents)
        for question, gold in answered.items():

            def grades(chunk: StoredChunk, gold: Sequence[str] = gold) -> list[bool]:
                return [chunk.text in one for one in gold] or [False]

            yield from _read(engine, reader, name, question, grades)


def _read(
    engine: Engine,
    reader: OnnxReader,
    name: str,
    question: str,
    grades: Callable[[StoredChunk], list[bool]],
) -> Iterator[Asked]:
    """The question as it is asked, and asked of the store without the passages that answer it."""
    if not can_be_read(question):
        return
    options = Options(strategy="graph", limit=10, max_tokens=1000, now=datetime.now(UTC))
    session = QuerySession.start(engine.state, question, options)
    whole = _asked(session, reader, name, grades)
    if whole is None:
        return
    yield whole
    everything = session.snapshot.chunk_ids
    right = [
        chunk.id
        for chunk in engine.store.chunks(session.snapshot.chunk_ids[session.gather().rows].tolist())
        if any(grades(chunk))
    ]
    if right and share_of(f"without {question}") < WITHOUT:
        rest = session.filtered(everything[~np.isin(everything, right)])
        without = _asked(rest, reader, f"{name}{ELSEWHERE}", grades)
        if without is not None:
            yield replace(without, grades=np.zeros_like(without.grades))


def _asked(
    session: QuerySession,
    reader: OnnxReader,
    name: str,
    grades: Callable[[StoredChunk], list[bool]],
) -> Asked | None:
    evidence = session.gather()
    if not len(evidence.rows):
        return None
    ids = session.snapshot.chunk_ids[evidence.rows]
    ranker = session.resources.ranker
    found = rank_candidates(ranker, evidence, session.snapshot, session.vectors_of(ids))
    readings: dict[int, Reading] = {}
    asked = Read(session.question, evidence, session.snapshot, session.resources.store)
    best = asked.read(reader, found, readings)
    chunks = {chunk.id: chunk for chunk in session.resources.store.chunks(best)}
    columns = signs(found, [readings.get(id_) for id_ in best])
    graded = np.array([grades(chunks[id_]) for id_ in best], bool)
    return Asked(name, session.question, columns, graded)


def of_files(asked: list[Asked]) -> list[Asked]:
    """Return the questions of people's files."""
    return [one for one in asked if not one.set.startswith(ARTICLES)]


def learn_order(asked: list[Asked]) -> list[float]:
    """Return the weights under which the right candidates are chosen most surely."""

    def loss(weights: np.ndarray) -> float:
        total = 0.001 * float(weights @ weights) * len(asked)
        for one in asked:
            right = one.grades.any(axis=1)
            if right.any() and not right.all():
                values = one.columns[:, ORDER] @ weights
                chances = values - np.logaddexp.reduce(values)
                total -= float(chances[right].mean()) / _size(asked, one.set)
        return total

    return minimize(loss, np.array([1.0, 0.2, 0.0]), method="L-BFGS-B").x.tolist()


def _size(asked: list[Asked], name: str) -> float:
    """So that every set weighs the same, whatever its number of questions."""
    return sum(one.set == name for one in asked) * len({one.set for one in asked}) / len(asked)


def learn_confidence(asked: list[Asked]) -> list[float]:
    """Return a constant and the weights of the logit that a candidate answers."""
    columns = np.concatenate([one.columns[:, SURE] for one in asked])
    right = np.concatenate([one.grades.any(axis=1) for one in asked])
    share = np.concatenate([np.full(len(one.columns), 1 / _size(asked, one.set)) for one in asked])

    def loss(weights: np.ndarray) -> float:
        logits = weights[0] + columns @ weights[1:]
        wrong = np.logaddexp(0, np.where(right, -logits, logits))
        return float((wrong * share).sum() / share.sum() + 1e-4 * (weights @ weights))

    return minimize(loss, np.array([0.0, 1.0, 0.2, 0.0]), method="L-BFGS-B").x.tolist()


def report(asked: list[Asked]) -> None:
    """Print found first and recall at five, by the ranking and with the reader, five-fold."""
    fold = [int(share_of(one.question) * FOLDS) for one in asked]
    learned = [one for one in asked if one.learned_from]
    orders = [
        learn_order(
            [one for one in of_files(learned) if int(share_of(one.question) * FOLDS) != number]
        )
        for number in range(FOLDS)
    ]
    print("| set | questions | first, R@5 by the ranking | with the reader |")
    print("| --- | --- | --- | --- |")
    for name in dict.fromkeys(one.set for one in asked if one.grades.any()):
        rows = []
        for one, number in zip(asked, fold, strict=True):
            if one.set == name:
                order = np.argsort(
                    -(one.columns[:, ORDER] @ np.array(orders[number])), kind="stable"
                )
                rows.append([*_found(one.grades), *_found(one.grades[order])])
        a, b, c, d = 100 * np.mean(rows, axis=0)
        print(f"| {name} | {len(rows)} | {a:.1f}, {b:.1f} | {c:.1f}, {d:.1f} |")


def report_confidence(asked: list[Asked]) -> None:
    """Print what is recognised as answered nowhere, and lost of what is answered, five-fold."""
    learned = [one for one in asked if one.learned_from]
    fold = {one.question: int(share_of(one.question) * FOLDS) for one in asked}
    weights = [
        np.array(learn_confidence([one for one in learned if fold[one.question] != number]))
        for number in range(FOLDS)
    ]

    def best(one: Asked) -> float:
        own = weights[fold[one.question]]
        return float(1 / (1 + np.exp(-(own[0] + one.columns[:, SURE] @ own[1:]).max())))

    sure = [(one.set.removesuffix(ELSEWHERE), bool(one.grades.any()), best(one)) for one in asked]
    print(f"| set | recognised, lost below {LEAST_LIKELY_READ} | recognised at a loss of 3 % |")
    print("| --- | --- | --- |")
    for name in dict.fromkeys(of for of, _, _ in sure):
        with_answer, without = (
            np.array([value for of, has_answer, value in sure if (of, has_answer) == (name, has)])
            for has in (True, False)
        )
        least = np.quantile(with_answer, 0.03) if len(with_answer) else 0.0
        shares = [
            f"{100 * np.mean(values < bound):.0f} % of {len(values)}" if len(values) else "–"
            for values, bound in (
                (without, LEAST_LIKELY_READ),
                (with_answer, LEAST_LIKELY_READ),
                (without, least),
            )
        ]
        print(f"| {name} | {shares[0]}, {shares[1]} | {shares[2]} |")


def _found(grades: np.ndarray) -> tuple[float, float]:
    """Whether the first is gold, and the share of gold passages among the first five."""
    return float(grades[0].any()), float(grades[:5].any(axis=0).mean())


if __name__ == "__main__":
    main()
