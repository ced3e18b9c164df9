"""Whether anybody answers at a provider's address, told in time."""

from __future__ import annotations

import os
import socket
import threading
import time
from queue import Empty, SimpleQueue
from urllib.parse import urlsplit

AWAY_SECONDS = 30.0
"""How long a model that could not be reached is not asked again."""
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


class FirstContact:
    """Tries an address once, however many threads begin with it at the same time."""

    def __init__(self, address: str, seconds: float) -> None:
        self._address, self._seconds = address, seconds
        self._lock = threading.Lock()
        self._reached = False
        self._error, self._until = "", 0.0

    def check(self) -> None:
        """Raise `OSError` where nobody answers, or did not a moment ago."""
        with self._lock:
            if self._reached:
                return
            if time.monotonic() < self._until:
                raise OSError(self._error)
            try:
                check_reachable(self._address, self._seconds)
            except OSError as error:
                self._error, self._until = str(error), time.monotonic() + AWAY_SECONDS
                raise
            self._reached = True


def check_reachable(address: str, seconds: float) -> None:
    """Raise `OSError` where nobody answers at an address itself, within `seconds` in all.

    Looking its name up counts, too, and so does each address of that name: the time limits of
    clients hold for a single address alone.
    """
    if any(os.environ.get(name) or os.environ.get(name.lower()) for name in _PROXIES):
        return  # only the proxy can be reached from here
    parts = urlsplit(address)
    place = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    outcome: SimpleQueue[Exception | None] = SimpleQueue()

    def connect() -> None:
        try:
            socket.create_connection(place, timeout=seconds).close()
        except (OSError, UnicodeError) as error:
            outcome.put(error)
        else:
            outcome.put(None)

    threading.Thread(target=connect, name="clew-llm-connect", daemon=True).start()
    try:
        error = outcome.get(timeout=seconds)
    except Empty:
        raise TimeoutError(f"nothing answered within {seconds:g} s") from None
    if error is not None:
        raise OSError(str(error)) from error
