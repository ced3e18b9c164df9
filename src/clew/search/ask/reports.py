"""Answering over the whole collection: each community report is asked, then findings are joined."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from clew.errors import ModelError
from clew.ports.language_model import Message, Request
from clew.search.ask.check import check_statement
from clew.search.ask.prompt import MOST_STATEMENTS, AnswerReply, answer_request
from clew.search.ask.reader import ReplyReader
from clew.untrusted import NOTICE, escaped, untrusted_block
from clew.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.ports.language_model import LanguageModel
    from clew.settings import LlmSettings
    from clew.types import ContextPart, Hit, SearchResult
    from clew.types.answers import AnswerStatement

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


@dataclass(frozen=True, slots=True)
class _Report:
    """A report with the passages that it is made of, by their number in the result."""

    part: ContextPart
    passages: dict[int, Hit]


def ask_reports(
    result: SearchResult, model: LanguageModel, settings: LlmSettings
) -> tuple[tuple[AnswerStatement, ...], list[str]]:
    """The statements of an answer over all reports of the result, and what was missing.

    Raises `ModelError` where no report could be asked.
    """
    reports = _reports(result)
    if not reports:
        raise ModelError("there is no community report to ask: clew communities makes them")
    found: list[AnswerStatement] = []
    errors: list[ModelError] = []
    with Workers(settings.concurrency, "clew-reports") as pool:
        tried = [
            pool.submit(partial(_findings, result, report, model, settings)) for report in reports
        ]
        for one in tried:
            try:
                found += one.result()
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


def _reports(result: SearchResult) -> list[_Report]:
    found = []
    for part in result.context.parts:
        ids = {id_ for citation in part.citations for id_ in citation.chunk_ids}
        passages = {n: h for n, h in enumerate(result.hits, 1) if h.chunk.public_id in ids}
        if part.kind == "report" and passages:
            found.append(_Report(part, passages))
    return found[:MOST_REPORTS]


def report_requests(result: SearchResult, settings: LlmSettings) -> list[Request]:
    """What an answer takes at most, for an estimate: each report, then joining their findings."""
    reports = _reports(result)
    asked = [_request(result, report, settings) for report in reports]
    return asked + [_join_request(result, [_A_FINDING] * len(reports))] * (len(reports) > 1)


def _request(result: SearchResult, report: _Report, settings: LlmSettings) -> Request:
    hits = list(report.passages.values())
    return answer_request(result.query, hits, settings, [report.part])


def _findings(
    result: SearchResult, report: _Report, model: LanguageModel, settings: LlmSettings
) -> list[AnswerStatement]:
    """What one report and its passages say to the question; only what quotes a passage."""
    numbers, hits = list(report.passages), list(report.passages.values())
    reply = model.reply(_request(result, report, settings))
    assert isinstance(reply.value, AnswerReply)
    said = ReplyReader(result.query, hits, lambda _: None).finish(reply.value)
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
