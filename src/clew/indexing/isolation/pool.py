"""Worker processes of one engine: started when needed, ended at a limit and with the engine."""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice
from multiprocessing import Pipe
from typing import TYPE_CHECKING, TypeVar, cast

from clew.errors import LimitError, StoreError, UnreadableError, WorkerError
from clew.indexing.isolation.worker import (
    InProcess,
    Kind,
    Request,
    Runner,
    Steps,
    described_error,
    unpack,
)
from clew.indexing.reading.formats.common import over_limit
from clew.request_end import go_on

if TYPE_CHECKING:
    from clew.settings import LimitSettings
    from clew.types import Vectors


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


# A worker process as its parent sees it: start it, ask it, end it.


TICK_SECONDS = 0.25
"""How long something may have changed before a wait notices."""
START_SECONDS = 120.0
"""How long a worker may take to start, on the slowest machine."""
_MAIN = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]);"
    "from clew.indexing.isolation.worker import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)
# One thread each: the model has the cores, and every further one takes address space.
_INHERITED = (
    *("HOME", "LANG", "LANGUAGE", "PATH", "TMPDIR", "TEMP", "TMP", "TZ", "USER"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "XDG_CACHE_HOME", "PYTHONHOME"),
    *("PYTHONUTF8", "PYTHONIOENCODING", "PYTHONWARNINGS", "PYTHONHASHSEED"),
)
"""What a worker is told of the environment, beside LC_*: no key is among it, and what reads
documents of strangers needs none."""
_ENVIRONMENT = {
    "TOKENIZERS_PARALLELISM": "false",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


class WorkerEnded(Exception):
    """The worker ended before it had answered."""


class StepsUnusable(Exception):
    """The embedder or the extractor cannot be unpickled in another process."""


class WorkerProcess:
    """One process, seen from its parent."""

    def __init__(self, steps: bytes) -> None:
        self._ready = False
        self.rests = False
        """Whether it has answered and waits for the next request."""
        self._connection, theirs = Pipe()
        end, self._lifeline = os.pipe()
        try:
            command = [sys.executable, "-P", "-c", _MAIN, json.dumps([*map(str, sys.path)])]
            # Out of reach of a terminal's Ctrl-C, which this process answers.
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno()), str(end)],
                pass_fds=(theirs.fileno(), end),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={
                    **{n: v for n, v in os.environ.items() if n in _INHERITED or n[:3] == "LC_"},
                    **_ENVIRONMENT,
                },
                process_group=0,
            )
        except OSError as error:
            os.close(self._lifeline)
            self._connection.close()
            raise WorkerError(
                f"cannot start a process that reads documents ({error.strerror}); free memory, or"
                " set limits.isolation to none"
            ) from error
        finally:
            theirs.close()
            os.close(end)
        self._steps = steps

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def end(self) -> None:
        """End it, whatever it does; threads may call this while another waits for an answer."""
        self._process.kill()

    def close(self) -> None:
        """End it and let go of it."""
        self._process.kill()
        self._process.wait()
        self._connection.close()
        os.close(self._lifeline)

    def run(self, request: Request[T], steps: Steps, waiting: Callable[[], None]) -> Iterator[T]:
        """See `Runner`. Raises `WorkerEnded` where the process ends by itself."""
        self.rests = False
        if not self._ready:
            self._start(request, steps, waiting)
        self._send(pickle.dumps(request, pickle.HIGHEST_PROTOCOL))
        limits, source = steps.limits, request.source
        left = limits.document_seconds + limits.seconds_per_megabyte * request.size / 1e6
        allowed = left
        while True:
            started = time.monotonic()
            # Only the time that is waited counts: who asks may do something else in between.
            if not self._poll(left, waiting):
                raise _too_slow(limits, source, allowed)
            kind, value = self._receive(limits, source)
            left -= time.monotonic() - started
            if kind == "item":
                yield cast("T", value)
            elif kind == "embed":
                self._embed(steps, cast("Sequence[str]", value))
            else:
                assert isinstance(value, tuple)
                detail, worn = value
                self.rests = not worn
                if kind == "error":
                    raise described_error(detail)
                if kind == "memory":
                    found = f"reading it takes more than {limits.memory_megabytes:,} MB of memory"
                    raise over_limit(limits, "memory_megabytes", source, found)
                if kind == "crash":
                    logger.error("%s cannot be read: %s", source, detail)
                    raise UnreadableError(source, "failed inside Clew; the log says why")
                return

    def _start(self, request: Request[T], steps: Steps, waiting: Callable[[], None]) -> None:
        self._send(self._steps)
        if not self._poll(START_SECONDS, waiting):
            raise WorkerError(
                f"the process that reads documents did not start within {START_SECONDS:g} s; try"
                " again when the machine has less to do"
            )
        kind, value = self._receive(steps.limits, request.source)
        if kind == "unusable":
            raise StepsUnusable(str(value))
        if kind == "error":
            assert isinstance(value, tuple)
            raise described_error(value[0])
        self._ready = True

    def _poll(self, seconds: float, waiting: Callable[[], None]) -> bool:
        """Whether there is something to receive within so many seconds."""
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            try:
                if self._connection.poll(max(0.0, min(TICK_SECONDS, left))):
                    return True
            except OSError as error:  # closed by another thread
                raise WorkerEnded(self._status()) from error
            if left <= 0:
                return False
            waiting()

    def _receive(self, limits: LimitSettings, source: str) -> tuple[Kind, object]:
        most = limits.output_megabytes * 1_000_000
        try:
            data = self._connection.recv_bytes(most)
        except EOFError as error:
            raise WorkerEnded(self._status()) from error
        except OSError as error:
            # Python reads no more after an answer that is too long.
            if not self._connection.readable:
                found = f"what was read takes more than {limits.output_megabytes} MB"
                raise over_limit(limits, "output_megabytes", source, found) from error
            raise WorkerEnded(self._status()) from error
        return unpack(data, source)

    def _send(self, data: bytes) -> None:
        try:
            self._connection.send_bytes(data)
        except OSError as error:
            raise WorkerEnded(self._status()) from error

    def _embed(self, steps: Steps, texts: Sequence[str]) -> None:
        vectors: Vectors = steps.tokens.embed_documents(texts)
        self._send(pickle.dumps(vectors, pickle.HIGHEST_PROTOCOL))

    def _status(self) -> str:
        """How the process ended, in words."""
        with suppress(subprocess.TimeoutExpired):
            status = self._process.wait(1.0)
            return f"signal {-status}" if status < 0 else f"status {status}"
        return "connection closed"


def _too_slow(limits: LimitSettings, source: str, allowed: float) -> LimitError:
    return LimitError(
        source,
        f"not read within {allowed:.3g} s (limits.document_seconds ="
        f" {limits.document_seconds:g}, and limits.seconds_per_megabyte ="
        f" {limits.seconds_per_megabyte:g}); raise limits.document_seconds or split the document",
    )
