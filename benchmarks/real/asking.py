"""Asking the questions of a store, and counting where the answers stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import clew
from benchmarks.real.questions import Question, below
from clew.types import Hit, NamedStrategy, SearchResult

FIRST_FEW = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """What one strategy brought back for one question."""

    question: Question
    strategy: str
    first: bool
    """The first passage is a gold one."""
    five: bool
    """A gold passage is among the first five; all of them, where all are needed."""
    score: float
    """Of the first passage; 0 where nothing came back."""
    notes: tuple[str, ...]
    found: tuple[str, ...]
    """Paths of the first five, for reading."""
    marked: bool | None
    """The answering sentence of the best gold passage among these holds the text sought; None where
    there is no such passage, or no text."""


def ask_all(
    engine: clew.Clew, folder: Path, questions: Iterable[Question], strategies: Sequence[str]
) -> list[Answer]:
    """Ask every question by every strategy."""
    return [
        _judge(
            folder,
            question,
            strategy,
            engine.search(question.ask, strategy=NamedStrategy(strategy), limit=10),
        )
        for strategy in strategies
        for question in questions
    ]


def _judge(folder: Path, question: Question, strategy: str, result: SearchResult) -> Answer:
    hits = result.hits[:FIRST_FEW]
    paths = [below(folder, hit.chunk.source) for hit in hits]
    held = [
        [gold.holds(path, hit.chunk.text) for gold in question.gold]
        for path, hit in zip(paths, hits, strict=True)
    ]
    seen = [any(column) for column in zip(*held, strict=True)]
    return Answer(
        question=question,
        strategy=strategy,
        first=bool(held) and any(held[0]),
        five=bool(seen) and (all(seen) if question.all else any(seen)),
        score=hits[0].score if hits else 0.0,
        notes=result.notes,
        found=tuple(paths),
        marked=_marked(question, hits, paths),
    )


def _marked(question: Question, hits: Sequence[Hit], paths: Sequence[str]) -> bool | None:
    for hit, path in zip(hits, paths, strict=True):
        sought = [g for g in question.gold if g.text and g.holds(path, hit.chunk.text)]
        if sought:
            start, end = (place - hit.chunk.start for place in hit.answer or (hit.chunk.start,) * 2)
            return any(gold.holds(path, hit.chunk.text[start:end]) for gold in sought)
    return None


def summarise(answers: Sequence[Answer]) -> dict[str, dict[str, dict[str, float]]]:
    """By strategy and kind: `questions`, `first` and `five` in per cent; `all kinds` at the end.

    Questions that the corpora do not answer are kept apart, as `no answer`: how many of them came
    back with a note, with nothing, and the mean score of the first passage there and elsewhere.
    """
    table: dict[str, dict[str, dict[str, float]]] = {}
    for strategy in dict.fromkeys(answer.strategy for answer in answers):
        of_strategy = [answer for answer in answers if answer.strategy == strategy]
        answered = [answer for answer in of_strategy if answer.question.gold]
        kinds = sorted({answer.question.kind for answer in answered})
        rows = {k: _rates([a for a in answered if a.question.kind == k]) for k in kinds}
        rows["all kinds"] = _rates(answered)
        rows["no answer"] = _unanswered(of_strategy)
        table[strategy] = rows
    return table


def _rates(answers: Sequence[Answer]) -> dict[str, float]:
    return {
        "questions": len(answers),
        "first": 100 * mean(answer.first for answer in answers) if answers else 0.0,
        "five": 100 * mean(answer.five for answer in answers) if answers else 0.0,
        "marked": sum(answer.marked is True for answer in answers),
        "with a text": sum(answer.marked is not None for answer in answers),
    }


def _unanswered(answers: Sequence[Answer]) -> dict[str, float]:
    without = [answer for answer in answers if not answer.question.gold]
    answered = [answer.score for answer in answers if answer.question.gold]
    return {
        "questions": len(without),
        "with notes": sum(bool(answer.notes) for answer in without),
        "nothing": sum(not answer.found for answer in without),
        "mean score": mean(answer.score for answer in without) if without else 0.0,
        "mean score of answered": mean(answered) if answered else 0.0,
    }
