"""Ask every question of a data set for an answer in words, and measure what comes back."""

from __future__ import annotations

import hashlib
import re
import string
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel

import clew
from clew.errors import BudgetError, ModelError, SettingsError
from clew.plugins.evaluation.run import (
    BeirDataset,
    Record,
    gold_of,
    load_beir,
    percentiles,
    store_folder,
)
from clew.ports import Estimate, LanguageModel, Message, Request, total
from clew.types import NamedStrategy
from clew.untrusted import NOTICE, escaped, untrusted_block
from clew.wiring import make_language_model

if TYPE_CHECKING:
    from rich.table import Table

    from clew.engine import Engine
    from clew.graph.entity_graph import EntityGraph
    from clew.settings import Settings
    from clew.stores.backend import Progress
    from clew.types import AnswerMode, Metadata


Row = dict[str, Any]
_AN_ANSWER, _VERDICT_TOKENS = 30 * "word ", 8
"""An answer to be judged, and what is said of it, about; for estimates."""
FARTHEST = 5
"""Hops that are told apart; more count as these."""


def evaluate_answers(
    folder: Path,
    *,
    strategy: str,
    mode: AnswerMode = "one_shot",
    k: int = 10,
    questions: int | None = None,
    judged: bool = False,
    progress: Progress | None = None,
    **place: Any,  # noqa: ANN401 - see `_indexed`
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
        progress: Told how many questions are done.
        place: `store` and `settings` of it, `split` of the judgements.

    Raises `InputError` for a folder that is not BEIR, `SettingsError` for a judge without a model.
    """
    with _indexed(folder, progress, **place) as (engine, dataset):
        model = engine.state.language_model
        if judged and model is None:
            raise SettingsError("a judge needs a language model: set llm.provider and llm.model")
        asked = dataset.questions[:questions]
        rows: list[Row] = []
        stopped = ""
        for question in asked:
            try:
                if model is not None:
                    model.check()
            except BudgetError as error:
                stopped = str(error)
                break
            rows.append(_row(engine, dataset, question, strategy, mode, k, judged))
            if progress is not None:
                progress("answers", len(rows), len(asked))
        name = None if model is None else model.name
        costs = [row["cost"] for row in rows if row["cost"] is not None]
        hops = sum((Counter(row["hops"]) for row in rows), Counter[str]())
        reached = sum(row["reached"] for row in rows)
        return {
            "dataset": dataset.name,
            "questions": len(rows),
            "strategy": strategy,
            "mode": mode,
            "k": k,
            "model": name,
            "answers": _answer_measures(rows, name),
            "without_model": dict(Counter(row["why"] for row in rows if row["why"])),
            "spent": {
                "tokens": sum(row["tokens"] for row in rows),
                "cost": sum(costs) if costs else None,
                "calls": sum(row["calls"] for row in rows),
                "cache_hits": sum(row["cached_calls"] for row in rows),
            },
            "latency_ms": percentiles([row["ms"] for row in rows]),
            "retrieval": {
                "precision": _mean(rows, "precision"),
                "hops": dict(sorted(hops.items())),
                # Of the hits that a path of the graph led to, the share that answers.
                "traversal_efficiency": sum(row["reached_gold"] for row in rows) / reached
                if reached
                else None,
                "questions_in_graph": _mean(rows, "entities"),
                **graph_coverage(engine),
                "community_cohesion": community_cohesion(engine),
            },
            "stopped": stopped,
            "rows": rows,
        }


def estimate_answers(
    folder: Path,
    *,
    strategy: str,
    mode: AnswerMode = "one_shot",
    k: int = 10,
    questions: int | None = None,
    judged: bool = False,
    progress: Progress | None = None,
    **place: Any,  # noqa: ANN401 - see `_indexed`
) -> Estimate:
    """What `evaluate_answers` would take, at most; the folder is indexed, and no model is asked.

    Raises what that raises, and `SettingsError` without a language model.
    """
    found = []
    with _indexed(folder, progress, **place) as (engine, dataset):
        for question in dataset.questions[:questions]:
            asked = None if mode == "global" else NamedStrategy(strategy)
            found.append(engine.asking.estimate(question.text, strategy=asked, mode=mode, limit=k))
            known = right_answers(question.metadata)
            provider = engine.state.language_provider
            if judged and known and provider is not None:
                # As if none had been judged before.
                model = make_language_model(engine.settings, provider)
                request = judge_request(question.text, known, _AN_ANSWER)
                found.append(model.estimate([request], _VERDICT_TOKENS))
    return replace(total(found), documents=len(dataset.documents))


@contextmanager
def _indexed(
    folder: Path,
    progress: Progress | None,
    *,
    store: Path | str | None,
    settings: Settings,
    split: str = "test",
) -> Iterator[tuple[Engine, BeirDataset]]:
    """A data set, and a store that holds it: the one given, or a temporary one."""
    dataset = load_beir(folder, split=split)
    with store_folder(store) as place, clew.open(store=place, settings=settings) as engine:
        engine.add_documents(dataset.documents, progress=progress)
        yield engine, dataset


def _row(
    engine: Engine,
    dataset: BeirDataset,
    question: Record,
    strategy: str,
    mode: AnswerMode,
    k: int,
    judged: bool,
) -> Row:
    """All that is measured of one question."""
    began = time.perf_counter()
    asked = None if mode == "global" else NamedStrategy(strategy)
    answer = engine.ask(question.text, strategy=asked, mode=mode, limit=k)
    milliseconds = 1000 * (time.perf_counter() - began)
    hits = engine.search(
        question.text, strategy=NamedStrategy(strategy), limit=k, context=False
    ).hits
    passages = [dataset.passage_of(hit.chunk.source, hit.chunk.key) for hit in hits]
    paths = [(min(len(hit.path), FARTHEST), at) for hit, at in zip(hits, passages, strict=True)]
    right, model = gold_of(dataset, question.id), engine.state.language_model
    gold = right_answers(question.metadata)
    cited = {
        dataset.passage_of(chunk.source, chunk.key)
        for source in (answer.sources if answer.statements else ())
        for chunk in engine.store.document_chunks(source.id.rpartition("#")[0])
        if chunk.public_id == source.id
    }
    text = " ".join(statement.text for statement in answer.statements)
    missed = answer.notes and answer.answered and not answer.model
    row: Row = {
        "question": question.text,
        "answer": answer.text,
        "gold": list(gold),
        "answered": answer.answered,
        "by_model": None if model is None else bool(answer.model),
        # Why the model did not answer; empty where it did, or did not have to.
        "why": answer.notes[0] if model and missed else "",
        "ms": milliseconds,
        "tokens": answer.usage.total,
        "cost": answer.cost,
        "calls": answer.calls,
        "cached_calls": answer.cached_calls,
        "statements": len(answer.statements),
        "unsupported": sum(not statement.supported for statement in answer.statements),
        # Shares of the passages cited that are judged to answer, and of those that are cited.
        "citation_precision": len(cited & right) / len(cited) if cited else None,
        "citation_recall": len(cited & right) / len(right),
        # Hits that answer are counted by the hops to them, `0` without any.
        "precision": len(right.intersection(p for p in passages if p)) / k,
        "hops": dict(Counter(str(hops) for hops, at in paths if at in right)),
        "reached": sum(hops > 0 for hops, _ in paths),
        "reached_gold": sum(hops > 0 and at in right for hops, at in paths),
        "entities": any(hops > 0 for hops, _ in paths),
    }
    if gold:
        row |= measured(text, gold)
        if judged and model is not None:
            row["judged"] = judge(model, question.text, gold, answer.text)
    return row


def _answer_measures(rows: Sequence[Row], model: str | None) -> dict[str, Any]:
    statements = sum(row["statements"] for row in rows)
    citations = ("citation_precision", "citation_recall", "answered", "by_model")
    measures: dict[str, Any] = {name: _mean(rows, name) for name in (*OF_ANSWERS, *citations)}
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


def _mean(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [float(row[name]) for row in rows if row.get(name) is not None]
    return fmean(values) if values else None


# What the graph adds to retrieval: its coverage, its communities.


def graph_coverage(engine: Engine) -> dict[str, float]:
    """Shares, 0 to 1: passages that mention an entity, and entities that an edge ties to others."""
    snapshot, graph = engine.state.snapshot.whole, engine.state.entity_graph
    held = [len(snapshot.passage_entities.row(row)) > 0 for row in range(snapshot.size)]
    tied = (np.diff(graph.starts) > 0).tolist() if len(graph.entity_ids) else []
    return {
        "passages_with_entities": fmean(held) if held else 0.0,
        "entities_with_edges": fmean(tied) if tied else 0.0,
    }


def community_cohesion(engine: Engine) -> float | None:
    """Share of the strength of edges at a community's entities that stays within it, 0 to 1.

    The mean over the communities of the coarsest level; None where there are none.
    """
    members = engine.state.communities.members()
    return cohesion(engine.state.entity_graph, members[members[:, 1] == 0])


def cohesion(graph: EntityGraph, members: np.ndarray) -> float | None:
    """See `community_cohesion`; `members` are rows of entity id, level, community id."""
    if not len(members):
        return None
    community = np.full(len(graph.entity_ids), -1, dtype=np.int64)
    known = np.isin(members[:, 0], graph.entity_ids)
    community[np.searchsorted(graph.entity_ids, members[known, 0])] = members[known, 2]
    ours = np.repeat(community, np.diff(graph.starts))
    theirs = community[graph.neighbours]
    strengths = graph.strengths[graph.edges].astype(np.float64)
    shares = []
    for one in np.unique(community[community >= 0]).tolist():
        at = ours == one
        if total := strengths[at].sum():
            shares.append(strengths[at & (theirs == one)].sum() / total)
    return float(np.mean(shares)) if shares else None


# Show what `evaluate_answers` answers: as a table, or as one page that needs nothing else.


_BINS = 12
_LONGEST = 300
"""Characters of a question and of an answer that the page shows."""


def to_answers_table(report: Mapping[str, Any]) -> Table:
    """One data set's report as a table for a terminal; shares in per cent."""
    from rich.table import Table

    shown = _shown(report)
    table = Table(title=shown["title"], title_justify="left", caption=shown["caption"])
    table.add_column("measure")
    table.add_column("value", justify="right")
    for name, value in shown["figures"]:
        table.add_row(name, value)
    return table


def to_page(reports: Sequence[Mapping[str, Any]]) -> str:
    """Reports of several data sets as one HTML page with plots; it holds no script and no link."""
    from jinja2 import Environment

    text = (files("clew.plugins.evaluation") / "page.html").read_text("utf-8")
    made = Environment(autoescape=True, trim_blocks=True).from_string(text)
    return made.render(reports=map(_shown, reports)).lstrip() + "\n"


def _shown(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report in words: its title, its figures, what is plotted, and a line for each question."""
    judged = report["answers"].get("judge")
    spent, latency = report["spent"], report["latency_ms"]
    answers, retrieval = report["answers"], report["retrieval"]
    hops = retrieval["hops"]
    named = {
        "exact match": answers["exact_match"],
        "F1": answers["f1"],
        "right answer contained": answers["contains"],
        "judged right": judged and judged["right"],
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
    shares = [(name, 100 * value) for name, value in named.items() if value is not None]
    times = [row["ms"] for row in report["rows"]]
    counts, edges = np.histogram(times, bins=min(_BINS, len(times)) or 1)
    return {
        "title": f"{report['dataset']}: {report['questions']:,} questions, {report['mode']} by"
        f" {report['strategy']}, {report['model'] or 'no language model'}",
        "caption": f"judged by {judged['model']}, prompt {judged['prompt']},"
        f" {judged['judged']:,} answers"
        if judged
        else "",
        "figures": [
            *((name, f"{value:.1f}") for name, value in shares),
            ("tokens", f"{spent['tokens']:,}"),
            ("cost", "unknown" if spent["cost"] is None else f"${spent['cost']:.4f}"),
            ("requests, known before", f"{spent['calls']:,}, {spent['cache_hits']:,}"),
            ("milliseconds p50, p95", f"{latency['p50']:.0f}, {latency['p95']:.0f}"),
            ("hops to what answers", ", ".join(f"{hop}: {n}" for hop, n in hops.items())),
        ],
        "shares": shares,
        "hops": [(f"{hop} hops", n) for hop, n in hops.items()],
        "times": [
            (f"{low:.0f} to {high:.0f}", int(n))
            for n, low, high in zip(counts, edges[:-1], edges[1:], strict=True)
            if times
        ],
        "questions": [
            (
                row["question"][:_LONGEST],
                row["answer"][:_LONGEST],
                "; ".join(row["gold"])[:_LONGEST],
                "" if row.get("f1") is None else f"{100 * row['f1']:.0f}",
                f"{row['ms']:.0f}",
            )
            for row in report["rows"]
        ],
    }


# Answers that are known to be right, and how near another one is: as SQuAD measures it.
#
# Rajpurkar et al. 2016: case, punctuation, articles and spaces do not count.


OF_ANSWERS = ("exact_match", "f1", "contains")
_FIELDS = ("answer", "answers", "answer_aliases")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def right_answers(metadata: Metadata) -> tuple[str, ...]:
    """Those of a question that has any, as `answer`, `answers` or `answer_aliases`.

    Each is a value or a list of them.
    """
    given = [metadata.get(name) for name in _FIELDS]
    values = [one for value in given for one in (value if isinstance(value, list) else [value])]
    return tuple(dict.fromkeys(str(one) for one in values if isinstance(one, str | int | float)))


def normalise(text: str) -> str:
    """Lower case, without punctuation, English articles and further spaces."""
    plain = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def measured(answer: str, gold: Sequence[str]) -> dict[str, float]:
    """How near an answer is to the nearest right one, by each of `OF_ANSWERS`, 0 to 1.

    Whether it is the same; the harmonic mean of the shares of words that both have in common;
    whether the words of the right one stand in it, one after the other.
    """
    found, rights = normalise(answer), list(map(normalise, gold))
    shared = [_overlap(found, right) for right in rights]
    within = [f" {right} " in f" {found} " for right in rights]
    values = found in rights, max(shared, default=0.0), any(within)
    return dict(zip(OF_ANSWERS, map(float, values), strict=True))


def _overlap(found: str, right: str) -> float:
    ours, theirs = found.split(), right.split()
    if not ours or not theirs:
        return float(ours == theirs)
    shared = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * shared / (len(ours) + len(theirs))


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
