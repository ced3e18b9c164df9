"""Documents are read, split and extracted, each within limits, in processes that can be ended.

First the steps that see a document's text, then what can be asked of them, what a worker process
answers with, the worker itself, and the pool of workers as the engine sees it.
"""

from __future__ import annotations

import io
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Literal, Protocol, TypeVar, cast

import numpy as np

from clew import errors, types
from clew.errors import (
    ClewError,
    LimitError,
    MissingExtraError,
    StoreError,
    UnreadableError,
    WorkerError,
)
from clew.hookspecs import brought, kind_of, register
from clew.indexing.inputs import DocumentInput, Extension, Input, NoExtension
from clew.indexing.reading.common import check_limit, over_limit
from clew.indexing.split import Tokens, as_prose, split
from clew.indexing.structure import add_structure, structure_of
from clew.languages import language_code
from clew.ports import Extractor
from clew.request_end import go_on
from clew.settings import LimitSettings, SplitSettings
from clew.text import one_line, text_language
from clew.types import Chunk, Document, Extraction, Skipped, Split, Vectors

_STATED = ("language", "lang", "dc:language", "content-language")
"""Fields of metadata that name a language, in small letters."""


def with_language(document: Document) -> Document:
    """The document with its language; none for what is no prose and for what is too short."""
    if document.language or kind_of(document.media_type):
        return document
    named = {name.casefold(): value for name, value in document.metadata.items()}
    stated = (language_code(named.get(name)) for name in _STATED)
    found = next(filter(None, stated), "") or text_language(document.text)
    return replace(document, language=found) if found else document


# The steps that see a document's text, each within the limits of the settings.


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that only lacks its embeddings."""

    document: Document
    split: Split
    extraction: Extraction


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """How documents are split and extracted, and what that may take."""

    tokens: Tokens
    extractor: Extractor
    split_settings: SplitSettings
    limits: LimitSettings
    extension: Extension = field(default_factory=NoExtension)
    """What is read and extracted beside what is built in."""

    def prepare(self, document: Document) -> Prepared:
        """Recognise, split and extract one document. Raises `LimitError`."""
        document = with_language(document)
        parts = split(document, self.split_settings, self.tokens)
        check_limit(self.limits, "chunks", len(parts.chunks), document.source)
        return Prepared(document, parts, self.extract(document, parts.chunks))

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """What the chunks of a document name and state. Raises `LimitError`."""
        found = self.extractor.extract(*as_prose(document, chunks))
        structure = structure_of(document, self.extension.structures)
        found = self.extension.normalised(add_structure(found, structure, chunks))
        sentences = sum(len(chunk.sentences) for chunk in found.chunks)
        names = sum(len(chunk.mentions) + len(chunk.relations) for chunk in found.chunks)
        check_limit(self.limits, "sentences", sentences, document.source)
        check_limit(self.limits, "names", names, document.source)
        return found


# What can be asked of the steps that see text; a request can be sent to another process.


T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Request(Protocol[T_co]):
    """One unit of work: what is ended alone where it takes too much."""

    @property
    def input(self) -> Input:
        """What errors name, and by whose size the time allowed grows."""

    def run(self, steps: Steps) -> Generator[T_co, None, None]:
        """Do it; the same again gives the same."""


class Runner(Protocol):
    """Where requests are run: in this process or in another."""

    def run(
        self, request: Request[T], waiting: Callable[[], None] | None = None
    ) -> Generator[T, None, None]:
        """What the request gives, in order; closed before its end, the work is ended.

        `waiting` (by default `go_on`) is called several times a second while there is nothing yet;
        what it raises ends the work. Raises `LimitError` where a limit is exceeded, and what the
        request raises.
        """

    def close(self) -> None:
        """End what is being run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """What an input held; the documents that changed follow it, prepared."""

    sources: tuple[str, ...]
    """Of all documents."""
    changed: tuple[str, ...]
    """Of those that follow, in that order."""
    skipped: tuple[Skipped, ...]
    lacks: str
    """See `ReadResult`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepare:
    """Read an input; split and extract its documents. Gives `Contents`, then each `Prepared`."""

    input: Input
    known: Mapping[str, str] = field(default_factory=dict)
    """Digests by source; documents that have them are left out."""

    def run(self, steps: Steps) -> Generator[Contents | Prepared, None, None]:
        """See `Request`."""
        found = self.input.read(steps.limits, steps.extension.readers)
        characters = sum(len(document.text) for document in found.documents)
        check_limit(steps.limits, "characters", characters, self.input.source)
        changed = [
            d for d in found.documents if not d.sha256 or self.known.get(d.source) != d.sha256
        ]
        yield Contents(
            sources=tuple(document.source for document in found.documents),
            changed=tuple(document.source for document in changed),
            skipped=found.skipped,
            lacks=found.lacks,
        )
        for document in changed:
            yield steps.prepare(document)


@dataclass(frozen=True, kw_only=True, slots=True)
class Extract:
    """Extract the chunks of a document again. Gives one `Extraction`."""

    input: DocumentInput
    chunks: Sequence[Chunk]

    def run(self, steps: Steps) -> Generator[Extraction, None, None]:
        """See `Request`."""
        yield steps.extract(self.input.document, self.chunks)


@contextmanager
def told_as_unreadable(source: str) -> Iterator[None]:
    """Have a fault of a reader or an extractor end its document and no other."""
    try:
        yield
    except (ClewError, MemoryError):
        raise
    except Exception as error:  # whatever another's code raises
        logger.exception("%s cannot be read", source)
        raise UnreadableError(source, f"its reading failed: {fault(error)}") from error


def fault(error: Exception) -> str:
    """What an exception says, in a line."""
    return one_line(f"{type(error).__name__}: {error}")[:200]


class InProcess:
    """Implements `Runner` in this process, for as long as a request takes."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._lock = threading.Lock()

    def run(
        self, request: Request[T], waiting: Callable[[], None] | None = None
    ) -> Generator[T, None, None]:
        """See `Runner`. One step at a time: a caller's extractor need not bear several threads."""
        with closing(request.run(self._steps)) as items:
            while True:
                go_on()
                with self._lock, told_as_unreadable(request.input.source):
                    found = list(islice(items, 1))
                if not found:
                    return
                yield found[0]

    def close(self) -> None:
        """There is nothing to end."""


