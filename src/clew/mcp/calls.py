"""One call of a tool: in a worker thread, with progress, cancellation and confirmation."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.from_thread
import anyio.to_thread
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver import Context
from mcp.server.session import ServerSession
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
from starlette.requests import Request as HttpRequest

from clew.derived_files import derived_files, remove_files
from clew.engine import Engine
from clew.engine.search import Search
from clew.errors import ClewError, InputError, NotFoundError, StoreBusyError, StoreError
from clew.jobs import JobRunner
from clew.mcp.auth import Access, anonymous, chosen_namespace
from clew.operations.spec import Caller, Progress, Tool
from clew.operations.toolbox import Outcome, Toolbox, make_toolbox, may_call
from clew.request_end import finishing, has_ended, request
from clew.settings import Settings
from clew.wiring import make_embedder, make_language_provider, make_reranker, store_exists

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


# The engines that are served, one a namespace, each opened when it is first asked for.


OPEN = 32
"""Engines that stay open while nobody uses them."""
BUSY = 256
"""Engines that are in use or run jobs, at most."""
AT_ONCE = 4
"""Threads of one namespace; further calls of it wait, and those of others do not."""
CALLS = 64
"""Calls of one namespace at a time, those among them that nobody waits for any more."""
PATIENCE = 5.0
"""Seconds that calls under way have when all is closed."""
MODEL_PATIENCE = 10.0
"""Seconds that a question waits for the embedding model: less than clients wait for an answer."""


@dataclass(slots=True)
class Opened:
    """An engine, what calls its tools, and what runs its jobs."""

    engine: Engine
    toolbox: Toolbox
    jobs: JobRunner
    in_use: int = 0
    """How many use it now."""


class Engines:
    """A pool of engines by namespace; they share one embedding model. Threads may share it.

    Opening and closing an engine may take long. Both happen outside of the lock, so that whoever
    asks for the same namespace waits for them, and nobody else. An engine that runs a job stays.

    Where `first` is given, it serves its own namespace and stays the caller's to close.
    """

    def __init__(
        self,
        settings: Settings,
        tools: Sequence[Tool],
        first: Engine | None = None,
        limit: int = OPEN,
    ) -> None:
        self.settings = settings
        self.tools = tuple(tool for tool in tools if settings.serve.profile in tool.profiles)
        """Those of the profile that is served."""
        self._limiters: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()
        self._first = first
        self._limit = limit
        self._models: dict[str, Any] = {}
        self._at_end: list[Callable[[], None]] = []
        self._making_models = threading.Lock()
        self._lock = threading.Condition()
        # In the order of their last use.
        self._opened: dict[str, Opened] = {}
        self._moving: set[str] = set()  # namespaces that are being opened or closed
        self._closed = False

    @contextmanager
    def acquire(self, namespace: str) -> Iterator[Opened]:
        """The engine of a namespace; it is not closed inside.

        Raises `StoreError` after `close`, `StoreBusyError` where too much is under way.
        """
        opened = self._take(namespace)
        try:
            yield opened
        finally:
            with self._lock:
                opened.in_use -= 1
                self._lock.notify_all()
                self._close_idle()

    async def in_thread(self, namespace: str, function: Callable[[], T]) -> T:
        """The result of what blocks; where the wait is cancelled, its thread is left to end.

        To be used in one event loop.
        """
        limiter = self._limiters.get(namespace) or anyio.CapacityLimiter(AT_ONCE)
        self._limiters[namespace] = limiter
        with request():
            return await anyio.to_thread.run_sync(function, abandon_on_cancel=True, limiter=limiter)

    def offered(self, namespace: str, caller: Caller) -> list[Tool]:
        """The tools that a caller may use in a namespace, those of its packs among them."""
        own = [tool for tool in self.tools if may_call(caller, tool)]
        settings = self.settings.model_copy(update={"namespace": namespace})
        if not store_exists(settings):
            return own
        with self.acquire(namespace) as opened:
            return opened.toolbox.allowed(caller)

    def prepare(self) -> None:
        """Open the engine that will probably be asked first, so that its model is loaded early."""
        if self._first is None:
            tokens = self.settings.serve.tokens
            namespace = tokens[0].namespaces[0] if tokens else self.settings.namespace
            with suppress(StoreError), self.acquire(namespace):
                pass

    def close(self, patience: float = PATIENCE) -> None:
        """Close every engine that was opened here; calls under way have some seconds to end."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
            for opened in self._opened.values():
                opened.jobs.stop()
            self._lock.wait_for(
                lambda: not self._moving and not any(o.in_use for o in self._opened.values()),
                patience,
            )
            closing = [self._start_closing(name) for name in list(self._opened)]
        for thread in closing:
            thread.join()
        while self._at_end:
            self._at_end.pop()()

    def _take(self, namespace: str) -> Opened:
        with self._lock:
            self._lock.wait_for(lambda: self._closed or namespace not in self._moving)
            if self._closed:
                raise StoreError("this server is shutting down; ask again when it is back")
            opened = self._opened.get(namespace)
            if (
                opened is not None
                and not opened.in_use
                and opened.engine.state.journal.is_replaced()
            ):
                self._leave(namespace)
                self._lock.wait_for(lambda: namespace not in self._moving)
                opened = self._opened.get(namespace)
            if opened is not None:
                return self._acquired(namespace, self._opened.pop(namespace))
            if len(self._opened) >= BUSY:
                raise StoreBusyError(
                    f"{len(self._opened)} namespaces are at work on this server; ask again later"
                )
            self._moving.add(namespace)
        try:
            with finishing():
                opened = self._open(namespace)
        except BaseException:
            self._arrived(namespace)
            raise
        with self._lock:
            self._arrived(namespace)
            in_use = self._acquired(namespace, opened)
            if not self._closed:
                return in_use
            closing = self._start_closing(namespace)
        closing.join()
        return self._take(namespace)  # says that this server is shutting down

    def _acquired(self, namespace: str, opened: Opened) -> Opened:
        """Count one more use; the engine is the last used from now on."""
        self._opened[namespace] = opened
        if opened.in_use >= CALLS:
            raise StoreBusyError(
                f"{opened.in_use} calls of namespace {namespace!r} are under way; wait for some of"
                " them to end, then ask again"
            )
        opened.in_use += 1
        return opened

    def _arrived(self, namespace: str) -> None:
        with self._lock:
            self._moving.discard(namespace)
            self._lock.notify_all()

    def _open(self, namespace: str) -> Opened:
        from clew.jobs import make_runner

        engine = self._first
        if engine is None or engine.settings.namespace != namespace:
            engine = self._make(namespace)
        engine.searching.collection = self._searching
        jobs = make_runner(engine)
        jobs.start()
        toolbox = make_toolbox(engine, self.tools, jobs, further=self.settings.serve.profile)
        return Opened(engine, toolbox, jobs)

    @contextmanager
    def _searching(self, namespace: str) -> Iterator[Search]:
        """A namespace that is asked together with another; whoever calls was found to have it."""
        if not store_exists(self.settings.model_copy(update={"namespace": namespace})):
            raise NotFoundError(f"namespace {namespace!r} has no documents yet; leave it out")
        with self.acquire(namespace) as opened:
            yield opened.engine.searching

    def _make(self, namespace: str) -> Engine:
        from clew.engine import Engine

        engine = Engine(
            self.settings.model_copy(update={"namespace": namespace}), **self._shared_models()
        )
        engine.state.warm(patience=MODEL_PATIENCE)
        return engine

    def _shared_models(self) -> dict[str, Any]:
        """What all engines share; a model loads when it is first needed."""
        with self._making_models:
            if not self._models and self._first is not None:
                state = self._first.state
                self._models = {
                    "embedder": state.embedder,
                    "reranker": state.reranker,
                    "language_model": state.language_provider,
                }
            elif not self._models:
                self._models = {
                    "embedder": make_embedder(self.settings),
                    "reranker": make_reranker(self.settings),
                    "language_model": make_language_provider(self.settings, self._at_end.append),
                }
            return self._models

    def _close_idle(self) -> None:
        idle = [
            name
            for name, opened in self._opened.items()
            if not (opened.in_use or opened.jobs.busy or opened.engine is self._first)
        ]
        for name in idle[: max(0, len(self._opened) - self._limit)]:
            self._start_closing(name)

    def _leave(self, namespace: str) -> None:
        """Let go of an engine in whose store's place another one is by now."""
        opened = self._opened[namespace]
        remove_files(derived_files(opened.engine.store.folder))
        if opened.engine is self._first:  # its caller closes it
            self._shared_models()
            opened.jobs.stop()
            del self._opened[namespace]
            self._first = None
        else:
            self._start_closing(namespace)

    def _start_closing(self, namespace: str) -> threading.Thread:
        """Take an engine out of the pool and close it in a thread of its own."""
        opened = self._opened.pop(namespace)
        self._moving.add(namespace)

        def close() -> None:
            try:
                if opened.engine is not self._first:
                    opened.engine.close()
            finally:
                self._arrived(namespace)

        thread = threading.Thread(target=close, name="clew-close")
        thread.start()
        return thread
