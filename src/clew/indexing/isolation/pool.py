"""Worker processes of one engine: started when needed, ended at a limit and with the engine."""

from __future__ import annotations

import logging
import pickle
import sys
import threading
from contextlib import closing, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from clew.errors import LimitError, StoreError
from clew.indexing.isolation.process import (
    TICK_SECONDS,
    StepsUnusable,
    WorkerEnded,
    WorkerProcess,
)
from clew.indexing.isolation.requests import InProcess
from clew.request_end import go_on

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from clew.indexing.isolation.requests import Request, Runner
    from clew.indexing.isolation.steps import Steps

T = TypeVar("T")

logger = logging.getLogger("clew")

ATTEMPTS = 2
"""A worker that ends by itself may have been ended from outside: once, the document is not blamed.
"""


def make_runner(steps: Steps, on_start: Callable[[], None]) -> Runner:
    """Workers for these steps; this process where the settings or the steps want it so.

    `on_start` is called when a worker starts, which takes a moment.
    """
    if steps.limits.isolation == "none":
        return InProcess(steps)
    if sys.platform == "win32":
        return _fall_back(steps, "this system has no way to end one")
    try:
        return WorkerPool(steps, on_start)
    except Exception as error:  # noqa: BLE001 - pickling what a caller made raises anything
        return _fall_back(steps, f"{type(error).__name__}: {error}")


def _fall_back(steps: Steps, reason: str) -> Runner:
    logger.warning(
        "documents are read in this process, where nothing bounds time and memory: the embedder %r"
        " or the extractor %r cannot be used in another (%s); make them picklable and importable,"
        " or set limits.isolation to 'none'",
        type(steps.tokens).__name__,
        type(steps.extractor).__name__,
        reason,
    )
    return InProcess(steps)


class WorkerPool:
    """Implements `Runner` by worker processes; threads may share it."""

    def __init__(self, steps: Steps, on_start: Callable[[], None]) -> None:
        self._steps = steps
        self._pickled = pickle.dumps(steps, pickle.HIGHEST_PROTOCOL)
        self._on_start = on_start
        self._local: Runner | None = None
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(steps.limits.workers)
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        self._closed = False

    def run(
        self, request: Request[T], waiting: Callable[[], None] | None = None
    ) -> Generator[T, None, None]:
        """See `Runner`."""
        given = 0
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with closing(self._attempt(request, waiting)) as items:
                    for item in islice(items, given, None):
                        yield item
                        given += 1
            except WorkerEnded as ended:
                if attempt == ATTEMPTS:
                    raise LimitError(
                        request.source,
                        f"the process that read it ended {ATTEMPTS} times ({ended}); raise"
                        " limits.memory_megabytes or split the document",
                    ) from ended
            else:
                return

    def close(self) -> None:
        """End all workers, and what they are doing; may be called twice."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for worker in self._busy:
                worker.end()  # whoever waits for it does the rest
        for worker in idle:
            worker.close()

    def _attempt(
        self, request: Request[T], waiting: Callable[[], None] | None
    ) -> Generator[T, None, None]:
        if self._local is None:
            try:
                with self._acquire(waiting or go_on) as worker:
                    yield from worker.run(request, self._steps, waiting or go_on)
                return
            except StepsUnusable as unusable:
                self._local = _fall_back(self._steps, str(unusable))
        yield from self._local.run(request)

    @contextmanager
    def _acquire(self, waiting: Callable[[], None]) -> Iterator[WorkerProcess]:
        """A worker for one request; ended if the request stops in the middle of an answer."""
        while not self._room.acquire(timeout=TICK_SECONDS):
            waiting()
        try:
            worker = self._take()
            try:
                yield worker
            finally:
                self._give_back(worker)
        finally:
            self._room.release()

    def _take(self) -> WorkerProcess:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.alive:
                    break
                worker.close()
            else:
                if self._closed:
                    raise StoreError("the engine is closed; open it again to read documents")
                worker = WorkerProcess(self._pickled)
                self._on_start()
            self._busy.add(worker)
            return worker

    def _give_back(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._busy.discard(worker)
            if worker.rests and not self._closed:
                self._idle.append(worker)
                return
        worker.close()
