"""Threads that wait for others, such as a language model; whoever is interrupted leaves them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.pool import ThreadPool


@contextmanager
def workers(count: int) -> Iterator[ThreadPool]:
    """Threads that work while the block lasts; its end waits for what was begun, unless by Ctrl-C.

    `ThreadPoolExecutor` waits then, too, and once more at the end of the process: for as long as
    a request may take.
    """
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
