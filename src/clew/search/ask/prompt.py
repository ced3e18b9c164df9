"""What a language model is asked for an answer, and the form of its reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from clew.ports.language_model import Message, Request
from clew.untrusted import NOTICE, escaped, untrusted_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.settings import LlmSettings, LlmTaskSettings
    from clew.types import ContextPart, Hit

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
