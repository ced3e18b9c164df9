"""Searching in steps: what a question is made of, then what is still missing, search by search."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from clew.errors import ModelError
from clew.ports.language_model import Message, Request
from clew.search.analysis.sub_questions import split_question
from clew.search.ask.prompt import passage_blocks
from clew.text import fold
from clew.untrusted import NOTICE, escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clew.ports.language_model import LanguageModel
    from clew.settings import LlmSettings
    from clew.types import Hit, SearchResult

MOST_STEPS = 10
"""Searches of one question, at most."""
_LONGEST = 500
"""Characters of a question that a model makes."""
_PLAN = f"""\
You plan how a question is searched for in a collection of documents. {NOTICE}
Answer with a JSON object: {{"questions": ["…"]}}. Name at most four short questions, each for one\
 fact that the documents may state, in the language of the question. Leave out what can only be\
 asked once another answer is known. Where the question asks for one fact, answer\
 {{"questions": []}}.
"""
_MISSING = f"""\
You judge whether passages of documents suffice to answer a question. {NOTICE}
Answer with a JSON object: {{"enough": true, "question": ""}} where they do. Where a fact is\
 missing, answer {{"enough": false, "question": "…"}} with one short question that would find it,\
 with the names that the passages give.
"""


class Plan(BaseModel):
    """What to search for beside the question itself."""

    questions: list[str] = Field(max_length=4)


class Missing(BaseModel):
    """What is still missing; `question` would find it."""

    enough: bool
    question: str


@dataclass
class Searches:
    """The searches of one question so far."""

    search: Callable[[str], SearchResult]
    asked: list[str] = field(default_factory=list)
    results: list[SearchResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, question: str) -> bool:
        """Search once more, unless that was asked before; whether it found another passage."""
        if not question or fold(question) in map(fold, self.asked):
            return False
        known = {_identity(hit) for hit in self.hits()}
        self.asked.append(question)
        self.results.append(self.search(question))
        return any(_identity(hit) not in known for hit in self.results[-1].hits)

    def hits(self) -> tuple[Hit, ...]:
        """The passages of all searches, each once: the first of each search, then the second."""
        found: dict[tuple[str, str], Hit] = {}
        for turn in zip_longest(*(result.hits for result in self.results)):
            for hit in turn:
                if hit is not None:
                    found.setdefault(_identity(hit), hit)
        return tuple(found.values())

    def joined(self) -> SearchResult:
        """All searches as one result, that of the first question."""
        timings = sum((Counter(result.timings_ms) for result in self.results), Counter[str]())
        notes = dict.fromkeys([*self.notes, *(n for r in self.results for n in r.notes)])
        parts = dict.fromkeys(part for r in self.results for part in r.context.parts)
        return replace(
            self.results[0],
            hits=self.hits(),
            context=replace(self.results[0].context, parts=tuple(parts)),
            stated=tuple(dict.fromkeys(line for r in self.results for line in r.stated)),
            timings_ms=dict(timings),
            notes=tuple(notes),
        )


def search_in_steps(
    question: str,
    search: Callable[[str], SearchResult],
    model: LanguageModel | None,
    settings: LlmSettings,
    steps: int,
) -> tuple[SearchResult, tuple[str, ...]]:
    """What all searches found, at most `steps` of them, and what was searched for.

    Where the model fails, the question is split by rule, and nothing more is searched for.
    """
    searches = Searches(search)
    searches.add(question)
    try:
        parts = _parts(question, model) if steps > 1 else ()
        for part in parts[: steps - 1]:
            searches.add(_short(part))
        while model is not None and len(searches.asked) < steps:
            missing = _missing(question, searches.hits(), model, settings)
            if missing.enough or not searches.add(_short(missing.question)):
                break
    except ModelError as error:
        searches.notes.append(f"{error}; the search ended after {len(searches.asked)} steps")
        if len(searches.asked) == 1:
            for part in split_question(question)[: steps - 1]:
                searches.add(part)
    return searches.joined(), tuple(searches.asked)


def step_requests(
    question: str, found: SearchResult, settings: LlmSettings, steps: int
) -> list[Request]:
    """What the steps take at most, for an estimate from the first search."""
    if steps == 1:
        return []
    missing = _missing_request(question, found.hits, settings)
    return [_plan_request(question), *[missing] * (steps - 1)]


def _parts(question: str, model: LanguageModel | None) -> Sequence[str]:
    if model is None:
        return split_question(question)
    value = model.reply(_plan_request(question)).value
    assert isinstance(value, Plan)
    return value.questions


def _plan_request(question: str) -> Request:
    return Request(
        task="route",
        instructions=_PLAN,
        messages=(Message(role="user", text=f"Question: {escaped(question)}"),),
        schema=Plan,
        subject=question,
    )


def _missing(
    question: str, hits: Sequence[Hit], model: LanguageModel, settings: LlmSettings
) -> Missing:
    value = model.reply(_missing_request(question, hits, settings)).value
    assert isinstance(value, Missing)
    return value


def _missing_request(question: str, hits: Sequence[Hit], settings: LlmSettings) -> Request:
    blocks = passage_blocks(hits, settings, settings.route, len(_MISSING) + len(question))
    return Request(
        task="route",
        instructions=_MISSING,
        messages=(
            Message(role="user", text="\n\n".join([*blocks, f"Question: {escaped(question)}"])),
        ),
        schema=Missing,
        subject=question,
        documents=tuple(dict.fromkeys(hit.chunk.document_id for hit in hits[: len(blocks)])),
    )


def _short(question: str) -> str:
    """A question that a model made, within bounds; empty for what is none.

    Small models give back what stands for one in the form asked for: a word, or signs.
    """
    words = question.split()
    # Not every script has spaces between words.
    is_one = len(words) > 1 or (not question.isascii() and any(map(str.isalpha, question)))
    return " ".join(words)[:_LONGEST] if is_one else ""


def _identity(hit: Hit) -> tuple[str, str]:
    return hit.namespace, hit.chunk.public_id
