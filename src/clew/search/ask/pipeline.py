"""From what a search found to an answer: by a language model, else by the documents' sentences."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from itertools import islice, zip_longest
from operator import itemgetter
from textwrap import shorten
from typing import TYPE_CHECKING

from clew.errors import ModelError
from clew.search.answer.answering_sentence import header_end
from clew.search.ask.prompt import AnswerReply, ReplyReader, answer_request, with_stated
from clew.search.ask.stepwise import ask_reports
from clew.search.periods import lies_within, moment_of
from clew.text import find_words, sentences
from clew.types import (
    DO_NOT_SAY,
    LEAST_LIKELY,
    Answer,
    AnswerSource,
    AnswerStatement,
    Period,
    Quotation,
    statement_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clew.ports import LanguageModel
    from clew.settings import LlmSettings
    from clew.types import ContextPart, Hit, SearchResult, StoredChunk

    Tell = Callable[[str], None]

NEAREST = 3
"""Passages that are shown where none is likely to answer."""
MOST_PARTS = 10
"""Reports, or lines of an overview, that are given as an answer without a model."""
SAID = 300
"""Characters of each, at most."""
_NEAR_BEST = 0.5
"""Of the confidence of the best passage, at least, has the one whose sentence is quoted."""
WITHOUT_MODEL = "no language model is configured: this is quoted from the documents"
PASSAGES_ALONE = "no passage is likely to answer; the nearest are shown"


def answer(
    result: SearchResult,
    model: LanguageModel | None,
    settings: LlmSettings,
    tell: Tell,
    *,
    by_reports: bool = False,
) -> Answer:
    """The answer to the question of the result; `tell` is called with each piece of it.

    Where there is no model, or it fails, it is the answering sentence of the best passage; of a
    whole, what the strategy made of it. Where no passage is likely to answer, the documents do not
    say, and the nearest passages are the sources. With `by_reports`, each community report is asked
    by itself.
    """
    began = time.perf_counter()
    result = result if by_reports else with_stated(result)
    if not result.reached:
        return _without_model(result, tell, began, [])
    if model is None:
        return _without_model(result, tell, began, [WITHOUT_MODEL])
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
        return _without_model(result, tell, began, notes)
    if not statements:
        tell(DO_NOT_SAY)
    return _made(result, statements, began, notes=notes, model=model.name)


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


def _without_model(result: SearchResult, tell: Tell, began: float, notes: Sequence[str]) -> Answer:
    """The documents in their own words: an overview, one sentence, or the nearest passages."""
    statements: tuple[AnswerStatement, ...] = ()
    if result.overview and result.reached:
        statements = tuple(_overview(result))
    elif result.reached:
        least = max(LEAST_LIKELY, _NEAR_BEST * (result.confidence or 0.0))
        # Whether it is as likely; what was not judged, or is of an earlier text, may be.
        likely = (
            n
            for n, hit in enumerate(result.hits, 1)
            if (hit.confidence is None or hit.confidence >= least or bool(hit.chunk.version))
        )
        quoted = (_quoted(number, result.hits[number - 1]) for number in likely)
        statements = tuple(islice(filter(None, quoted), 1))
    if result.reached and not statements:
        notes = [*notes, PASSAGES_ALONE]
    tell("\n".join(s.marked for s in statements) or DO_NOT_SAY)
    return _made(result, statements, began, notes=notes)


def _quoted(number: int, hit: Hit, *, or_opening: bool = False) -> AnswerStatement | None:
    """The answering sentence; of a passage that is asked for by its name the first."""
    first, text = hit.chunk.start, hit.chunk.text
    body = header_end(hit.chunk) - first
    prose = (r for r in sentences(text) if r[0] >= body and not text.startswith("#", r[0]))
    opening = next(prose, None) if or_opening or "exact" in hit.scores else None
    answer = hit.answer or (opening and (first + opening[0], first + opening[1]))
    if answer is None:
        return None
    start, end = answer
    words = text[start - first : end - first]
    return AnswerStatement(
        text=statement_text(words.lstrip("# ")),
        quotations=(Quotation(source=number, text=words, start=start, end=end),),
        supported=True,
        verbatim=True,
    )


def _overview(result: SearchResult) -> list[AnswerStatement]:
    """What answers for a whole: documents take turns, and none says more than all others.

    (A table has many rows.) What is told in order of time keeps it.
    """
    in_time = any(part.kind == "timeline" for part in result.context.parts)
    told = list(_of_period(result) if in_time else _of_parts(result))
    by_document: dict[str, list[int]] = {}
    for place, said in enumerate(told):
        cited = [result.hits[q.source - 1].chunk.document_id for q in said.quotations]
        by_document.setdefault(cited[0] if cited else "", []).append(place)
    kept = [
        own[: max(1, len(told) - len(own)) if len(by_document) > 1 else None]
        for own in by_document.values()
    ]
    chosen = [n for turn in zip_longest(*kept) for n in turn if n is not None][:MOST_PARTS]
    return [told[n] for n in (sorted(chosen) if in_time else chosen)]


def _of_period(result: SearchResult) -> Iterator[AnswerStatement]:
    """The answering sentences of what is of the period asked for, in order of time."""
    asked = result.temporal
    period = Period(start=asked.since, end=asked.until) if asked else Period(start=None, end=None)
    within = (
        (number, [time for time in hit.times if lies_within(time, period)])
        for number, hit in enumerate(result.hits, 1)
    )
    places = [(moment_of(times), number) for number, times in within if times]
    for _, number in sorted((moment.timestamp(), n) for moment, n in places if moment):
        if said := _quoted(number, result.hits[number - 1], or_opening=True):
            yield said


def _of_parts(result: SearchResult) -> Iterator[AnswerStatement]:
    """What the strategy made of the whole: a statement a report, a line of the others."""
    for part in result.context.parts:
        ids = {id_ for citation in part.citations for id_ in citation.chunk_ids}
        cited = {n: h.chunk for n, h in enumerate(result.hits, 1) if h.chunk.public_id in ids}
        for line in _told_by(part):
            # The sentences of its passages that stand in the line.
            found = tuple(
                Quotation(source=n, text=said, start=chunk.start + start, end=chunk.start + end)
                for n, chunk in cited.items()
                for start, end in sentences(chunk.text)
                if not (said := chunk.text[start:end]).startswith("#") and find_words(said, line)
            )
            text = statement_text(shorten(line, SAID, placeholder=" …"))
            yield AnswerStatement(text=text, quotations=found, supported=True)


def _told_by(part: ContextPart) -> list[str]:
    """What a part of the context says, without its marks: a report with its title, else lines."""
    if part.kind == "passage":
        return []
    heading = [line for line in part.text.split("\n") if line and not line.startswith((">", "##"))]
    body = [line[1:].strip(" -") for line in part.text.split("\n") if line.startswith(">")]
    lines = [line for line in body if any(map(str.isalnum, line))]
    if part.kind != "report":
        return lines
    title = heading[0].partition("Report: ")[2] if heading else ""
    return [f"{title}: {lines[0]}"] if lines else []


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
    nearest = range(1, 1 + min(NEAREST, len(result.hits)))
    shown = sorted(cited) or ([] if statements or not result.reached else nearest)
    return Answer(
        question=result.query,
        answered=bool(statements),
        statements=statements,
        sources=tuple(
            # On the page of what is first quoted of it.
            AnswerSource(
                number=n,
                id=hit.chunk.public_id if hit.chunk.document_id else "",
                title=hit.chunk.title or hit.chunk.source,
                source=hit.chunk.source,
                page=hit.chunk.page_at(cited[n].start) if n in cited else hit.chunk.page,
                start=hit.chunk.start,
                end=hit.chunk.end,
                path=hit.path,
                confidence=hit.confidence,
                namespace=hit.namespace,
                text="" if model else _around(hit.chunk, cited.get(n)),
            )
            for n, hit in ((n, result.hits[n - 1]) for n in shown)
        ),
        model=model,
        strategy=result.strategy,
        confidence=result.confidence,
        timings_ms={
            "search": sum(result.timings_ms.values()),
            "model": 1000 * (time.perf_counter() - began),
        },
        notes=(*notes, *result.notes),
    )


def _around(chunk: StoredChunk, quotation: Quotation | None) -> str:
    """The quotation with the sentence before it and the one behind it; else the passage."""
    if quotation is None:
        return chunk.text
    ranges = sentences(chunk.text)
    ends = bisect_left(ranges, quotation.end - chunk.start, key=itemgetter(0))
    begins = bisect_right(ranges, quotation.start - chunk.start, key=itemgetter(0)) - 1
    first, last = ranges[max(begins - 1, 0)], ranges[min(ends, len(ranges) - 1)]
    return chunk.text[first[0] : last[1]]
