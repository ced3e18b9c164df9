"""Worker threads, a share for each namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from clew.request_end import request

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

AT_ONCE = 16
"""Threads of one namespace; further calls of it wait, and those of others do not."""


class Threads:
    """Runs what blocks; to be used in one event loop."""

    def __init__(self) -> None:
        self._limiters: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()

    async def run(self, namespace: str, function: Callable[[], T]) -> T:
        """The result of a function; where the wait is cancelled, its thread is left to end."""
        limiter = self._limiters.get(namespace) or anyio.CapacityLimiter(AT_ONCE)
        self._limiters[namespace] = limiter
        with request():
            return await anyio.to_thread.run_sync(function, abandon_on_cancel=True, limiter=limiter)
