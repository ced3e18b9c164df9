"""Answering by a language model: in one request, after several searches, or report by report."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import from_json

from clew.errors import ModelError
from clew.ports import LanguageModel, Message, Request
from clew.request_end import workers
from clew.search.answer.quoted import made_answer, quoted_answer, with_stated
from clew.settings import LlmSettings, LlmTaskSettings
from clew.text import find_words, fold, terms
from clew.types import (
    CLOSING,
    DO_NOT_SAY,
    OPENING,
    Answer,
    AnswerStatement,
    ContextPart,
    Hit,
    Quotation,
    SearchResult,
    statement_text,
)
from clew.untrusted import NOTICE, escaped, untrusted_block

# What a language model is asked for an answer, and the form of its reply.


MOST_STATEMENTS = 8
REPLY_TOKENS = 150
"""Of an answer, about, where none is known yet."""
_CHARACTERS_PER_TOKEN = 3
"""Fewer than there are in most languages: what is sent has to fit."""
_INSTRUCTIONS = f"""\
You answer a question from numbered passages of documents, and from nothing else that you know.
{NOTICE}
Answer with a JSON object: {{"statements": [{{"quotes": [{{"passage": 1, "words": "…"}}],\
 "statement": "…"}}]}}
For each statement give first the quotes that support it: the number of the passage, and words\
 copied from it exactly, letter for letter, between 3 and 30 words. Then give the statement: one\
 short sentence in the language of the question, which says no more than its quotes.
Documents without a number tell how the passages hang together: paths between names, reports,\
 timelines. Understand the passages by them, and quote passages alone.
