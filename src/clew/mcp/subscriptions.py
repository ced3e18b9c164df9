"""Subscriptions: telling a client that what it reads has changed, within its namespace alone."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import anyio
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated

from clew.errors import ClewError
from clew.mcp.resources import documents_of, read

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from contextvars import ContextVar

    from anyio.abc import TaskGroup
    from mcp.server.subscriptions import ServerEvent

    from clew.mcp.request_context import RequestContext
    from clew.mcp.resources import Place

    Tell = Callable[[str], Awaitable[None]]
    """Called with the address of what changed; `LIST` for the list of documents."""

SECONDS = 0.5
"""How often the store is asked whether anything changed."""
MOST = 100
"""Addresses of one subscription that are watched."""
LIST = ""
"""Stands for the list of resources among addresses."""


class Changes:
    """Implements the SDK's `SubscriptionBus`; each subscriber hears of its own namespace alone.

    The store is asked for its generation now and then, since other processes write to it, too.
    Where that has grown, what is subscribed to is read again and compared.
    """

    def __init__(
        self,
        asking: ContextVar[RequestContext],
        lives: Callable[[str], bool] = lambda session: True,
        seconds: float = SECONDS,
    ) -> None:
        """`lives` says whether a session goes on."""
        self._asking = asking
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
        namespace = self._asking.get().place.namespace
        for of, listener in list(self._listeners.values()):
            if of == namespace:
                listener(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Begin to watch what the request at hand asks for; the result ends it."""
        asking, token, scope = self._asking.get(), object(), anyio.CancelScope()

        async def tell(uri: str) -> None:
            listener(ResourcesListChanged() if uri == LIST else ResourceUpdated(uri=uri))

        self._listeners[token] = (asking.place.namespace, listener)
        self._start(asking, scope, tell, lambda: True)

        def end() -> None:
            self._listeners.pop(token, None)
            scope.cancel()

        return end

    # --- revision 2025-11-25: one address at a time

    def add(self, session: str, uri: str, asking: RequestContext, tell: Tell) -> None:
        """Watch one address for a session; its oldest gives way where it has very many."""
        self.remove(session, uri)
        of_session = [key for key in self._subscribed if key[0] == session]
        for key in [key for key in self._subscribed if not self._lives(key[0])]:
            self.remove(*key)
        for key in of_session[: len(of_session) - MOST + 1]:
            self.remove(*key)
        scope = self._subscribed[session, uri] = anyio.CancelScope()
        self._start(asking, scope, tell, partial(self._lives, session))

    def remove(self, session: str, uri: str) -> None:
        """Watch an address no more; nothing happens where it was not watched."""
        scope = self._subscribed.pop((session, uri), None)
        if scope is not None:
            scope.cancel()

    # --- both

    def _start(
        self,
        asking: RequestContext,
        scope: anyio.CancelScope,
        tell: Tell,
        lives: Callable[[], bool],
    ) -> None:
        if self._tasks is not None:
            self._tasks.start_soon(self._watch, asking.place, asking.seen, scope, tell, lives)

    async def _watch(
        self,
        place: Place,
        seen: dict[str, str],
        scope: anyio.CancelScope,
        tell: Tell,
        lives: Callable[[], bool],
    ) -> None:
        with scope:
            generation = -1
            while lives():
                await anyio.sleep(self._seconds)
                now = await place.in_thread(partial(_generation, place))
                if now == generation:
                    continue
                found = await look(place, list(seen))
                for uri in [uri for uri, digest in found.items() if digest != seen[uri]]:
                    await tell(uri)
                seen, generation = found, now


async def look(place: Place, uris: Sequence[str]) -> dict[str, str]:
    """A digest of what is at each address now."""
    return await place.in_thread(lambda: {uri: _digest(place, uri) for uri in uris[:MOST]})


def _digest(place: Place, uri: str) -> str:
    try:
        text = _list(place) if uri == LIST else read(place, uri)
    except (ResourceNotFoundError, ClewError):
        return ""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _list(place: Place) -> str:
    return "\n".join(f"{d.id} {d.title}" for d in documents_of(place))


def _generation(place: Place) -> int:
    with place.engines.lend(place.namespace) as opened:
        return opened.engine.store.generation()
