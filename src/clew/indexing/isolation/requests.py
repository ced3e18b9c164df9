"""What can be asked of the steps that see text; a request can be sent to another process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from clew.indexing.reading.formats.common import check_limit
from clew.request_end import go_on

if TYPE_CHECKING:
    from clew.indexing.inputs import Input
    from clew.indexing.isolation.steps import Prepared, Steps
    from clew.types import Chunk, Document, Extraction, Skipped

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
                (waiting or go_on)()
                with self._lock:
                    found = list(islice(items, 1))
                if not found:
                    return
                yield found[0]

    def close(self) -> None:
        """There is nothing to end."""
