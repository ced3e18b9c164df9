"""What a language model can: a small known text for each task."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from pydantic import BaseModel

from clew.errors import ModelError
from clew.ports.language_model import Reply, Task, ToolDefinition, ask
from clew.untrusted import NOTICE, untrusted_block

if TYPE_CHECKING:
    from clew.models.llm.client import LanguageModelClient
    from clew.ports.language_model import Request

_TEXT = "The great clock of Vell was built by Ada Morn, who finished it in 1820."
_NAME, _YEAR = "Ada Morn", 1820
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
    """A task, `stream` or `tools`."""
    model: str
    ok: bool
    found: str
    """What came of it, or what is wrong, in a line."""
    seconds: float
    tokens_per_second: float | None


def trials(model: LanguageModelClient) -> Iterator[Trial]:
    """A trial of each task with its own model and limits, of streaming, and of calling a tool.

    Each but the last asks in the form of a schema. A model that is away fails all of them at once.
    """
    known = replace(
        ask("extract", _INSTRUCTIONS, untrusted_block(_TEXT), subject="clew llm check"),
        schema=Known,
    )
    for task in get_args(Task):
        yield _tried(model, task, replace(known, task=task))
    yield _tried(model, "stream", known)
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
    began = time.monotonic()
    asked = model.prepared(request).parameters
    rate = None
    try:
        if what == "stream":
            *pieces, reply = model.stream(request)
            assert isinstance(reply, Reply)
            ok, found = len(pieces) > 1, f"{len(pieces)} pieces"
        else:
            reply = model.reply(request)
            ok, found = _judged(reply, bool(request.tools))
        written = reply.usage.output_tokens
        rate = round(written / reply.seconds, 1) if written and reply.seconds else None
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


def _judged(reply: Reply, with_tools: bool) -> tuple[bool, str]:
    if with_tools:
        names = [call.name for call in reply.calls]
        return names == ["look_up"], f"called {', '.join(names)}" if names else "called no tool"
    value = reply.value
    right = isinstance(value, Known) and (value.name, value.year) == (_NAME, _YEAR)
    return right, "right" if right else f"in form, but wrong: {value!r}"
