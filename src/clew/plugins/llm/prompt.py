"""What a language model is asked for an answer, and the form of its reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import from_json

from clew.ports import Message, Request
from clew.text import find_words, terms
from clew.types import (
    CLOSING,
    OPENING,
    AnswerStatement,
    Hit,
    Quotation,
    statement_text,
)
from clew.untrusted import NOTICE, escaped, untrusted_block

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.settings import LlmSettings, LlmTaskSettings
    from clew.types import ContextPart


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
