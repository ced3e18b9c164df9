"""Ask every question of a data set for an answer in words, and measure what comes back."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

import clew
from clew.errors import BudgetError, SettingsError
from clew.evaluation.beir import load_beir
from clew.evaluation.gold_answers import contains, exact_match, f1, read_gold
from clew.evaluation.graph_measures import (
    community_cohesion,
    count_hops,
    graph_coverage,
    traversal_efficiency,
)
from clew.evaluation.judge import PROMPT_HASH, judge, judge_request
from clew.evaluation.run import store_folder
from clew.models.llm.budget import estimate, total

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.engine import Engine
    from clew.engine.state import Progress
    from clew.evaluation.beir import BeirDataset, Question
    from clew.models.llm.budget import Estimate
    from clew.settings import Settings
    from clew.types import Hit
    from clew.types.answers import Answer, AnswerMode

Row = dict[str, Any]
_OF_ANSWERS = ("exact_match", "f1", "contains")
_AN_ANSWER, _VERDICT_TOKENS = 30 * "word ", 8
"""An answer to be judged, and what is said of it, about; for estimates."""
_OF_CITATIONS = ("citation_precision", "citation_recall")


def evaluate_answers(
    folder: Path,
    *,
    strategy: str,
    mode: AnswerMode = "one_shot",
    k: int = 10,
    questions: int | None = None,
    judged: bool = False,
    store: Path | str | None,
    settings: Settings,
    split: str = "test",
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Index a BEIR folder, have its questions answered, and measure; shares are 0 to 1.

    The answer has `dataset`, `questions`, `strategy`, `mode`, `model`, `answers` (measures of the
    texts, None where no right answer is known; `judge` with its model and the hash of its prompt,
    where one was asked; `by_model`, the share that the model answered), `without_model` (how many
    it did not, by the reason), `spent`, `latency_ms`, `retrieval`, `stopped` (which limit of `llm`
    was reached, after which no question was asked), and `rows`, one a question.

    Args:
        folder: In the BEIR layout; right answers stand in the questions' metadata.
        strategy: How passages are found.
        mode: As `store.ask` has it.
        k: Passages of precision@k, hops, and to answer from.
        questions: The first ones alone; None: all.
        judged: Have the language model judge each answer, too.
        store: Where to index; None: a temporary store.
        settings: Of the store.
        split: Which judgements are used.
        progress: Told how many questions are done.

    Raises `InputError` for a folder that is not BEIR, `SettingsError` for a judge without a model.
    """
    dataset, gold = load_beir(folder, split=split), read_gold(folder)
    with store_folder(store) as place, clew.open(store=place, settings=settings) as engine:
        if judged and engine.state.language_model is None:
            raise SettingsError("a judge needs a language model: set llm.provider and llm.model")
        engine.add_documents(dataset.documents, progress=progress)
        asked = dataset.questions[:questions]
        rows = []
        stopped = ""
        for question in asked:
            if stopped := _reached(engine):
                break
            known = gold.get(question.id, ())
            rows.append(_row(engine, dataset, question, known, strategy, mode, k, judged))
            if progress is not None:
                progress("answers", len(rows), len(asked))
        model = engine.state.language_model
        return {
            "dataset": dataset.name,
            "questions": len(rows),
            "strategy": strategy,
            "mode": mode,
            "k": k,
            "model": None if model is None else model.name,
            "answers": _answer_measures(rows, None if model is None else model.name),
            "without_model": dict(Counter(row["why"] for row in rows if row["why"])),
            "spent": _spent(rows),
            "latency_ms": _percentiles([row["ms"] for row in rows]),
            "retrieval": {
                **_retrieval_measures(rows),
                **graph_coverage(engine),
                "community_cohesion": community_cohesion(engine),
            },
            "stopped": stopped,
            "rows": rows,
        }


def _reached(engine: Engine) -> str:
    """Why no more may be asked; empty where more may."""
    try:
        if engine.state.language_model is not None:
            engine.state.language_model.budget.check()
    except BudgetError as error:
        return str(error)
    return ""


def estimate_answers(
    folder: Path,
    *,
    strategy: str,
    mode: AnswerMode = "one_shot",
    k: int = 10,
    questions: int | None = None,
    judged: bool = False,
    store: Path | str | None,
    settings: Settings,
    split: str = "test",
    progress: Progress | None = None,
) -> Estimate:
    """What `evaluate_answers` would take, at most; the folder is indexed, and no model is asked.

    Raises what that raises, and `SettingsError` without a language model.
    """
    dataset, gold = load_beir(folder, split=split), read_gold(folder)
    found = []
    with store_folder(store) as place, clew.open(store=place, settings=settings) as engine:
        engine.add_documents(dataset.documents, progress=progress)
        for question in dataset.questions[:questions]:
            asked = None if mode == "global" else strategy
            found.append(engine.asking.estimate(question.text, strategy=asked, mode=mode, limit=k))
            known = gold.get(question.id, ())
            if judged and known:
                request = judge_request(question.text, known, _AN_ANSWER)
                found.append(estimate([request], 0, [], _VERDICT_TOKENS))
    return replace(total(found), documents=len(dataset.documents))


