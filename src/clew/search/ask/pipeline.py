"""From what a search found to an answer: by a language model, else by the documents' sentences."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from clew.errors import ModelError
from clew.search.ask.prompt import AnswerReply, answer_request
from clew.search.ask.reader import ReplyReader
from clew.search.ask.reports import ask_reports
from clew.search.ask.stated import with_stated
from clew.sentences import sentences
from clew.types.answers import (
    DO_NOT_SAY,
    Answer,
    AnswerSource,
    AnswerStatement,
    Quotation,
    statement_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clew.ports.language_model import LanguageModel
    from clew.settings import LlmSettings
    from clew.types import CharRange, Hit, SearchResult

    Tell = Callable[[str], None]

MOST_SENTENCES = 3
"""Statements of an answer without a model."""
LEAST_CONFIDENCE = 0.05
"""Of a passage whose sentence is given as an answer without a model, at least. Low, since an answer
in another language than English is judged with less confidence."""
_NEAR_BEST = 0.5
"""Of the confidence of the best passage, at least, have the others of an answer: no padding."""
WITHOUT_MODEL = "no language model is configured: these are the documents' own sentences"


def answer(
    result: SearchResult,
    model: LanguageModel | None,
    settings: LlmSettings,
    tell: Tell,
    *,
    by_reports: bool = False,
) -> Answer:
    """The answer to the question of the result; `tell` is called with each piece of it.

    Where there is no model, or it fails, the statements are the answering sentences. Where no
    passage has the confidence asked for, the documents do not say. With `by_reports`, each
    community report is asked by itself.
    """
    began = time.perf_counter()
    result = result if by_reports else with_stated(result)
    if not result.reached:
        return _without_model(result, tell, began, [])
    if model is None:
        return _without_model(result, tell, began, [WITHOUT_MODEL])
    if by_reports:
        said, notes = _by_reports(result, model, settings)
        tell(" ".join(statement.marked for statement in said))
    else:
        said, notes = _in_one(result, model, settings, tell)
    statements = tuple(statement for statement in said if statement.quotations)
    if left := len(said) - len(statements):
        notes.append(f"{left} statement{'s' * (left > 1)} quoted no passage: left out")
    if notes and not statements:
        notes[-1] += "; these are the documents' own sentences"
        return _without_model(result, tell, began, notes)
    if not statements:
        tell(DO_NOT_SAY)
    return _made(result, statements, began, notes=notes, model=model.name)


def _by_reports(
    result: SearchResult, model: LanguageModel, settings: LlmSettings
) -> tuple[tuple[AnswerStatement, ...], list[str]]:
    try:
        return ask_reports(result, model, settings)
    except ModelError as error:
        return (), [str(error)]


def _in_one(
    result: SearchResult, model: LanguageModel, settings: LlmSettings, tell: Tell
) -> tuple[tuple[AnswerStatement, ...], list[str]]:
    """What the model states of the passages, told as it is written, and what went wrong."""
    reader = ReplyReader(result.query, result.hits, tell)
    try:
        return _ask(result, model, settings, reader), []
    except ModelError as error:
        return reader.broken_off(), [str(error)]


def _ask(
    result: SearchResult, model: LanguageModel, settings: LlmSettings, reader: ReplyReader
) -> tuple[AnswerStatement, ...]:
    value = None
    for reply in model.stream(answer_request(result.query, result.hits, settings)):
        if isinstance(reply, str):
            reader.feed(reply)
        else:
            value = reply.value
    assert isinstance(value, AnswerReply)
    return reader.finish(value)


def _without_model(result: SearchResult, tell: Tell, began: float, notes: Sequence[str]) -> Answer:
    least = max(LEAST_CONFIDENCE, _NEAR_BEST * (result.confidence or 0))
    statements = tuple(_sentences(result.hits, least)) if result.reached else ()
    if result.hits and not statements:
        nearest = result.hits[0].chunk
        notes = [*notes, f"the nearest passage is of {nearest.title or nearest.source!r}"]
    tell(" ".join(s.marked for s in statements) or DO_NOT_SAY)
    return _made(result, statements, began, notes=notes)


def _sentences(hits: Sequence[Hit], least: float) -> list[AnswerStatement]:
    """The answering sentences of the best passages, each its own quotation, and each once.

    Passages of a confidence below `least` do not answer; one of none (no ranker ran) may. Of one
    that is asked for by name ("latest minutes"), no sentence of which answers, it is the first.
    """
    found: list[AnswerStatement] = []
    for number, hit in enumerate(hits, start=1):
        doubtful = hit.confidence is not None and hit.confidence < least
        answer = hit.answer or (_opening(hit) if "exact" in hit.scores else None)
        if answer is None or doubtful or len(found) == MOST_SENTENCES:
            continue
        start, end = _prose(hit, answer)
        text = hit.chunk.text[start - hit.chunk.start : end - hit.chunk.start]
        shown = statement_text(text)
        if text.strip() and all(statement.text != shown for statement in found):
            quotation = Quotation(source=number, text=text, start=start, end=end)
            found.append(AnswerStatement(text=shown, quotations=(quotation,), supported=True))
    return found


def _opening(hit: Hit) -> CharRange | None:
    start, found = hit.chunk.start, sentences(hit.chunk.text)
    return (start + found[0][0], start + found[0][1]) if found else None


def _prose(hit: Hit, answer: CharRange) -> CharRange:
    """The range of the answering sentence; of one that is a heading, that of what follows it."""
    first, text = hit.chunk.start, hit.chunk.text
    start, end = (max(0, place - first) for place in answer)
    if text[start:].lstrip().startswith("#"):
        rest = text.find("\n", start) + 1 or end
        prose = next((r for r in sentences(text[rest:]) if text[rest + r[0]] != "#"), None)
        if prose is not None:
            start, end = rest + prose[0], rest + prose[1]
    return first + start, first + end


def _made(
    result: SearchResult,
    statements: tuple[AnswerStatement, ...],
    began: float,
    *,
    notes: Sequence[str] = (),
    model: str = "",
) -> Answer:
    quoted = [quotation for statement in statements for quotation in statement.quotations]
    cited = {quotation.source: quotation for quotation in reversed(quoted)}
    return Answer(
        question=result.query,
        answered=bool(statements),
        statements=statements,
        sources=tuple(_source(result.hits[n - 1], cited[n]) for n in sorted(cited)),
        model=model,
        strategy=result.strategy,
        confidence=result.confidence,
        timings_ms={
            "search": sum(result.timings_ms.values()),
            "model": 1000 * (time.perf_counter() - began),
        },
        notes=(*notes, *result.notes),
    )


def _source(hit: Hit, first: Quotation) -> AnswerSource:
    """The passage, on the page of the first of its quotations."""
    chunk = hit.chunk
    return AnswerSource(
        number=first.source,
        id=chunk.public_id if chunk.document_id else "",
        title=chunk.title or chunk.source,
        source=chunk.source,
        page=chunk.page_at(first.start),
        start=chunk.start,
        end=chunk.end,
        path=hit.path,
        confidence=hit.confidence,
        namespace=hit.namespace,
    )
