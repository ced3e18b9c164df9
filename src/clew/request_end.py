"""What is done for a request ends when the request does: answered, cancelled, too late, hung up.

A server marks the end of each request (`request`). What takes long looks at it: each read of the
store, each step of a search, each run of a model, each round of a loop that does neither. None of
them has to be told of it: the mark follows the work into its thread. Outside of a server no request
ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from clew.errors import ClewError

if TYPE_CHECKING:
    from multiprocessing.pool import ThreadPool

_ended = ContextVar[threading.Event | None]("ended", default=None)
_finishing = ContextVar[bool]("finishing", default=False)


class RequestEndedError(ClewError):
    """Whoever asked waits no more."""


@contextmanager
def request() -> Iterator[Callable[[], None]]:
    """Around the wait for what is done for a request: what goes on after it is to end.

    Gives what ends the request sooner.
    """
    ended = threading.Event()
    token = _ended.set(ended)
    try:
        yield ended.set
    finally:
        ended.set()
        _ended.reset(token)


@contextmanager
def finishing() -> Iterator[None]:
    """What is done inside is not left half done: `go_on` lets it; `has_ended` tells it still."""
    token = _finishing.set(True)
    try:
        yield
    finally:
        _finishing.reset(token)


def has_ended() -> bool:
    """Whether nobody waits any more for what this thread does."""
    ended = _ended.get()
    return ended is not None and ended.is_set()


def go_on() -> None:
    """Raise `RequestEndedError` where nobody waits any more; called now and then."""
    if has_ended() and not _finishing.get():
        raise RequestEndedError("the request ended before its answer: ask again")


# Threads that wait for others, such as a language model; whoever is interrupted leaves them.
#
# The pool is imported inside the function: opening a store needs none of it.


@contextmanager
def workers(count: int) -> Iterator[ThreadPool]:
    """Threads that work while the block lasts; its end waits for what was begun, unless by Ctrl-C.

    `ThreadPoolExecutor` waits then, too, and once more at the end of the process: for as long as
    a request may take.
    """
    from multiprocessing.pool import ThreadPool

    pool, waits = ThreadPool(count), True
    try:
        yield pool
    except KeyboardInterrupt:
        waits = False
        raise
    finally:
        pool.terminate()
        if waits:
            pool.join()