# What a worker process answers with, and how much of it is believed.
#
# A worker may have been taken over by the document that it read. What it sends is taken for data:
# an
# answer is at most so many bytes, and unpickling it makes no object but those listed here, which
# are
# values without behaviour. What they say (texts, ranges, names) is believed as far as any text of
# a
# document is. What goes to a worker comes from this process and is unpickled there as it is.


Kind = Literal["ready", "item", "end", "error", "memory", "crash", "unusable", "embed"]
"""`ready` or `unusable` once; then for each request items and one of `end`, `error`, `memory` and
`crash`, with details and whether the worker ends, too. `embed` asks for the vectors of texts."""

_VALUES = frozenset({
    *((value.__module__, value.__name__) for value in (
        *(types.Document, types.Piece, types.Section, types.Chunk, types.Split, types.Skipped),
        *(types.Extraction, types.ChunkExtraction, types.Mention, types.ExtractedRelation),
        types.AliasEvidence,
    )),
    ("clew.indexing.processes", "Prepared"),
    ("clew.indexing.processes", "Contents"),
    *(("datetime", name) for name in ("date", "datetime", "timedelta", "timezone")),
})  # fmt: skip


class _Values(pickle.Unpickler):
    """Makes the values listed, and nothing else."""

    def find_class(self, module: str, name: str) -> object:
        """A class by name. Raises `UnpicklingError` for one that no answer holds."""
        if (module, name) not in _VALUES:
            raise pickle.UnpicklingError(f"{module}.{name} is no value that a worker may send")
        return super().find_class(module, name)


def pack(kind: Kind, value: object = None) -> bytes:
    """One message."""
    return pickle.dumps((kind, value), pickle.HIGHEST_PROTOCOL)