Where the passages do not answer the question, answer {{"statements": []}}.
"""


class Quote(BaseModel):
    """Words of a passage."""

    passage: int
    words: str


class Stated(BaseModel):
    """A statement; its quotes come first, so that they are checked before a word of it is shown."""

    quotes: list[Quote]
    statement: str


class AnswerReply(BaseModel):
    """The reply to `answer_request`; no statements where the passages do not answer."""

    statements: list[Stated] = Field(max_length=MOST_STATEMENTS)


def answer_request(
    question: str, hits: Sequence[Hit], settings: LlmSettings, parts: Sequence[ContextPart] = ()
) -> Request:
    """The question with what was found: the first parts of the context, then passages from 1 on.

    Parts (paths, reports, …) say what passages have to do with each other. They take half of the
    room at most; the passages among them stand there anyway.
    """
    taken = len(_INSTRUCTIONS) + len(question)
    room = _room(settings, settings.answer, taken) // 2
    around: list[str] = []
    for part in parts:
        block = untrusted_block(part.text, kind=part.kind)
        if part.kind != "passage" and len(block) <= room:
            around.append(block)
            room -= len(block)
    taken += sum(map(len, around))
    blocks = passage_blocks(hits, settings, settings.answer, taken)
    asked = f"Question: {escaped(question)}"
    return Request(
        task="answer",
        instructions=_INSTRUCTIONS,
        messages=(Message(role="user", text="\n\n".join([*around, *blocks, asked])),),
        schema=AnswerReply,
        subject=question,
        documents=tuple(dict.fromkeys(hit.chunk.document_id for hit in hits[: len(blocks)])),
    )


def passage_blocks(
    hits: Sequence[Hit], settings: LlmSettings, task: LlmTaskSettings, taken: int
) -> list[str]:
    """The first passages that fit beside `taken` characters, numbered from 1; one at least."""
    room = _room(settings, task, taken)
    blocks: list[str] = []
    for number, hit in enumerate(hits, start=1):
        block = untrusted_block(hit.chunk.text, number=number, title=hit.chunk.title[:200])
        room -= len(block)
        if room < 0 and blocks:
            break
        blocks.append(block)
    return blocks


def _room(settings: LlmSettings, task: LlmTaskSettings, taken: int) -> int:
    """Characters that are left for documents in a request of a task."""
    return (settings.context_tokens - task.max_output_tokens) * _CHARACTERS_PER_TOKEN - taken


# Whether the documents stand for what a model states: its quotations, its numbers and names.


_WORD = re.compile(r"\w+")


def find_quotations(quotes: Sequence[Quote], hits: Sequence[Hit]) -> tuple[Quotation, ...]:
    """The quotes that stand in the passage that they name; the others are left out."""
    found = []
    for quote in quotes:
        if not 1 <= quote.passage <= len(hits):
            continue
        chunk = hits[quote.passage - 1].chunk
        # The model saw the text with its marks escaped.
        place = find_words(quote.words, chunk.text)
        if place is None and find_words(quote.words, escaped(chunk.text)):
            place = (0, len(chunk.text))
        if place is not None:
            start, end = place
            words = chunk.text[start:end]
            at = chunk.start
            found.append(
                Quotation(source=quote.passage, text=words, start=at + start, end=at + end)
            )
    return tuple(found)


def check_statement(
    text: str, quotations: tuple[Quotation, ...], question: str, passages: Mapping[int, str]
) -> AnswerStatement:
    """The statement, supported where it quotes and no number or name of it is new.

    `passages` are the texts by number; those quoted and the question may have its numbers and
    names, which are the words with a digit, and those with a capital but for the first word.
    """
    known = set(terms(question))
    for quotation in quotations:
        known.update(terms(passages[quotation.source]))
    # Words with a digit or, but for the first of the text, with a capital at their start.
    telling = [
        word
        for place, word in enumerate(_WORD.findall(text))
        if any(map(str.isdigit, word)) or (place and word[0].isupper())
    ]
    new = [term for word in telling for term in terms(word) if term not in known]
    return AnswerStatement(
        text=statement_text(text),
        quotations=quotations,
        supported=bool(quotations) and not new,
    )


# Reading a reply while it is written: what is checked already is told at once.


Tell = Callable[[str], None]
"""Called with each piece of the answer."""


class ReplyReader:
    """Tells the statements of a reply as far as they are written.

    The words of a statement are told as they come once a quotation of it was found; a statement
    without one is never told.
    """

    def __init__(self, question: str, hits: Sequence[Hit], tell: Tell) -> None:
        self._question, self._hits, self._tell = question, hits, tell
        self._passages = {number: hit.chunk.text for number, hit in enumerate(hits, start=1)}
        self._written = ""
        self._whole: list[AnswerStatement] = []
        self._told = ""
        """Of the statement under way."""

    def feed(self, piece: str) -> None:
        """Read on; text that is no JSON yet, or never will be, is passed over."""
        self._written += piece
        begin = self._written.find("{")
        if begin < 0:
            return
        try:
            value = from_json(self._written[begin:], allow_partial="trailing-strings")
        except ValueError:
            return
        stated = value.get("statements") if isinstance(value, dict) else None
        if not isinstance(stated, list):
            return
        for place, statement in enumerate(stated[:MOST_STATEMENTS]):
            if place >= len(self._whole):
                self._go_on(statement, done=place < len(stated) - 1)

    def finish(self, reply: AnswerReply) -> tuple[AnswerStatement, ...]:
        """All statements, the last ones told."""
        for stated in reply.statements[len(self._whole) :]:
            self._end(stated)
        return tuple(self._whole)

    def broken_off(self) -> tuple[AnswerStatement, ...]:
        """The statements that were whole, where no more of the reply comes."""
        if self._told:
            self._tell("… ")
        return tuple(self._whole)

    def _go_on(self, statement: Any, *, done: bool) -> None:  # noqa: ANN401 - JSON
        """Tell what is new of a statement; it is `done` once the next one begins."""
        try:
            if done:
                self._end(Stated.model_validate(statement))
                return
            quotes = [Quote.model_validate(quote) for quote in statement["quotes"]]
            text = str(statement["statement"])
        except (ValidationError, KeyError, TypeError):
            return
        if find_quotations(quotes, self._hits):
            # What more words will not change: neither the last word, nor what may become a
            # citation.
            whole = text.rpartition(" ")[0]
            opened, closed = (max(map(whole.rfind, marks)) for marks in (OPENING, CLOSING))
            self._tell_up_to(statement_text(whole if closed >= opened else whole[:opened]))

    def _end(self, stated: Stated) -> None:
        quotations = find_quotations(stated.quotes, self._hits)
        checked = check_statement(stated.statement, quotations, self._question, self._passages)
        self._whole.append(checked)
        if quotations:
            self._tell_up_to(checked.marked)
            self._tell(" ")
        self._told = ""

    def _tell_up_to(self, text: str) -> None:
        if text.startswith(self._told) and len(text) > len(self._told):
            self._tell(text[len(self._told) :])
            self._told = text


def answer(
    result: SearchResult,
    model: LanguageModel,
    settings: LlmSettings,
    tell: Tell,
    *,
    by_reports: bool,
) -> Answer:
    """The answer to the question of the result; `tell` is called with each piece of it.

    Where the model fails, or no passage is likely to answer, it is quoted. With `by_reports`, each
    community report is asked by itself.
    """
    began = time.perf_counter()
    result = result if by_reports else with_stated(result)
    if not result.reached:
        return quoted_answer(result, tell, began, [])
    if by_reports:
        try:
            said, notes = ask_reports(result, model, settings)
        except ModelError as error:
            said, notes = (), [str(error)]
        tell(" ".join(statement.marked for statement in said))
    else:
        said, notes = _in_one(result, model, settings, tell)
    statements = tuple(statement for statement in said if statement.quotations)
    if left := len(said) - len(statements):
        notes.append(f"{left} statement{'s' * (left > 1)} quoted no passage: left out")
    if not statements and result.overview and not notes:
        notes.append(f"{model.name} found no answer")
    if notes and not statements:
        notes[-1] += "; the documents' own sentences stand in its place"
        return quoted_answer(result, tell, began, notes)
    if not statements:
        tell(DO_NOT_SAY)
    return made_answer(result, statements, began, notes=notes, model=model.name)


def _in_one(
    result: SearchResult, model: LanguageModel, settings: LlmSettings, tell: Tell
) -> tuple[tuple[AnswerStatement, ...], list[str]]:
    """What the model states of the passages, told as it is written, and what went wrong."""
    reader = ReplyReader(result.query, result.hits, tell)
    try:
        value = None
        for reply in model.stream(
            answer_request(result.query, result.hits, settings, result.context.parts)
        ):
            if isinstance(reply, str):
                reader.feed(reply)
            else:
                value = reply.value
        assert isinstance(value, AnswerReply)
        return reader.finish(value), []
    except ModelError as error:
        return reader.broken_off(), [str(error)]


# Searching in steps: what a question is made of, then what is still missing, search by search.


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
    model: LanguageModel,
    settings: LlmSettings,
    steps: int,
) -> tuple[SearchResult, tuple[str, ...]]:
    """What all searches found, at most `steps` of them, and what was searched for.

    Where the model fails, nothing more is searched for.
    """
    searches = Searches(search)
    searches.add(question)
    try:
        if steps > 1:
            plan = model.reply(_plan_request(question)).value
            assert isinstance(plan, Plan)
            for part in plan.questions[: steps - 1]:
                searches.add(_short(part))
        while len(searches.asked) < steps:
            missing = model.reply(_missing_request(question, searches.hits(), settings)).value
            assert isinstance(missing, Missing)
            if missing.enough or not searches.add(_short(missing.question)):
                break
    except ModelError as error:
        searches.notes.append(f"{error}; the search ended after {len(searches.asked)} steps")
    return searches.joined(), tuple(searches.asked)


def step_requests(
    question: str, found: SearchResult, settings: LlmSettings, steps: int
) -> list[Request]:
    """What the steps take at most, for an estimate from the first search."""
    if steps == 1:
        return []
    missing = _missing_request(question, found.hits, settings)
    return [_plan_request(question), *[missing] * (steps - 1)]


def _plan_request(question: str) -> Request:
    return Request(
        task="route",
        instructions=_PLAN,
        messages=(Message(role="user", text=f"Question: {escaped(question)}"),),
        schema=Plan,
        subject=question,
    )


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


# Answering over the whole collection: each community report is asked, then findings are joined.


MOST_REPORTS = 16
"""Reports that are asked for one answer."""
_A_FINDING = 40 * "word "
"""As long as what a report says to a question, about; for estimates."""
_JOIN = f"""\
You answer a question from numbered findings, each of one part of a collection, and from nothing\
 else that you know. {NOTICE}
