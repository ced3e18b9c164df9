"""From what a search found to an answer in the documents' own sentences."""

from __future__ import annotations

import math
import re
import time
from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import islice, zip_longest
from operator import itemgetter
from textwrap import shorten
from typing import TYPE_CHECKING

from clew.graph.communities import is_sentence
from clew.search.answer.hits import can_answer
from clew.search.answer.standing import STATED
from clew.search.periods import lies_within, moment_of
from clew.search.question import WORDING, question_form
from clew.text import find_words, sentences
from clew.types import (
    DO_NOT_SAY,
    FOUND,
    LEAST_LIKELY,
    UNLIKELY,
    Answer,
    AnswerSource,
    AnswerStatement,
    Hit,
    Period,
    Quotation,
    StoredChunk,
    statement_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clew.types import ContextPart, SearchResult

NEAREST = 3
"""Passages that are shown where none is likely to answer."""
MOST_PARTS = 10
"""Reports, or lines of an overview, that are given as an answer without a model."""
SAID = 300
"""Characters of each, at most."""
MOST_QUOTED = 3
"""Sentences that are quoted where several things are asked for."""
SURELY = 0.5
"""Of the sureness of the surest passage that was read, at least, has what is quoted as ranked."""
_NEAR_BEST = 0.5
"""Of the confidence of the best passage, at least, has the one whose sentence is quoted."""
_FIELD = re.compile(r"[^\n:]{1,40}: ")
"""How a line of a record begins."""
_MARK = re.compile(r"^(?:#+|[-*+•])\s+")
"""What opens a heading or an item of a list."""
PASSAGES_ALONE = "no sentence is sure to answer; the nearest passages are shown"


def quoted_answer(
    result: SearchResult, tell: Callable[[str], None], began: float, notes: Sequence[str]
) -> Answer:
    """The answer in the documents' own words; `tell` is called with it.

    Of a whole it is what the strategy made of it, else the answering sentence of a passage.
    Where no passage is likely to answer, the documents do not say, and the nearest passages are the
    sources. `began` is when `time.perf_counter` was asked.
    """
    statements: tuple[AnswerStatement, ...] = ()
    if result.overview and result.reached:
        statements = tuple(_overview(result))
    elif result.reached:
        quoted = (_quoted(number, hit) for number, hit in _answering(result))
        wanted = MOST_QUOTED if WORDING["several"].search(result.query) else 1
        statements = tuple(islice(filter(None, quoted), wanted))
    if result.reached and not statements:
        notes = [*notes, PASSAGES_ALONE]
    tell("\n".join(s.marked for s in statements) or DO_NOT_SAY)
    return made_answer(result, statements, began, notes=notes)


def _answering(result: SearchResult) -> list[tuple[int, Hit]]:
    """Return the passages that may answer, with their numbers, in the order to quote them.

    Where passages were read these are the ones that the reader is sure of: as they are ranked,
    since that knows what holds now, and behind them what it is far less sure of. Else they are
    those nearly as likely as the best, or of an earlier text. No document answers for a period of
    which none is.
    """
    asked = result.temporal
    nothing_then = asked and asked.applied == "ordered" and (asked.since or asked.until)
    hits = [
        (number, hit)
        for number, hit in enumerate(result.hits, 1)
        if (hit.confidence is None or hit.confidence >= result.min_confidence)
        and not (nothing_then and hit.chunk.document_id)
    ]
    if any(hit.reading for _, hit in hits):
        # A statement, which nobody judges, is sure.
        read = [
            (n, hit, hit.reading.sureness if hit.reading else math.inf)
            for n, hit in hits
            if hit.reading or hit.confidence is None
        ]
        if question_form(result.query) != "keywords" and not WORDING["several"].search(
            result.query
        ):
            read = [one for one in read if not _is_doubtful(one[1], hits)]
        surest = max((sure for _, hit, sure in read if hit.reading), default=0.0)
        read.sort(key=lambda one: one[2] < SURELY * surest)
        return [(n, hit) for n, hit, sure in read if sure > FOUND]
    least = max(LEAST_LIKELY, _NEAR_BEST * (result.confidence or 0.0))
    return [
        (n, hit)
        for n, hit in hits
        if hit.confidence is None or hit.confidence >= least or hit.chunk.version
    ]


def _is_doubtful(hit: Hit, hits: Sequence[tuple[int, Hit]]) -> bool:
    """Return whether another passage of its document casts doubt on what the reader found in it.

    It answers otherwise, about as surely, and was said later: then it puts right what was said
    before. Or both are records, which differ in the one thing that was asked: the reader does not
    see which of them is meant.
    """
    own, told = hit.reading, moment_of(hit.times)
    return own is not None and any(
        other.reading.sureness >= SURELY * own.sureness
        and other.chunk.document_id == hit.chunk.document_id
        and _said_in(other) != _said_in(hit)
        and (
            (told is not None and told < (moment_of(other.times) or told))
            # What somebody says in a chat is one field, too.
            or ("\n" in hit.chunk.text and all(_is_record(one.chunk.text) for one in (hit, other)))
        )
        for _, other in hits
        if other.reading and other.chunk.id != hit.chunk.id
    )


def _said_in(hit: Hit) -> str:
    """Return what the reader found in a passage, in lower case."""
    first = hit.chunk.start
    start, end = hit.reading.span if hit.reading else (first, first)
    return hit.chunk.text[start - first : end - first].lower()


def _is_record(text: str) -> bool:
    """Return whether a passage is a few fields, each with its name."""
    return len(text) <= SAID and all(_FIELD.match(text, *one) for one in sentences(text))


def _quoted(number: int, hit: Hit, *, or_opening: bool = False) -> AnswerStatement | None:
    """The answering sentence; of a passage that is asked for by its name the first."""
    first, text = hit.chunk.start, hit.chunk.text
    by_name = or_opening or "exact" in hit.scores
    placed = [(first + start, first + end) for start, end in sentences(text)] if by_name else []
    # A whole sentence, before a greeting or a field.
    placed.sort(key=lambda one: not is_sentence(text[one[0] - first : one[1] - first]))
    answer = hit.answer or next((one for one in placed if can_answer(hit.chunk, *one)), None)
    if answer is None:
        return None
    # A record says nothing in parts: a price without its thing.
    start, end = (first, hit.chunk.end) if _is_record(text) else answer
    words = text[start - first : end - first]
    return AnswerStatement(
        text=statement_text(_MARK.sub("", words)),
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
        hit = result.hits[number - 1]
        if said := _quoted(number, hit, or_opening=True):
            whole = is_sentence(said.text)
            yield (
                said
                if whole
                else replace(said, text=f"{hit.chunk.title}: {said.text}", verbatim=False)
            )


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
            # Whole sentences as far as there is room.
            ends = [end for _, end in sentences(line) if end <= SAID]
            text = line[: ends[-1]] if ends else shorten(line, SAID, placeholder=" …")
            yield AnswerStatement(text=statement_text(text), quotations=found, supported=True)


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


def made_answer(
    result: SearchResult,
    statements: tuple[AnswerStatement, ...],
    began: float,
    *,
    notes: Sequence[str] = (),
    model: str = "",
) -> Answer:
    """An answer of these statements, with the passages that they cite; without any, the nearest."""
    quoted = [quotation for statement in statements for quotation in statement.quotations]
    cited = {quotation.source: quotation for quotation in reversed(quoted)}
    nearest = () if statements or not result.reached else range(1, 1 + len(result.hits))[:NEAREST]
    shown = sorted(cited) or nearest
    said = result.hits[quoted[0].source - 1].confidence if quoted else None
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
        confidence=result.confidence if said is None else said,
        timings_ms={
            "search": sum(result.timings_ms.values()),
            "model": 1000 * (time.perf_counter() - began),
        },
        # What is quoted has been found likely by the reader.
        notes=(*notes, *(one for one in result.notes if not statements or one != UNLIKELY)),
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


# What was stated by hand as a source of an answer: no passage says it.


def with_stated(result: SearchResult) -> SearchResult:
    """The result with what was stated by hand as its first source; as it is where nothing was."""
    if not result.stated:
        return result
    text = "\n".join(result.stated)
    chunk = StoredChunk(
        id=0,
        document_id="",
        source="",
        title=STATED,
        ordinal=0,
        section_id=0,
        start=0,
        end=len(text),
        page=None,
        text=text,
        context="",
        key=None,
        metadata={},
    )
    best, answering = result.answering, None
    if best is not None:
        start = sum(len(line) + 1 for line in result.stated[:best])
        answering = start, start + len(result.stated[best])
    hit = Hit(chunk=chunk, score=0.0, scores={}, source="graph", answer=answering)
    parts = tuple(p for p in result.context.parts if not p.text.startswith(STATED))
    context = replace(result.context, parts=parts)
    # A statement is not judged as passages are: one that answers is likely as it is.
    least = result.min_confidence if hit.answer is None else 0.0
    return replace(result, hits=(hit, *result.hits), context=context, min_confidence=least)
