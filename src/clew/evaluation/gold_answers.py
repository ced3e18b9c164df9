"""Answers that are known to be right, and how near another one is: as SQuAD measures it.

Rajpurkar et al. 2016: case, punctuation, articles and spaces do not count.
"""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clew.evaluation.beir import QUERIES

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
