"""The engines that are served, one a namespace, each opened when it is first asked for."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.engine import Clew
    from clew.jobs.runner import JobRunner
    from clew.settings import Settings
    from clew.tools.spec import Tool
    from clew.tools.toolbox import Toolbox

OPEN = 32
"""Engines that stay open while nobody uses them."""
PATIENCE = 5.0
"""Seconds that calls under way have when all is closed."""


@dataclass(slots=True)
class Opened:
    """An engine, what calls its tools, and what runs its jobs."""

    engine: Clew
    toolbox: Toolbox
    jobs: JobRunner
    lent: int = 0
    """How many use it now."""


class Engines:
    """A pool of engines by namespace; they share one embedding model. Threads may share it.

    Where `first` is given, it serves its own namespace and stays the caller's to close.
    """

    def __init__(
        self,
        settings: Settings,
        tools: Sequence[Tool],
        first: Clew | None = None,
        limit: int = OPEN,
    ) -> None:
        self.settings = settings
        self.tools = tuple(tool for tool in tools if settings.serve.profile in tool.profiles)
        """Those of the profile that is served."""
        self._first = first
        self._limit = limit
        self._lock = threading.Condition(threading.RLock())
        # In the order of their last use.
        self._opened: dict[str, Opened] = {}
        self._closed = False

    @contextmanager
    def lend(self, namespace: str) -> Iterator[Opened]:
        """The engine of a namespace; it is not closed inside. Raises `StoreError` after `close`."""
        with self._lock:
            if self._closed:
                raise StoreError("this server is shutting down; ask again when it is back")
            opened = self._opened.pop(namespace, None) or self._open(namespace)
            self._opened[namespace] = opened
            opened.lent += 1
        try:
            yield opened
        finally:
            with self._lock:
                opened.lent -= 1
                self._lock.notify_all()
                self._close_idle()

    def prepare(self) -> None:
        """Open the engine that will probably be asked first, so that its model is loaded early."""
        if self._first is None:
            tokens = self.settings.serve.tokens
            namespace = tokens[0].namespaces[0] if tokens else self.settings.namespace
            with suppress(StoreError), self.lend(namespace):
                pass

    def close(self, patience: float = PATIENCE) -> None:
        """Close every engine that was opened here; calls under way have some seconds to end."""
        with self._lock:
            self._closed = True
            for opened in self._opened.values():
                opened.jobs.stop()
            self._lock.wait_for(
                lambda: not any(opened.lent for opened in self._opened.values()), patience
            )
            for opened in self._opened.values():
                self._close(opened)
            self._opened.clear()

    def _open(self, namespace: str) -> Opened:
        from clew.jobs.kinds import make_runner
        from clew.tools.catalogue import make_toolbox

        engine = self._first
        if engine is None or engine.settings.namespace != namespace:
            engine = self._make(namespace)
        jobs = make_runner(engine)
        jobs.start()
        return Opened(engine, make_toolbox(engine, self.tools, jobs), jobs)

    def _make(self, namespace: str) -> Clew:
        from clew.engine import Clew

        other = next((opened.engine for opened in self._opened.values()), self._first)
        engine = Clew(
            self.settings.model_copy(update={"namespace": namespace}),
            embedder=None if other is None else other.embedder,
            reranker=None if other is None else other.reranker,
            language_model=None if other is None else other.language_model,
        )
        engine.warm(meanwhile=True)
        return engine

    def _close_idle(self) -> None:
        idle = [name for name, opened in self._opened.items() if not opened.lent]
        for name in idle[: max(0, len(self._opened) - self._limit)]:
            self._close(self._opened.pop(name))

    def _close(self, opened: Opened) -> None:
        if opened.engine is not self._first:
            opened.engine.close()
