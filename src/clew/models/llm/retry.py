"""Trying again: what can pass by itself is waited for, what cannot is not."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from clew.errors import ModelUnavailableError

T = TypeVar("T")

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
"""Seconds: before the first further try, doubled with each, and at most."""


def with_retries(
    work: Callable[[], T],
    *,
    retries: int,
    deadline: float,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
    jitter: Callable[[], float] = random.random,
) -> T:
    """What `work` returns, tried again while the model is overloaded and there is time.

    One that was not reached at all is not tried again: whoever waits is told at once. The wait is
    what the provider asks for, else it doubles, with a jitter of a half.
    """
    for attempt in range(retries + 1):
        try:
            return work()
        except ModelUnavailableError as error:
            wait = error.retry_after
            if wait is None:
                wait = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt) * (0.5 + jitter())
            late = now() + wait > deadline
            if not error.reached or attempt == retries or late or wait > LONGEST_WAIT:
                raise
            sleep(wait)
    raise AssertionError("the last try returns or raises")
