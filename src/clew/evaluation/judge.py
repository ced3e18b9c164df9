"""A language model as the judge of answers; its figure is worth what the model is worth."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from pydantic import BaseModel

from clew.errors import ModelError
from clew.ports.language_model import Message, Request
from clew.untrusted import NOTICE, escaped, untrusted_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.ports.language_model import LanguageModel

_INSTRUCTIONS = f"""\
You judge whether an answer to a question is right. {NOTICE}
You are given the question, the answers that are known to be right, and the answer to be judged, in\
 a block. It is right where it states one of the known answers, in whatever words, and nothing that\
 contradicts it.
Answer with a JSON object: {{"right": true}} or {{"right": false}}.
"""
PROMPT_HASH = hashlib.sha256(_INSTRUCTIONS.encode()).hexdigest()[:12]
"""Stands beside every figure of a judge: another prompt is another judge."""


class Judgement(BaseModel):
    """What the judge says."""

    right: bool


def judge(model: LanguageModel, question: str, gold: Sequence[str], answer: str) -> bool | None:
    """Whether the model takes an answer for right; None where it fails to say."""
    try:
        value = model.reply(judge_request(question, gold, answer)).value
    except ModelError:
        return None
    return value.right if isinstance(value, Judgement) else None


def judge_request(question: str, gold: Sequence[str], answer: str) -> Request:
    """What the model is asked of an answer."""
    known = "\n".join(f"- {escaped(text)}" for text in gold)
    text = f"Question: {escaped(question)}\nKnown answers:\n{known}\n{untrusted_block(answer)}"
    return Request(
        task="judge",
        instructions=_INSTRUCTIONS,
        messages=(Message(role="user", text=text),),
        schema=Judgement,
        subject=question,
    )
