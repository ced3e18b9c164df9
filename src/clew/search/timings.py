"""How long the steps of a question take."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.request_end import go_on

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Timings:
    """Milliseconds by step, in order of first use; an inner step counts for itself alone."""

    milliseconds: dict[str, float] = field(default_factory=dict)
    _inner: float = 0.0

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add the time spent inside to this step, which is not begun for a request that ended."""
        go_on()
        outer, self._inner = self._inner, 0.0
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = 1000 * (time.perf_counter() - started)
            known = self.milliseconds.get(name, 0.0)
            self.milliseconds[name] = known + spent - self._inner
            self._inner = outer + spent