def _row(
    engine: Engine,
    dataset: BeirDataset,
    question: Question,
    gold: Sequence[str],
    strategy: str,
    mode: AnswerMode,
    k: int,
    judged: bool,
) -> Row:
    """All that is measured of one question."""
    began = time.perf_counter()
    asked = None if mode == "global" else strategy
    answer = engine.ask(question.text, strategy=asked, mode=mode, limit=k)
    milliseconds = 1000 * (time.perf_counter() - began)
    hits = engine.search(question.text, strategy=strategy, limit=k, context=False).hits
    grades = dataset.qrels[question.id]
    right = {passage for passage, grade in grades.items() if grade > 0}
    text = " ".join(statement.text for statement in answer.statements)
    row: Row = {
        "question": question.text,
        "answer": answer.text,
        "gold": list(gold),
        "answered": answer.answered,
        "by_model": None if engine.state.language_model is None else bool(answer.model),
        "why": _why(answer) if engine.state.language_model else "",
        "ms": milliseconds,
        "tokens": answer.usage.total,
        "cost": answer.cost,
        "calls": answer.calls,
        "cached_calls": answer.cached_calls,
        "statements": len(answer.statements),
        "unsupported": sum(not statement.supported for statement in answer.statements),
        **_citations(engine, dataset, answer, right),
        **_found(dataset, hits, right, k),
    }
    if gold:
        measures = (exact_match, f1, contains)
        row |= {name: m(text, gold) for name, m in zip(_OF_ANSWERS, measures, strict=True)}
        if judged and engine.state.language_model is not None:
            row["judged"] = judge(engine.state.language_model, question.text, gold, answer.text)
    return row


def _why(answer: Answer) -> str:
    """Why the model did not answer; empty where it did, or did not have to."""
    return answer.notes[0] if answer.notes and answer.answered and not answer.model else ""


def _citations(engine: Engine, dataset: BeirDataset, answer: Answer, right: set[str]) -> Row:
    """Share of the passages cited that are judged to answer, and of those that are cited."""
    cited = set()
    for source in answer.sources if answer.statements else ():
        document = source.id.rpartition("#")[0]
        for chunk in engine.store.document_chunks(document):
            if chunk.public_id == source.id:
                cited.add(dataset.passage_of(chunk.source, chunk.key))
    shared = len(cited & right)
    return {
        "citation_precision": shared / len(cited) if cited else None,
        "citation_recall": shared / len(right),
    }


def _found(dataset: BeirDataset, hits: Sequence[Hit], right: set[str], k: int) -> Row:
    passages = [dataset.passage_of(hit.chunk.source, hit.chunk.key) for hit in hits]
    reached = [passage for hit, passage in zip(hits, passages, strict=True) if hit.path]
    return {
        "precision": len(right.intersection(p for p in passages if p)) / k,
        "hops": dict(count_hops(hits, passages, right)),
        "reached": len(reached),
        "reached_gold": sum(passage in right for passage in reached),
        "entities": bool(reached),
    }


# --- over all questions


def _answer_measures(rows: Sequence[Row], model: str | None) -> dict[str, Any]:
    statements = sum(row["statements"] for row in rows)
    measures: dict[str, Any] = {
        name: _mean(rows, name) for name in (*_OF_ANSWERS, *_OF_CITATIONS, "answered", "by_model")
    }
    measures["unsupported"] = (
        sum(row["unsupported"] for row in rows) / statements if statements else None
    )
    if any("judged" in row for row in rows):
        said = [row["judged"] for row in rows if row.get("judged") is not None]
        measures["judge"] = {
            "right": fmean(said) if said else None,
            "judged": len(said),
            "model": model,
            "prompt": PROMPT_HASH,
        }
    return measures


def _spent(rows: Sequence[Row]) -> dict[str, Any]:
    costs = [row["cost"] for row in rows if row["cost"] is not None]
    calls, cached = (sum(row[name] for row in rows) for name in ("calls", "cached_calls"))
    return {
        "tokens": sum(row["tokens"] for row in rows),
        "cost": sum(costs) if costs else None,
        "calls": calls,
        "cache_hits": cached,
    }


def _retrieval_measures(rows: Sequence[Row]) -> dict[str, Any]:
    hops = sum((Counter(row["hops"]) for row in rows), Counter[str]())
    return {
        "precision": _mean(rows, "precision"),
        "hops": dict(sorted(hops.items())),
        "traversal_efficiency": traversal_efficiency(rows),
        "questions_in_graph": _mean(rows, "entities"),
    }


def _mean(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [float(row[name]) for row in rows if row.get(name) is not None]
    return fmean(values) if values else None


def _percentiles(values: Sequence[float]) -> dict[str, float]:
    p50, p95 = np.percentile(values, [50, 95]).tolist() if values else (0.0, 0.0)
    return {"p50": p50, "p95": p95}
