"""The language of a document: what it says of itself, else what its text tells."""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar, cast

import numpy as np

from clew import errors, types
from clew.errors import ClewError, MissingExtraError, UnreadableError
from clew.indexing.extension import Extension, NoExtension
from clew.indexing.markdown import MEDIA_TYPE, masked
from clew.indexing.reading.formats.common import check_limit
from clew.indexing.splitting.code import is_code, without_code
from clew.indexing.splitting.split import Tokens, split
from clew.indexing.structure.enter import add_structure
from clew.indexing.structure.readers import structure_of
from clew.languages import language_code
from clew.request_end import go_on
from clew.text import text_language

if TYPE_CHECKING:
    from clew.indexing.inputs import Input
    from clew.ports import Extractor
    from clew.settings import LimitSettings, SplitSettings
    from clew.types import Chunk, Document, Extraction, Skipped, Split, Vectors


_STATED = ("language", "lang", "dc:language", "content-language")
"""Fields of metadata that name a language, in small letters."""


def with_language(document: Document) -> Document:
    """The document with its language; source code has none, and a text too short for it none."""
    if document.language or is_code(document.media_type):
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
        found = self.extractor.extract(*without_code(*_as_shown(document, chunks)))
        structure = structure_of(document, self.extension.structures)
        found = self.extension.normalised(add_structure(found, structure, chunks))
        sentences = sum(len(chunk.sentences) for chunk in found.chunks)
        names = sum(len(chunk.mentions) + len(chunk.relations) for chunk in found.chunks)
        check_limit(self.limits, "sentences", sentences, document.source)
        check_limit(self.limits, "names", names, document.source)
        return found


def _as_shown(document: Document, chunks: Sequence[Chunk]) -> tuple[Document, Sequence[Chunk]]:
    """A document and its chunks with blanks for what no reader is shown; all places stay."""
    if document.media_type != MEDIA_TYPE or (shown := masked(document.text)) is document.text:
        return document, chunks
    return replace(document, text=shown), [
        replace(chunk, text=shown[chunk.start : chunk.end]) for chunk in chunks
    ]


# What can be asked of the steps that see text; a request can be sent to another process.


T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Request(Protocol[T_co]):
    """One unit of work: what is ended alone where it takes too much."""

    @property
    def source(self) -> str:
        """What errors name."""
        ...

    @property
    def size(self) -> int:
        """Bytes or characters to read; the time allowed grows with them."""
        ...

    def run(self, steps: Steps) -> Generator[T_co, None, None]:
        """Do it; the same again gives the same."""
        ...


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
        ...

    def close(self) -> None:
        """End what is being run."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """What an input held; the documents that changed follow it, prepared."""

    sources: tuple[str, ...]
    """Of all documents."""
    changed: tuple[str, ...]
    """Of those that follow, in that order."""
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepare:
    """Read an input; split and extract its documents. Gives `Contents`, then each `Prepared`."""

    input: Input
    known: Mapping[str, str] = field(default_factory=dict)
    """Digests by source; documents that have them are left out."""

    @property
    def source(self) -> str:
        """See `Request`."""
        return self.input.source

    @property
    def size(self) -> int:
        """See `Request`."""
        return self.input.size

    def run(self, steps: Steps) -> Generator[Contents | Prepared, None, None]:
        """See `Request`."""
        found = self.input.read(steps.limits, steps.extension.readers)
        characters = sum(len(document.text) for document in found.documents)
        check_limit(steps.limits, "characters", characters, self.source)
        changed = [
            d for d in found.documents if not d.sha256 or self.known.get(d.source) != d.sha256
        ]
        yield Contents(
            sources=tuple(document.source for document in found.documents),
            changed=tuple(document.source for document in changed),
            skipped=found.skipped,
        )
        for document in changed:
            yield steps.prepare(document)


@dataclass(frozen=True, kw_only=True, slots=True)
class Extract:
    """Extract the chunks of a document again. Gives one `Extraction`."""

    document: Document
    chunks: Sequence[Chunk]

    @property
    def source(self) -> str:
        """See `Request`."""
        return self.document.source

    @property
    def size(self) -> int:
        """See `Request`."""
        return len(self.document.text)

    def run(self, steps: Steps) -> Generator[Extraction, None, None]:
        """See `Request`."""
        yield steps.extract(self.document, self.chunks)


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
                with self._lock:
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
    ("clew.indexing.isolation.worker", "Prepared"),
    ("clew.indexing.isolation.worker", "Contents"),
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
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            size = _size()
            if not size:
                room = float("inf")
            else:
                most = size + steps.limits.memory_megabytes * MEGABYTE
                _, hard = resource.getrlimit(resource.RLIMIT_AS)
                if hard == resource.RLIM_INFINITY or hard > most:
                    resource.setrlimit(resource.RLIMIT_AS, (most, most))
                room = (size + most) / 2
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
        steps: Steps = pickle.loads(data)
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
    except Exception:  # noqa: BLE001 - a fault of ours or of a caller's extractor
        return "crash", traceback.format_exc()
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


def _size() -> int:
    """Bytes of address space of this process; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