def unpack(data: bytes, source: str) -> tuple[Kind, object]:
    """The message of a worker that reads a source.

    Raises `UnreadableError` where it holds anything but values.
    """
    try:
        kind, value = _Values(io.BytesIO(data)).load()
    except Exception as error:
        raise UnreadableError(
            source,
            f"what was found is no plain value ({error}); extractors give texts, numbers, times,"
            " lists and objects of these",
        ) from error
    return kind, value


def describe_error(error: ClewError) -> tuple[str, tuple[str, ...]]:
    """An error as the name of its class and what that is made of."""
    if isinstance(error, UnreadableError):
        return type(error).__name__, (error.source, error.reason)
    if isinstance(error, MissingExtraError):
        return type(error).__name__, (error.feature, error.extra)
    return type(error).__name__, (str(error),)


def described_error(value: object) -> ClewError:
    """The error that `describe_error` described; one that is not known is the root of them."""
    assert isinstance(value, tuple)
    name, arguments = value
    kind = getattr(errors, str(name), None)
    if not (isinstance(kind, type) and issubclass(kind, ClewError)):
        return ClewError(*map(str, arguments))
    return kind(*map(str, arguments))


# A worker process: runs requests, one after the other, until the parent or its patience ends.
#
# It holds no store, no model but the tokenizer, and no standard input or output.


IDLE_SECONDS = 60.0
"""After so long without a request a worker ends; the next request starts another."""
MEGABYTE = 1_000_000


def main(connection: int, lifeline: int) -> None:
    """Serve the parent at the other end of a connection, both given as file descriptors.

    The parent holds the other end of the lifeline, and writes nothing to it.
    """
    _end_with_parent(lifeline)
    parent = Connection(connection)
    with suppress(EOFError, BrokenPipeError):  # the parent is gone
        steps = _load(parent)
        if steps is not None:
            room = _bounded(steps.limits.memory_megabytes * MEGABYTE)
            parent.send_bytes(pack("ready"))
            # Answer requests.
            worn = False
            while not worn and parent.poll(IDLE_SECONDS):
                kind, detail = _answer(parent, pickle.loads(parent.recv_bytes()), steps)
                worn = kind == "memory" or _size() > room
                parent.send_bytes(pack(kind, (detail, worn)))


def _load(parent: Connection) -> Steps | None:
    """What requests run with, loaded before the first one waits for it; None where it cannot be."""
    data = parent.recv_bytes()
    try:
        given, steps = pickle.loads(data)
        register(*given)
    except Exception as error:  # noqa: BLE001 - whatever keeps a caller's parts from being made
        parent.send_bytes(pack("unusable", f"{type(error).__name__}: {error}"))
        return None

    try:
        steps.tokens.count_tokens("words")
        return replace(steps, tokens=_ParentEmbeds(steps.tokens, parent))
    except ClewError as error:
        parent.send_bytes(pack("error", (describe_error(error), True)))
        return None


def _answer(parent: Connection, request: Request[object], steps: Steps) -> tuple[Kind, object]:
    """Send what the request gives; how it ended."""
    try:
        for item in request.run(steps):
            parent.send_bytes(pack("item", item))
    except MemoryError:
        return "memory", None
    except (EOFError, BrokenPipeError):
        raise
    except ClewError as error:
        return "error", describe_error(error)
    except Exception as error:  # noqa: BLE001 - a fault of ours or of what a caller brought
        return "crash", (fault(error), traceback.format_exc())
    return "end", None


