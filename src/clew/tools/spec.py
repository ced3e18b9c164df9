"""What a tool is: its name, parameters, result and rights, and the function that does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from clew.engine import Engine
    from clew.models.llm.client import LanguageModelClient

Kind = Literal[
    "string", "name", "integer", "number", "boolean", "strings", "integers", "object", "objects"
]
"""A `name` is text or the number of an id; `strings`, `integers` and `objects` are arrays; `object`
is a free-form map, for contracts that have one."""
Scope = Literal["read", "write", "admin"]
Profile = Literal["core", "full", "memory"]
CORE: frozenset[Profile] = frozenset({"core", "full"})
FULL: frozenset[Profile] = frozenset({"full"})
MEMORY: frozenset[Profile] = frozenset({"memory", "full"})
Arguments: TypeAlias = Mapping[str, Any]
Result: TypeAlias = dict[str, Any]
"""Structured content; the dispatcher adds `success`."""
Schema: TypeAlias = dict[str, Any]
"""JSON Schema, flat: no `anyOf`, no `$ref`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """One parameter of a tool, or one field of an object in an array of objects."""

    name: str
    kind: Kind
    description: str
    """Says ranges and defaults again, since some clients drop them."""
    required: bool = False
    default: object = None
    """What is taken where it is missing or null; a required one has none."""
    minimum: float | None = None
    maximum: float | None = None
    clamped: bool = False
    """Whether a number out of range is moved into it; else it is an error."""
    choices: tuple[str, ...] = ()
    fields: tuple[Parameter, ...] = ()
    """Of `objects`."""
    max_items: int = 1000
    """Of arrays."""
    max_length: int = 100_000
    """Characters of a string."""
    lone: bool = False
    """Whether one of `strings` may come without its array, and an object for its JSON."""
    blank: bool = True
    """Whether a string may be without a visible character."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who calls, and what they may do."""

    name: str = "local"
    namespaces: tuple[str, ...] = ()
    """Those that the caller may name; the first is the default. Empty: the engine's alone."""
    scopes: frozenset[Scope] = frozenset({"read", "write", "admin"})
    tools: frozenset[str] | None = None
    """Names of the tools allowed; None: all that the scopes allow."""
    model: LanguageModelClient | None = None
    """Asked in place of the engine's own: what a conversation takes is counted together."""


class Progress:
    """Told how far a call is; a server sends it on, by hand nothing happens."""

    def report(self, done: float, total: float | None, message: str) -> None:
        """`done` of `total` (None: unknown)."""

    def tell(self, piece: str) -> None:
        """A piece of an answer in words, as soon as it may be shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call of a tool: the engine it works on, and the caller."""

    engine: Engine
    caller: Caller
    services: Mapping[str, Any] = field(default_factory=dict)
    """What some tools need beside the engine, by name: `jobs` (a `JobRunner`)."""
    progress: Progress = field(default_factory=Progress)


Run: TypeAlias = Callable[[Call, Arguments], Result]


@dataclass(frozen=True, kw_only=True, slots=True)
class Undo:
    """The way back from what a tool did, which the audit log keeps."""

    take_back: Run
    """Given what `before` told with the arguments and the result of the call; raises `ClewError`
    where it cannot be any more."""
    before: Run | None = None
    """What has to be known of before, as JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """One tool, as every client sees it."""

    name: str
    """At most 40 characters of `[a-z0-9_]`."""
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    result: Schema
    """JSON Schema of the result, `success` not among its properties."""
    run: Run
    scope: Scope
    profiles: frozenset[Profile]
    changes: bool = True
    """Whether it may change something; a tool of the scope `read` never does."""
    destructive: bool = False
    """Deletes or replaces what was there."""
    frees: bool = False
    """Takes nothing in, so that it works in a namespace that is full, as what is destructive."""
    idempotent: bool = False
    """Calling it again with the same arguments changes nothing more; of one that reads, always."""
    open_world: bool = False
    """Reaches beyond the store: files, addresses."""
    confirm: bool = False
    """Asks before it acts: by elicitation where the client can, else by `confirm=true`."""

    @property
    def read_only(self) -> bool:
        """Whether it changes nothing."""
        return self.scope == "read" or not self.changes
