"""A worker process: runs requests, one after the other, until the parent or its patience ends.

It holds no store, no model but the tokenizer, and no standard input or output.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, cast

import numpy as np

from clew.errors import ClewError
from clew.indexing.isolation.messages import describe_error, pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.indexing.isolation.messages import Kind
    from clew.indexing.isolation.requests import Request
    from clew.indexing.isolation.steps import Steps
    from clew.indexing.splitting.split import Tokens
    from clew.types import Vectors

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
            room = _limit_memory(steps.limits.memory_megabytes)
            parent.send_bytes(pack("ready"))
            _serve(parent, steps, room)


def _load(parent: Connection) -> Steps | None:
    """What requests run with, loaded before the first one waits for it; None where it cannot be."""
    data = parent.recv_bytes()
    try:
        steps: Steps = pickle.loads(data)
    except Exception as error:  # noqa: BLE001 - whatever keeps a caller's parts from being made
        parent.send_bytes(pack("unusable", f"{type(error).__name__}: {error}"))
        return None
    import clew.indexing.inputs  # noqa: F401

    try:
        steps.tokens.count_tokens("words")
        return replace(steps, tokens=_ParentEmbeds(steps.tokens, parent))
    except ClewError as error:
        parent.send_bytes(pack("error", (describe_error(error), True)))
        return None


def _serve(parent: Connection, steps: Steps, room: float) -> None:
    """Answer requests. What memory a large document leaves behind is not there for the next."""
    worn = False
    while not worn and parent.poll(IDLE_SECONDS):
        request = pickle.loads(parent.recv_bytes())
        kind, detail = _answer(parent, request, steps)
        worn = kind == "memory" or _size() > room
        parent.send_bytes(pack(kind, (detail, worn)))


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


def _limit_memory(megabytes: int) -> float:
    """Bound what this process may add to its memory; the size from which on it is half used up."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    size = _size()
    if not size:
        return float("inf")
    most = size + megabytes * MEGABYTE
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > most:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return (size + most) / 2


def _size() -> int:
    """Bytes of address space of this process; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
