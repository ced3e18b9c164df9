"""What a language model can: a small known text for each task."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from pydantic import BaseModel

from clew.errors import ModelError
from clew.models.llm.budget import PER_CHARACTER, fewest_tokens
from clew.ports import Reply, Task, ToolDefinition, ask
from clew.untrusted import NOTICE, untrusted_block

if TYPE_CHECKING:
    from clew.models.llm.client import LanguageModelClient
    from clew.ports import Request

_TEXT = "The great clock of Vell was built by Ada Morn, who finished it in 1820."
_NAME, _YEAR = "Ada Morn", 1820
_FILLER = " The days went by, and nothing else was built in the town."
_LONGEST = 32_768
"""Tokens of the longest prompt that is tried: it costs time, and perhaps money."""
_SHARE = 0.8
"""Of the context that is filled, by an estimate."""
_INSTRUCTIONS = (
    "Who built the clock that the document speaks of, and in which year was it finished? Answer"
    f' with a JSON object: {{"name": "…", "year": 1234}}. {NOTICE}'
)


class Known(BaseModel):
    """What the text says."""

    name: str
    year: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One request of a check."""

    what: str
    """A task, `stream`, `context length` or `tools`."""
    model: str
    ok: bool
    found: str
    """What came of it, or what is wrong, in a line."""
    seconds: float
    tokens_per_second: float | None


def trials(model: LanguageModelClient) -> Iterator[Trial]:
    """A trial of each task with its own model and limits, then of streaming, length and tools.

    Each but the last asks in the form of a schema. The long prompt fills `llm.context_tokens`; what
    is asked for stands at its beginning, where servers cut a prompt that they cannot hold.
    A model that is away fails all of them at once.
    """
    known = replace(
        ask("extract", _INSTRUCTIONS, untrusted_block(_TEXT), subject="clew check --llm"),
        schema=Known,
    )
    for task in get_args(Task):
        yield _tried(model, task, replace(known, task=task))
    yield _tried(model, "stream", known)
    settings = model.settings
    room = min(settings.context_tokens - settings.answer.max_output_tokens, _LONGEST)
    text = _TEXT + _FILLER * int(room * _SHARE / (len(_FILLER) * PER_CHARACTER))
    long = ask("answer", _INSTRUCTIONS, untrusted_block(text), subject="clew check --llm")
    yield _tried(model, "context length", replace(long, schema=Known))
    tool = ToolDefinition(
        name="look_up",
        description="Looks up who built a clock.",
        parameters={
            "type": "object",
            "properties": {"place": {"type": "string"}},
            "required": ["place"],
        },
    )
    called = ask("answer", "Use the tool.", "Who built the clock of Vell? Look it up.")
    yield _tried(model, "tools", replace(called, tools=(tool,)))


def _tried(model: LanguageModelClient, what: str, request: Request) -> Trial:
    began, rate = time.monotonic(), None
    asked = model.prepared(request).parameters
    try:
        if what == "stream":
            *pieces, reply = model.stream(request)
            ok, found = len(pieces) > 1, f"{len(pieces)} pieces"
        else:
            reply = model.reply(request)
            ok, found = _judged(what, request, reply)
        assert isinstance(reply, Reply)
        if reply.usage.output_tokens and reply.seconds:
            rate = round(reply.usage.output_tokens / reply.seconds, 1)
    except ModelError as error:
        ok, found = False, str(error)
    return Trial(
        what=what,
        model=asked.model if asked else "",
        ok=ok,
        found=found,
        seconds=round(time.monotonic() - began, 2),
        tokens_per_second=rate,
    )


def _judged(what: str, request: Request, reply: Reply) -> tuple[bool, str]:
    """Whether a reply is right, and why not; what says no number of tokens is believed."""
    if what == "tools":
        names = [call.name for call in reply.calls]
        return names == ["look_up"], f"called {', '.join(names)}" if names else "called no tool"
    read, sent = reply.usage.input_tokens, fewest_tokens(request)
    if what == "context length" and 0 < read < 0.9 * sent:  # how words are counted differs
        cut = f"read {read:,} tokens of {sent:,} at least: lower llm.context_tokens, or raise"
        return False, f"{cut} the server's own limit"
    value = reply.value
    right = isinstance(value, Known) and (value.name, value.year) == (_NAME, _YEAR)
    found = "right" if right else f"in form, but wrong: {value!r}"
    return right, f"{found}, of {read:,} tokens" if what == "context length" and read else found
