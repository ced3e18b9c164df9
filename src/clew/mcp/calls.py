"""One call of a tool: in a worker thread, with progress, cancellation and confirmation."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.from_thread
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from clew.errors import ClewError, InputError
from clew.mcp.auth import anonymous, chosen_namespace
from clew.operations.spec import Progress
from clew.request_end import has_ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from mcp.server.mcpserver import Context
    from mcp.server.session import ServerSession
    from starlette.requests import Request as HttpRequest

    from clew.mcp.auth import Access
    from clew.mcp.engines import Engines, Opened
    from clew.operations.spec import Caller, Tool
    from clew.operations.toolbox import Outcome


REPORT_SECONDS = 0.1
"""Progress is reported no more often than that."""
CONFIRM = "confirm"
"""The argument that stands for a confirmation, and the name of the question to the user."""
CONFIRM_SCHEMA = {
    "type": "object",
    "properties": {CONFIRM: {"type": "boolean", "title": "Go on", "default": False}},
    "required": [CONFIRM],
}
ARGUMENTS_SHOWN = 500
"""Characters of the arguments that the user is shown before confirming."""


class SessionProgress(Progress):
    """Sends a tool's progress from its worker thread to the client that waits."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._reported = 0.0

    def report(self, done: float, total: float | None, message: str) -> None:
        """See `clew.operations.spec.Progress`; what comes too soon after the last is left out."""
        now = time.monotonic()
        if has_ended() or (now - self._reported < REPORT_SECONDS and done != total):
            return
        self._reported = now
        anyio.from_thread.run(self._session.report_progress, done, total, message)


def run(
    scope: RequestScope,
    name: str,
    arguments: Mapping[str, Any],
    progress: SessionProgress,
    declined: bool = False,
) -> Outcome:
    """Call a tool of the caller's namespace, or note that the user declined it."""
    with scope.acquire() as opened:
        return opened.toolbox.call(
            name, arguments, caller=scope.caller, progress=progress, declined=declined
        )


def result(text: str, content: dict[str, Any] | None = None) -> CallToolResult:
    """What the client gets; of a failure the text alone, since it does not fit the schema."""
    return CallToolResult(
        content=[TextContent(text=text)], structured_content=content, is_error=content is None
    )


def destroys(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Whether a call deletes or replaces something, and so wants the user's consent."""
    dry = {p.name: p.default for p in tool.parameters if p.name == "dry_run"}
    given = {name: value for name, value in arguments.items() if value is not None}
    return tool.destructive and not {**dry, **given}.get("dry_run")


async def confirm(
    tool: Tool, arguments: dict[str, Any], context: Context[Any, Any]
) -> dict[str, Any] | InputRequiredResult | None:
    """The arguments, confirmed by the user where the client can ask them; None: they declined.

    Where it cannot, `confirm` counts as it was given; where it can, the user is asked whatever the
    assistant says in their name. The question itself is returned where the client takes it as a
    result and calls again with the answer.
    """
    capabilities = context.client_capabilities
    asked = None if capabilities is None else capabilities.elicitation
    # A client that names no mode means forms.
    if asked is None or (asked.form is None and asked.url is not None):
        return arguments
    given = {name: value for name, value in arguments.items() if name != CONFIRM}
    shown = json.dumps(given, ensure_ascii=False)
    cut = "…" if len(shown) > ARGUMENTS_SHOWN else ""
    question = f"{tool.title}: {shown[:ARGUMENTS_SHOWN]}{cut}. Go on?"
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answer = (context.input_responses or {}).get(CONFIRM)
        if not isinstance(answer, ElicitResult):
            params = ElicitRequestFormParams(message=question, requested_schema=CONFIRM_SCHEMA)
            return InputRequiredResult(input_requests={CONFIRM: ElicitRequest(params=params)})
    else:
        answer = await context.session.elicit_form(
            question, CONFIRM_SCHEMA, related_request_id=context.request_id
        )
    agreed = answer.action == "accept" and (answer.content or {}).get(CONFIRM) is True
    takes = any(parameter.name == CONFIRM for parameter in tool.parameters)
    return {**arguments, **({CONFIRM: True} if takes else {})} if agreed else None


# What a request is about: who asks, of which namespace, and how long it may take.


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestScope:
    """Whose namespaces a request sees, and which one it asks."""

    engines: Engines
    caller: Caller
    namespace: str

    def acquire(self) -> AbstractContextManager[Opened]:
        """The engine of the namespace, while it is used."""
        return self.engines.acquire(self.namespace)

    async def in_thread(self, function: Callable[[], T]) -> T:
        """The result of what blocks, in one of the namespace's threads."""
        return await self.engines.in_thread(self.namespace, function)


@dataclass(slots=True)
class RequestContext:
    """The request that is served now."""

    scope: RequestScope
    seen: dict[str, str] = field(default_factory=dict)
    """Digests by address of what it subscribes to, as the subscription begins."""


class RequestContexts:
    """The context of each request, and what runs within it."""

    def __init__(self, engines: Engines, access: Access | None, seconds: float | None) -> None:
        self._engines = engines
        self._access = access
        self._seconds = seconds
        self._current: ContextVar[RequestContext] = ContextVar("request_context")

    @property
    def current(self) -> RequestContext:
        """Of the request that is served now."""
        return self._current.get()

    @property
    def scope(self) -> RequestScope:
        """The scope of the request that is served now."""
        return self.current.scope

    @contextmanager
    def bound(self, context: RequestContext) -> Iterator[None]:
        """Serve a request inside."""
        token = self._current.set(context)
        try:
            yield
        finally:
            self._current.reset(token)

    def scope_of(self, http: HttpRequest | None) -> RequestScope:
        """Who sent a request, and which namespace it is about; raises `MCPError`."""
        caller = self._caller()
        asked = None if http is None else http.query_params.get("namespace")
        return RequestScope(
            engines=self._engines, caller=caller, namespace=chosen_namespace(caller, asked)
        )

    def namespace_of(self, http: HttpRequest) -> str | None:
        """The namespace whose quota a request counts for, None where nobody may send it."""
        try:
            caller = self._caller()
        except MCPError:
            return None
        asked = http.query_params.get("namespace")
        return asked if asked in caller.namespaces else caller.namespaces[0]

    def _caller(self) -> Caller:
        if self._access is None:
            return anonymous(self._engines.settings)
        token = get_access_token()
        if token is None:
            raise MCPError(code=INVALID_PARAMS, message="no verified token came with this request")
        return self._access.caller(token)

    async def run(self, function: Callable[[], T]) -> T:
        """The result of what blocks; raises `TimeoutError`, and leaves its thread to itself."""
        with anyio.fail_after(self._seconds):
            return await self.scope.in_thread(function)

    async def look_up(self, function: Callable[[], T]) -> T:
        """The same for what has no result of its own to say a failure with."""
        try:
            return await self.run(function)
        except ClewError as error:
            code = INVALID_PARAMS if isinstance(error, InputError) else INTERNAL_ERROR
            raise MCPError(code=code, message=str(error)) from error
        except TimeoutError as error:
            raise MCPError(code=INTERNAL_ERROR, message=self.too_slow) from error

    @property
    def too_slow(self) -> str:
        """What a `TimeoutError` of `run` means."""
        return f"this took longer than the {self._seconds:g} seconds that a request may take"
