"""Ask every question of a data set for an answer in words, and measure what comes back."""

from __future__ import annotations

import hashlib
import json
import re
import string
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel

import clew
from clew.errors import BudgetError, ModelError, SettingsError
from clew.evaluation.beir import QUERIES, load_beir
from clew.evaluation.run import (
    community_cohesion,
    count_hops,
    graph_coverage,
    store_folder,
    traversal_efficiency,
)
from clew.models.llm.budget import estimate, total
from clew.ports import Message, Request
from clew.untrusted import NOTICE, escaped, untrusted_block

if TYPE_CHECKING:
    from rich.table import Table

    from clew.engine import Engine
    from clew.evaluation.beir import BeirDataset, Question
    from clew.models.llm.budget import Estimate
    from clew.ports import LanguageModel
    from clew.settings import Settings
    from clew.stores.backend import Progress
    from clew.types import Answer, AnswerMode, Hit


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


# Show what `evaluate_answers` answers: as a table, or as one page that needs nothing else.


_BAR, _WIDTH, _LABEL = 22, 640, 220
"""Pixels: height of a bar, width of a plot, and of the labels beside it."""
_BINS = 12
_LONGEST = 300
"""Characters of a question and of an answer that the page shows."""
_STYLE = """\
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #8886 }
svg { max-width: 100%; height: auto } svg text { fill: currentColor; font-size: 13px }
rect { fill: #2f6f9f }
"""


def to_answers_table(report: Mapping[str, Any]) -> Table:
    """One data set's report as a table for a terminal; shares in per cent."""
    from rich.table import Table

    table = Table(title=_title(report), title_justify="left", caption=_caption(report))
    table.add_column("measure")
    table.add_column("value", justify="right")
    for name, value in _figures(report):
        table.add_row(name, value)
    return table


def to_page(reports: Sequence[Mapping[str, Any]]) -> str:
    """Reports of several data sets as one HTML page with plots; it holds no script and no link."""
    body = "\n".join(_section(report) for report in reports)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>Answers</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n"
        "</html>\n"
    )


def _title(report: Mapping[str, Any]) -> str:
    return (
        f"{report['dataset']}: {report['questions']:,} questions, {report['mode']} by"
        f" {report['strategy']}, {report['model'] or 'no language model'}"
    )


def _caption(report: Mapping[str, Any]) -> str:
    judged = report["answers"].get("judge")
    if judged is None:
        return ""
    return f"judged by {judged['model']}, prompt {judged['prompt']}, {judged['judged']:,} answers"


