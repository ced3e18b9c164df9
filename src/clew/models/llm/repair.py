"""Replies held to their schema: parsed, and asked for once more with what is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from clew.errors import ReplyError
from clew.ports.language_model import Message
from clew.text import one_line
from clew.untrusted import escaped

if TYPE_CHECKING:
    from pydantic import BaseModel

    from clew.ports.language_model import Reply, Request

_SHOWN = 500
"""Characters of a reply, and of what is wrong with it, that the model is told."""
_SAID = 80
"""Characters of a reply without JSON that the user is told."""


def parse(request: Request, reply: Reply) -> BaseModel | None:
    """What the request's schema makes of a reply; None for a request of plain text.

    Prose or a fence around the JSON is passed over. Raises `ReplyError` for a reply that was
    refused, cut short or empty, or that is not of the schema.
    """
    if reply.finish == "refused":
        raise ReplyError(f"{reply.model} would not answer", "refused")
    if reply.finish == "length":
        raise ReplyError(
            f"{reply.model} was cut short at {reply.usage.output_tokens:,} tokens; raise"
            f" llm.{request.task}.max_output_tokens",
            "truncated",
        )
    if not reply.text.strip() and not reply.calls:
        raise ReplyError(f"{reply.model} answered with nothing", "empty")
    if reply.calls and not request.tools:
        raise ReplyError(f"{reply.model} called a tool, and was offered none", "malformed")
    if request.schema is None or reply.calls:
        return None
    start, end = reply.text.find("{"), reply.text.rfind("}")
    if start < 0:
        raise ReplyError(
            f"{reply.model} did not answer in the form asked for: expected a JSON object, got"
            f" {one_line(reply.text)[:_SAID]!r}",
            "malformed",
        )
    try:
        return request.schema.model_validate_json(reply.text[start : end + 1])
    except (ValidationError, RecursionError) as error:
        raise ReplyError(
            f"{reply.model} did not answer in the form asked for: {_wrong(error)}", "malformed"
        ) from error


def repaired(request: Request, reply: Reply, error: ReplyError) -> Request:
    """The request once more, with the reply and what is wrong with it."""
    told = f"That is not what was asked for. {error}. Answer again, with the JSON object alone."
    return replace(
        request,
        messages=(
            *request.messages,
            Message(role="assistant", text=escaped(reply.text[:_SHOWN]) or "(nothing)"),
            Message(role="user", text=told),
        ),
    )


def _wrong(error: ValidationError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"])) or "the reply"
    return f"{place}: {first['msg']}"[:_SHOWN]