Answer with a JSON object: {{"statements": [{{"findings": [1, 2], "statement": "…"}}]}}
Each statement is one short sentence in the language of the question. It says no more than the\
 findings whose numbers it names. Say what several findings have in common once.
"""


class Joined(BaseModel):
    """A statement and the findings that it rests on."""

    findings: list[int]
    statement: str


class JoinedReply(BaseModel):
    """The reply to the request that joins findings."""

    statements: list[Joined] = Field(max_length=MOST_STATEMENTS)


def ask_reports(
    result: SearchResult, model: LanguageModel, settings: LlmSettings
) -> tuple[tuple[AnswerStatement, ...], list[str]]:
    """The statements of an answer over all reports of the result, and what was missing.

    Raises `ModelError` where no report could be asked.
    """
    reports = _reports(result, settings)
    if not reports:
        raise ModelError("there is no community report to ask: clew communities makes them")
    found: list[AnswerStatement] = []
    errors: list[ModelError] = []
    with workers(settings.concurrency) as pool:
        tried = [pool.apply_async(_findings, (result, *report, model)) for report in reports]
        for one in tried:
            try:
                found += one.get()
            except ModelError as error:
                errors.append(error)
    if len(errors) == len(reports):
        raise errors[0]
    notes = []
    if errors:
        notes.append(f"{len(errors)} of {len(reports)} reports could not be asked: {errors[0]}")
    if len(found) < 2:
        return tuple(found), notes
    try:
        return _join(result, found, model), notes
    except ModelError as error:
        notes.append(f"{error}; the findings of single reports are given as they are")
        return tuple(found[:MOST_STATEMENTS]), notes


def _join_request(result: SearchResult, found: Sequence[str]) -> Request:
    blocks = [untrusted_block(text, number=number) for number, text in enumerate(found, 1)]
    asked = f"Question: {escaped(result.query)}"
    return Request(
        task="answer",
        instructions=_JOIN,
        messages=(Message(role="user", text="\n\n".join([*blocks, asked])),),
        schema=JoinedReply,
        subject=result.query,
        documents=tuple(dict.fromkeys(hit.chunk.document_id for hit in result.hits)),
    )


def _reports(result: SearchResult, settings: LlmSettings) -> list[tuple[list[int], Request]]:
    """The passages that each report is made of, by their number in the result, and its request."""
    found = []
    for part in result.context.parts:
        ids = {id_ for citation in part.citations for id_ in citation.chunk_ids}
        passages = {n: h for n, h in enumerate(result.hits, 1) if h.chunk.public_id in ids}
        if part.kind == "report" and passages:
            request = answer_request(result.query, list(passages.values()), settings, [part])
            found.append((list(passages), request))
    return found[:MOST_REPORTS]


def report_requests(result: SearchResult, settings: LlmSettings) -> list[Request]:
    """What an answer takes at most, for an estimate: each report, then joining their findings."""
    asked = [request for _, request in _reports(result, settings)]
    return asked + [_join_request(result, [_A_FINDING] * len(asked))] * (len(asked) > 1)


def _findings(
    result: SearchResult, numbers: Sequence[int], request: Request, model: LanguageModel
) -> list[AnswerStatement]:
    """What one report and its passages say to the question; only what quotes a passage."""
    reply = model.reply(request).value
    assert isinstance(reply, AnswerReply)
    hits = [result.hits[number - 1] for number in numbers]
    said = ReplyReader(result.query, hits, lambda _: None).finish(reply)
    return [
        replace(
            statement,
            quotations=tuple(
                replace(q, source=numbers[q.source - 1]) for q in statement.quotations
            ),
        )
        for statement in said
        if statement.quotations
    ]


def _join(
    result: SearchResult, found: Sequence[AnswerStatement], model: LanguageModel
) -> tuple[AnswerStatement, ...]:
    """The findings as one answer; a statement has the quotations of those that it names."""
    value = model.reply(_join_request(result, [statement.text for statement in found])).value
    assert isinstance(value, JoinedReply)
    passages = {number: hit.chunk.text for number, hit in enumerate(result.hits, 1)}
    joined = []
    for stated in value.statements:
        named = [found[n - 1] for n in stated.findings if 1 <= n <= len(found)]
        quotations = tuple(dict.fromkeys(q for finding in named for q in finding.quotations))
        joined.append(check_statement(stated.statement, quotations, result.query, passages))
    kept = tuple(statement for statement in joined if statement.quotations)
    if not kept:
        raise ModelError(f"{model.name} named no finding")
    return kept
