"""What a request is about: who asks, of which namespace, and how long it may take."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import anyio
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from clew.errors import ClewError, InputError
from clew.mcp.auth.access import anonymous, chosen_namespace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from starlette.requests import Request as HttpRequest

    from clew.mcp.auth.access import Access
    from clew.mcp.engines import Engines, Opened
    from clew.tools.spec import Caller

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
        return await self.engines.threads.run(self.namespace, function)


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
