"""The best candidates judged by a language model as one set: which of them answer together.

A passage of the second hop says nothing by itself: the model sees the question, each candidate, and
the bridge that leads to it. Its choice is weighed against the ranking; a reply that cannot be used
leaves the ranking as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel

from clew.errors import ModelError, ReplyError
from clew.ports.language_model import Message, Request
from clew.search.ranking.normalise import log_odds, standard_units
from clew.search.retrieval.channels import Ranking
from clew.untrusted import NOTICE, escaped, untrusted_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.ports.language_model import LanguageModel

DEPTH = 30
"""Candidates that the model sees."""
WEIGHT = 0.5
"""Of the model's choice next to the ranking, both in standard units; learned by
`python -m benchmarks.set_filter`."""
_SHOWN = 1200
"""Characters of a candidate that the model sees."""
_INSTRUCTIONS = f"""\
You judge which passages of documents are needed to answer a question. {NOTICE}
Some questions need several passages, of which one says what the next is about. Each passage comes\
 with the bridge that leads to it: sentences of other passages, from the question on. Choose the\
 passages that together state every step from the question to its answer, and no others.
Answer with a JSON object: {{"passages": [1, 2]}}, the numbers of the passages; where none helps,\
 {{"passages": []}}.
"""


class Choice(BaseModel):
    """The numbers of the passages that answer together."""

    passages: list[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A passage as the model sees it."""

    document_id: str
    title: str
    text: str
    bridge: tuple[str, ...]
    """Sentences of other passages that lead to it, from the question on."""


def filter_by_model(
    model: LanguageModel,
    question: str,
    ranking: Ranking,
    candidates: Sequence[Candidate],
    weight: float = WEIGHT,
) -> tuple[Ranking, tuple[str, ...]]:
    """The ranking with its first passages, which are the candidates, in a better order; and notes.

    Where the model fails, it is the very ranking that was given.
    """
    try:
        chosen = choose(model, question, candidates)
    except ModelError as error:
        return ranking, (f"not filtered: {error}",)
    head = fuse(ranking.top(len(candidates)), chosen, weight)
    return head.then(ranking), ()


def choose(
    model: LanguageModel, question: str, candidates: Sequence[Candidate]
) -> NDArray[np.bool_]:
    """(n,) whether the model chose each candidate; raises `ModelError`."""
    request = filter_request(question, candidates)
    value = model.reply(request).value
    numbers = value.passages if isinstance(value, Choice) else [0]
    if not all(1 <= number <= len(candidates) for number in numbers):
        raise ReplyError(f"{model.name} chose passages that there are not", "malformed")
    chosen = np.zeros(len(candidates), dtype=bool)
    chosen[[number - 1 for number in numbers]] = True
    return chosen


def filter_request(question: str, candidates: Sequence[Candidate]) -> Request:
    """The question with all candidates and their bridges, numbered from 1."""
    blocks = []
    for number, candidate in enumerate(candidates, 1):
        bridge = "".join(f"Bridge: {' '.join(said.split())}\n" for said in candidate.bridge)
        text = f"{bridge}Passage: {candidate.text[:_SHOWN]}"
        blocks.append(untrusted_block(text, number=number, title=candidate.title[:200]))
    asked = f"Question: {escaped(question)}"
    return Request(
        task="judge",
        instructions=_INSTRUCTIONS,
        messages=(Message(role="user", text="\n\n".join([*blocks, asked])),),
        schema=Choice,
        subject=question,
        documents=tuple(dict.fromkeys(candidate.document_id for candidate in candidates)),
    )


def fuse(head: Ranking, chosen: NDArray[np.bool_], weight: float) -> Ranking:
    """The candidates in the order of score + weight × choice, both in standard units.

    A model that chose nothing, or everything, changes nothing. New scores are 0 to 1; equal ones
    keep their order.
    """
    if chosen.all() or not chosen.any():
        return head
    scores = head.scores.astype(np.float64)
    # The ranker's are the logistic function of a sum; BM25's, say, are not.
    if scores.min() > 0 and scores.max() < 1:
        scores = log_odds(scores)
    mixed = standard_units(scores) + weight * standard_units(chosen.astype(np.float64))
    order = np.argsort(-mixed, kind="stable")
    return Ranking(head.ids[order], (1 / (1 + np.exp(-mixed[order]))).astype(np.float32))
