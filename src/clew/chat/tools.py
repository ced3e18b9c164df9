"""The tools of a conversation: which may be called, what a model meant, and what comes back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from clew.errors import InputError
from clew.ports.language_model import ToolDefinition
from clew.tools.schema import input_schema
from clew.tools.spec import Caller
from clew.tools.toolbox import may_call
from clew.tools.truncate import shortened
from clew.tools.validate import load_json

if TYPE_CHECKING:
    from clew.models.llm.client import LanguageModelClient
    from clew.ports.language_model import ToolCall
    from clew.tools.spec import Tool
    from clew.tools.toolbox import Toolbox

Permit: TypeAlias = Callable[[str, Mapping[str, Any]], bool]
"""Whether a tool that changes something may be called with these arguments."""
MOST_AT_ONCE = 8
"""Calls of one reply that are run."""
_AT_A_TIME = 4
_ALIKE = 85
"""How alike a name must be to one of the tools for it to be meant, 0 to 100."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CalledTool:
    """A call that a model asked for, and what came of it."""

    name: str
    """The tool that was called; as the model wrote it where there is none such."""
    arguments: Mapping[str, Any]
    ok: bool
    answer: str
    """What the model was told: the result as JSON, or what to do instead."""


class ChatTools:
    """The tools that a conversation offers, and calling them."""

    def __init__(
        self,
        toolbox: Toolbox,
        tools: Sequence[Tool],
        permit: Permit,
        most_characters: int,
        *,
        in_turn: bool = False,
        model: LanguageModelClient | None = None,
    ) -> None:
        """`in_turn`: calls of one reply are never run at the same time.

        `model`: what tools ask of a model counts for it.
        """
        self._toolbox, self._permit, self._most = toolbox, permit, most_characters
        self._in_turn = in_turn
        self._tools = {tool.name: tool for tool in tools}
        self._caller = Caller(name="chat", tools=frozenset(self._tools), model=model)

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """As a model is told of them."""
        return tuple(
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters=input_schema(tool.parameters),
            )
            for tool in self._tools.values()
        )

    def run(self, calls: Sequence[ToolCall]) -> list[CalledTool]:
        """What came of each call, in order; those that only read may run at the same time."""
        read = [self._read(call, place) for place, call in enumerate(calls)]
        waiting = [one for one in read if not one.answer]
        reading = all(self._tools[one.name].read_only for one in waiting)
        if reading and len(waiting) > 1 and not self._in_turn:
            with ThreadPoolExecutor(_AT_A_TIME) as pool:
                done = iter(list(pool.map(self._called, waiting)))
        else:
            done = map(self._called, waiting)
        return [one if one.answer else next(done) for one in read]

    def _read(self, call: ToolCall, place: int) -> CalledTool:
        """The call as it is meant; with an answer where it is not run."""
        name = self._meant(call.name)
        if name is None:
            known = ", ".join(self._tools)
            return _refused(call.name, {}, f"there is no tool {call.name!r}; use one of {known}")
        if place >= MOST_AT_ONCE:
            return _refused(name, {}, f"at most {MOST_AT_ONCE} calls at once; call it again")
        try:
            arguments = _arguments(call.arguments)
        except InputError as error:
            parameters = ", ".join(parameter.name for parameter in self._tools[name].parameters)
            return _refused(name, {}, f"{error}; the parameters of {name} are {parameters}")
        if not self._tools[name].read_only and not self._permit(name, arguments):
            return _refused(name, arguments, f"the user does not allow {name}; go on without it")
        return CalledTool(name=name, arguments=arguments, ok=True, answer="")

    def _meant(self, name: str) -> str | None:
        """The tool of that name, or of one so alike that it is meant."""
        from rapidfuzz import fuzz, process

        plain = name.rpartition(".")[2].strip().casefold().replace("-", "_").replace(" ", "_")
        if plain in self._tools:
            return plain
        near = process.extractOne(plain, list(self._tools), scorer=fuzz.ratio, score_cutoff=_ALIKE)
        return str(near[0]) if near else None

    def _called(self, call: CalledTool) -> CalledTool:
        outcome = self._toolbox.call(call.name, call.arguments, caller=self._caller)
        return CalledTool(
            name=call.name,
            arguments=call.arguments,
            ok=not outcome.is_error,
            answer=self.cut(outcome.text),
        )

    def cut(self, answer: str) -> str:
        """As much of an answer as the model is shown."""
        return shortened(answer, self._most)


def choose_tools(tools: Sequence[Tool], names: Sequence[str], allowed: Sequence[str]) -> list[Tool]:
    """Those of these names, else those of the core profile that only read; and those allowed.

    Raises `InputError` for a name that no tool has, and for one that changes something and is not
    among those allowed.
    """
    known = {tool.name: tool for tool in tools if may_call(Caller(), tool)}
    for name in (*names, *allowed):
        if name not in known:
            raise InputError(f"there is no tool {name!r}; `clew tools --list` names all")
    for name in names:
        if not known[name].read_only and name not in allowed:
            raise InputError(f"{name} changes something; allow it by name, too: --allow {name}")
    chosen = names or [t.name for t in tools if t.read_only and "core" in t.profiles]
    return [known[name] for name in dict.fromkeys((*chosen, *allowed))]


def _arguments(text: str) -> dict[str, Any]:
    """The arguments as an object; JSON within a string of JSON is read, too."""
    try:
        found = load_json(text or "{}")
        found = load_json(found) if isinstance(found, str) else found
    except ValueError as error:
        raise InputError(f"the arguments are no JSON ({error})") from error
    if not isinstance(found, dict):
        raise InputError(f"the arguments are no JSON object but {json.dumps(found)[:80]}")
    return found


def _refused(name: str, arguments: Mapping[str, Any], answer: str) -> CalledTool:
    return CalledTool(name=name, arguments=arguments, ok=False, answer=answer)