def _figures(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each measure in words, and its value."""
    shares = dict(_shares(report))
    yield from ((name, f"{100 * value:.1f}") for name, value in shares.items())
    spent, latency = report["spent"], report["latency_ms"]
    yield "tokens", f"{spent['tokens']:,}"
    yield "cost", "unknown" if spent["cost"] is None else f"${spent['cost']:.4f}"
    yield "requests, known before", f"{spent['calls']:,}, {spent['cache_hits']:,}"
    yield "milliseconds p50, p95", f"{latency['p50']:.0f}, {latency['p95']:.0f}"
    hops = report["retrieval"]["hops"]
    yield "hops to what answers", ", ".join(f"{hop}: {count}" for hop, count in hops.items())


def _shares(report: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Measures from 0 to 1 that there are; `judge` with its model in the caption."""
    answers, retrieval = report["answers"], report["retrieval"]
    judged = answers.get("judge", {}).get("right")
    named = {
        "exact match": answers["exact_match"],
        "F1": answers["f1"],
        "right answer contained": answers["contains"],
        "judged right": judged,
        "answered": answers["answered"],
        "answered by the model": answers["by_model"],
        "citation precision": answers["citation_precision"],
        "citation recall": answers["citation_recall"],
        "statements without support": answers["unsupported"],
        f"precision@{report['k']}": retrieval["precision"],
        "traversal efficiency": retrieval["traversal_efficiency"],
        "questions reached through the graph": retrieval["questions_in_graph"],
        "passages with entities": retrieval["passages_with_entities"],
        "entities with edges": retrieval["entities_with_edges"],
        "community cohesion": retrieval["community_cohesion"],
    }
    return ((name, value) for name, value in named.items() if value is not None)


# --- the page


def _section(report: Mapping[str, Any]) -> str:
    percent = [(name, 100 * value) for name, value in _shares(report)]
    hops = [(f"{hop} hops", float(n)) for hop, n in report["retrieval"]["hops"].items()]
    times = [row["ms"] for row in report["rows"]]
    caption = f"<p>{escape(_caption(report))}</p>" if _caption(report) else ""
    return "\n".join(
        [
            f"<h1>{escape(_title(report))}</h1>{caption}",
            _table(("measure", "value"), _figures(report)),
            f"<h2>Shares, in per cent</h2>{_bars(percent, 100)}",
            f"<h2>Passages that answer, by the hops to them</h2>{_bars(hops)}",
            f"<h2>Questions, by milliseconds</h2>{_bars(_histogram(times))}",
            "<h2>Questions</h2>",
            _questions(report["rows"]),
        ]
    )


def _questions(rows: Sequence[Mapping[str, Any]]) -> str:
    shown = [
        (
            row["question"][:_LONGEST],
            row["answer"][:_LONGEST],
            "; ".join(row["gold"])[:_LONGEST],
            "" if row.get("f1") is None else f"{100 * row['f1']:.0f}",
            f"{row['ms']:.0f}",
        )
        for row in rows
    ]
    return _table(("question", "answer", "right answer", "F1", "ms"), shown)


def _table(header: Sequence[str], rows: Iterator[Any] | Sequence[Any]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"


def _bars(values: Sequence[tuple[str, float]], most: float | None = None) -> str:
    """A plot of bars; its values stand beside them."""
    if not values:
        return "<p>None.</p>"
    most = most or max(value for _, value in values) or 1.0
    room = _WIDTH - _LABEL - 60
    lines = []
    for place, (name, value) in enumerate(values):
        top, width = place * _BAR, room * max(0.0, value) / most
        lines.append(
            f'<text x="0" y="{top + 15}">{escape(name)}</text>'
            f'<rect x="{_LABEL}" y="{top + 3}" width="{width:.1f}" height="{_BAR - 6}"/>'
            f'<text x="{_LABEL + width + 6:.1f}" y="{top + 15}">{value:.4g}</text>'
        )
    height = len(values) * _BAR
    return (
        f'<svg role="img" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">\n'
        + "\n".join(lines)
        + "\n</svg>"
    )


def _histogram(values: Sequence[float]) -> list[tuple[str, float]]:
    if not values:
        return []
    counts, edges = np.histogram(values, bins=min(_BINS, len(values)))
    return [
        (f"{low:.0f} to {high:.0f}", float(count))
        for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True)
    ]


# Answers that are known to be right, and how near another one is: as SQuAD measures it.
#
# Rajpurkar et al. 2016: case, punctuation, articles and spaces do not count.


_FIELDS = ("answer", "answers", "answer_aliases")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def read_gold(folder: Path) -> dict[str, tuple[str, ...]]:
    """Right answers by question id, of those that have one; the set was read before.

    They stand in `metadata` as `answer`, `answers` or `answer_aliases`: a value or a list of them.
    """
    found = {}
    for line in (folder / QUERIES).read_text("utf-8-sig").splitlines():
        if line.strip():
            record = json.loads(line)
            metadata = record.get("metadata") or {}
            answers = [text for name in _FIELDS for text in _texts(metadata.get(name))]
            if answers:
                found[record["_id"]] = tuple(dict.fromkeys(answers))
    return found


def normalise(text: str) -> str:
    """Lower case, without punctuation, English articles and further spaces."""
    plain = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def exact_match(answer: str, gold: Sequence[str]) -> float:
    """1 where the answer is one of those that are right."""
    return _best(answer, gold, lambda found, right: float(found == right))


def contains(answer: str, gold: Sequence[str]) -> float:
    """1 where the words of a right answer stand in the answer, one after the other."""
    return _best(answer, gold, lambda found, right: float(f" {right} " in f" {found} "))


def f1(answer: str, gold: Sequence[str]) -> float:
    """Harmonic mean of the shares of words that the answer and the nearest right one share."""
    return _best(answer, gold, _overlap)


def _best(answer: str, gold: Sequence[str], measure: Callable[[str, str], float]) -> float:
    found = normalise(answer)
    return max((measure(found, normalise(right)) for right in gold), default=0.0)


def _overlap(found: str, right: str) -> float:
    ours, theirs = found.split(), right.split()
    if not ours or not theirs:
        return float(ours == theirs)
    shared = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * shared / (len(ours) + len(theirs))


def _texts(value: Any) -> list[str]:  # noqa: ANN401 - JSON
    values = value if isinstance(value, list) else [value]
    return [str(one) for one in values if isinstance(one, str | int | float)]


# A language model as the judge of answers; its figure is worth what the model is worth.


_INSTRUCTIONS = f"""\
You judge whether an answer to a question is right. {NOTICE}
You are given the question, the answers that are known to be right, and the answer to be judged, in\
 a block. It is right where it states one of the known answers, in whatever words, and nothing that\
 contradicts it.
Answer with a JSON object: {{"right": true}} or {{"right": false}}.
"""
PROMPT_HASH = hashlib.sha256(_INSTRUCTIONS.encode()).hexdigest()[:12]
"""Stands beside every figure of a judge: another prompt is another judge."""


class Judgement(BaseModel):
    """What the judge says."""

    right: bool


def judge(model: LanguageModel, question: str, gold: Sequence[str], answer: str) -> bool | None:
    """Whether the model takes an answer for right; None where it fails to say."""
    try:
        value = model.reply(judge_request(question, gold, answer)).value
    except ModelError:
        return None
    return value.right if isinstance(value, Judgement) else None


def judge_request(question: str, gold: Sequence[str], answer: str) -> Request:
    """What the model is asked of an answer."""
    known = "\n".join(f"- {escaped(text)}" for text in gold)
    text = f"Question: {escaped(question)}\nKnown answers:\n{known}\n{untrusted_block(answer)}"
    return Request(
        task="judge",
        instructions=_INSTRUCTIONS,
        messages=(Message(role="user", text=text),),
        schema=Judgement,
        subject=question,
    )
