"""A thread-safe cache of the values used last."""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class RecentlyUsed(Generic[Key, Value]):
    """At most `size` values by key, and about `megabytes`; the least recently used goes first.

    Threads may share it. A value counts by its length when pickled; one that is larger than all is
    not kept.

    Not `cachetools`: its caches are not thread-safe and refuse a size of 0; this class would stay.
    """

    def __init__(self, size: int, megabytes: float = 16.0) -> None:
        self._size = size
        self._most = self._left = int(megabytes * 1e6)
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """The value kept under this key; None where there is none."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key][0]
        return None

    def put(self, key: Key, value: Value) -> None:
        """Keep a value."""
        weight = _weight((key, value))
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._left += before
            if weight > self._most:
                return
            self._values[key] = value, weight
            self._left -= weight
            while self._values and (len(self._values) > self._size or self._left < 0):
                _, (_, freed) = self._values.popitem(last=False)
                self._left += freed

    def get_or_make(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value kept under this key, made and kept where there is none."""
        known = self.get(key)
        if known is None:
            known = make()
            self.put(key, known)
        return known


def _weight(value: object) -> int:
    """Bytes, about; what cannot be pickled counts as a megabyte."""
    try:
        return len(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    except (TypeError, AttributeError, pickle.PicklingError):
        return 1_000_000
