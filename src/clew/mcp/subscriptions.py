"""Telling a client that what it reads has changed, within its namespace alone."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import EmptyResult

from clew.errors import ClewError
from clew.mcp.http.callers import SESSION
from clew.mcp.resources import documents_of, read

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from anyio.abc import TaskGroup
    from mcp.server.context import ServerRequestContext
    from mcp.server.subscriptions import ServerEvent
    from mcp_types import SubscribeRequestParams, UnsubscribeRequestParams

    from clew.mcp.request_context import RequestContext, RequestContexts, RequestScope

    Request = ServerRequestContext[Any, Any]
    Tell = Callable[[str], Awaitable[None]]
    """Called with the address of what changed; `LIST` for the list of documents."""

SECONDS = 0.5
"""How often the store is asked whether anything changed."""
MOST = 100
"""Addresses of one subscription that are watched."""
LIST = ""
"""Stands for the list of resources among addresses."""


class Subscriptions:
    """Implements the SDK's `SubscriptionBus`; each subscriber hears of its own namespace alone.

    The store is asked for its generation now and then, since other processes write to it, too.
    Where that has grown, what is subscribed to is read again and compared.
    """

    def __init__(
        self,
        requests: RequestContexts,
        lives: Callable[[str], bool] = lambda session: True,
        seconds: float = SECONDS,
    ) -> None:
        """`lives` says whether a session goes on."""
        self._requests = requests
        self._lives = lives
        self._seconds = seconds
        self._tasks: TaskGroup | None = None
        self._listeners: dict[object, tuple[str, Callable[[ServerEvent], None]]] = {}
        self._subscribed: OrderedDict[tuple[str, str], anyio.CancelScope] = OrderedDict()

    @contextmanager
    def running(self, tasks: TaskGroup) -> Iterator[None]:
        """Watch within these tasks."""
        self._tasks = tasks
        try:
            yield
        finally:
            self._tasks = None
            tasks.cancel_scope.cancel()

    # --- revision 2026-07-28: one stream, many addresses

    async def publish(self, event: ServerEvent) -> None:
        """Tell the subscribers of the namespace that is served now."""
        namespace = self._requests.scope.namespace
        for of, listener in list(self._listeners.values()):
            if of == namespace:
                listener(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Begin to watch what the request at hand asks for; the result ends it."""
        context, token, cancel_scope = self._requests.current, object(), anyio.CancelScope()

        async def tell(uri: str) -> None:
            listener(ResourcesListChanged() if uri == LIST else ResourceUpdated(uri=uri))

        self._listeners[token] = (context.scope.namespace, listener)
        self._start(context, cancel_scope, tell, lambda: True)

        def end() -> None:
            self._listeners.pop(token, None)
            cancel_scope.cancel()

        return end

    # --- revision 2025-11-25: one address at a time

    def add(self, session: str, uri: str, context: RequestContext, tell: Tell) -> None:
        """Watch one address for a session; its oldest gives way where it has very many."""
        self.remove(session, uri)
        of_session = [key for key in self._subscribed if key[0] == session]
        for key in [key for key in self._subscribed if not self._lives(key[0])]:
            self.remove(*key)
        for key in of_session[: len(of_session) - MOST + 1]:
            self.remove(*key)
        cancel_scope = self._subscribed[session, uri] = anyio.CancelScope()
        self._start(context, cancel_scope, tell, partial(self._lives, session))

    def remove(self, session: str, uri: str) -> None:
        """Watch an address no more; nothing happens where it was not watched."""
        cancel_scope = self._subscribed.pop((session, uri), None)
        if cancel_scope is not None:
            cancel_scope.cancel()

    async def add_requested(self, request: Request, params: SubscribeRequestParams) -> EmptyResult:
        """`resources/subscribe`."""
        context = self._requests.current
        context.seen = await look(context.scope, [params.uri])
        self.add(session_of(request), params.uri, context, request.session.send_resource_updated)
        return EmptyResult()

    async def remove_requested(
        self, request: Request, params: UnsubscribeRequestParams
    ) -> EmptyResult:
        """`resources/unsubscribe`."""
        self.remove(session_of(request), params.uri)
        return EmptyResult()

    # --- both

    def _start(
        self,
        context: RequestContext,
        cancel_scope: anyio.CancelScope,
        tell: Tell,
        lives: Callable[[], bool],
    ) -> None:
        if self._tasks is not None:
            self._tasks.start_soon(
                self._watch, context.scope, context.seen, cancel_scope, tell, lives
            )

    async def _watch(
        self,
        scope: RequestScope,
        seen: dict[str, str],
        cancel_scope: anyio.CancelScope,
        tell: Tell,
        lives: Callable[[], bool],
    ) -> None:
        with cancel_scope:
            generation = -1
            while lives():
                await anyio.sleep(self._seconds)
                now = await scope.in_thread(partial(_generation, scope))
                if now == generation:
                    continue
                found = await look(scope, list(seen))
                for uri in [uri for uri, digest in found.items() if digest != seen[uri]]:
                    await tell(uri)
                seen, generation = found, now


def listened(params: Mapping[str, Any]) -> list[str]:
    """Addresses that a `subscriptions/listen` asks for, before its parameters are validated."""
    wanted = params.get("notifications")
    if not isinstance(wanted, dict):
        return []
    uris = wanted.get("resourceSubscriptions")
    named = [uri for uri in uris if isinstance(uri, str)] if isinstance(uris, list) else []
    return [LIST, *named] if wanted.get("resourcesListChanged") is True else named


def session_of(request: Request) -> str:
    """Id of a request's session; empty where one process serves one client."""
    http = request.request
    return "" if http is None else str(http.headers.get(SESSION, ""))


async def look(scope: RequestScope, uris: Sequence[str]) -> dict[str, str]:
    """A digest of what is at each address now."""
    return await scope.in_thread(lambda: {uri: _digest(scope, uri) for uri in uris[:MOST]})


def _digest(scope: RequestScope, uri: str) -> str:
    try:
        text = _list(scope) if uri == LIST else read(scope, uri)
    except (ResourceNotFoundError, ClewError):
        return ""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _list(scope: RequestScope) -> str:
    return "\n".join(f"{d.id} {d.title}" for d in documents_of(scope))


def _generation(scope: RequestScope) -> int:
    with scope.acquire() as opened:
        return opened.engine.store.generation()