class _ParentEmbeds:
    """`split.Tokens` whose vectors come from the parent, which has the model."""

    def __init__(self, tokens: Tokens, parent: Connection) -> None:
        self._parent = parent
        self.max_tokens = tokens.max_tokens
        self.count_tokens = tokens.count_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) float32, unit length."""
        self._parent.send_bytes(pack("embed", list(texts)))
        return cast("Vectors", np.asarray(pickle.loads(self._parent.recv_bytes())))


def _end_with_parent(lifeline: int) -> None:
    """Have the system end this process at the moment in which the parent's end is closed.

    Reading the end of the connection does so, too, but not while a document is read. Elsewhere
    than on Linux, that is all there is.
    """
    if sys.platform != "linux":
        return
    import fcntl

    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)


def _bounded(more: int) -> float:
    """Bound the memory of this process by what it has and so much more.

    Returns:
        The size from which on it is to be replaced; infinite where the system does not say how
        large it is and bounds nothing, as all do but Linux.
    """
    if sys.platform != "win32":  # where no worker is started
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if size := _size():
            most = size + more
            _, hard = resource.getrlimit(resource.RLIMIT_AS)
            if hard == resource.RLIM_INFINITY or hard > most:
                resource.setrlimit(resource.RLIMIT_AS, (most, most))
            return (size + most) / 2
    return float("inf")


def _size() -> int:
    """Bytes of address space of this process; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


# Worker processes of one engine: started when needed, ended at a limit and with the engine.


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
        logger.warning(
            "documents are read in this process, where nothing bounds time and memory: on Windows"
            " no other one reads them; limits.isolation = 'none' says that this is known"
        )
        return InProcess(steps)
    try:
        return WorkerPool(steps, on_start)
    except Exception as error:  # noqa: BLE001 - pickling what a caller made raises anything
        return _fall_back(steps, f"{type(error).__name__}: {error}")


def _fall_back(steps: Steps, reason: str) -> Runner:
    logger.warning(
        "documents are read in this process, where nothing bounds time and memory: the embedder %r,"
        " the extractor %r or a plugin cannot be used in another (%s); put them into a module that"
        " can be imported, or set limits.isolation to 'none'",
        type(steps.tokens).__name__,
        type(steps.extractor).__name__,
        reason,
    )
    return InProcess(steps)


class WorkerPool:
    """Implements `Runner` by worker processes; threads may share it."""

    def __init__(self, steps: Steps, on_start: Callable[[], None]) -> None:
        self._steps = steps
        self._pickled = pickle.dumps((brought(), steps), pickle.HIGHEST_PROTOCOL)
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
                        request.input.source,
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
    "from clew.indexing.processes import main; main(int(sys.argv[2]), int(sys.argv[3]))"
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
        limits, source = steps.limits, request.input.source
        left = limits.document_seconds + limits.seconds_per_megabyte * request.input.size / 1e6
        allowed = left
        while True:
            started = time.monotonic()
            # Only the time that is waited counts: who asks may do something else in between.
            if not self._poll(left, waiting):
                raise LimitError(
                    source,
                    f"not read within {allowed:.3g} s (limits.document_seconds ="
                    f" {limits.document_seconds:g}, and limits.seconds_per_megabyte ="
                    f" {limits.seconds_per_megabyte:g}); raise limits.document_seconds or split"
                    " the document",
                )
            kind, value = self._receive(limits, source)
            left -= time.monotonic() - started
            if kind == "item":
                yield cast("T", value)
            elif kind == "embed":
                vectors = steps.tokens.embed_documents(cast("Sequence[str]", value))
                self._send(pickle.dumps(vectors, pickle.HIGHEST_PROTOCOL))
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
                    said, trace = cast("tuple[str, str]", detail)
                    logger.error("%s cannot be read: %s", source, trace)
                    raise UnreadableError(source, f"its reading failed: {said}")
                return

    def _start(self, request: Request[T], steps: Steps, waiting: Callable[[], None]) -> None:
        self._send(self._steps)
        if not self._poll(START_SECONDS, waiting):
            raise WorkerError(
                f"the process that reads documents did not start within {START_SECONDS:g} s; try"
                " again when the machine has less to do"
            )
        kind, value = self._receive(steps.limits, request.input.source)
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

    def _status(self) -> str:
        """How the process ended, in words."""
        with suppress(subprocess.TimeoutExpired):
            status = self._process.wait(1.0)
            return f"signal {-status}" if status < 0 else f"status {status}"
        return "connection closed"
