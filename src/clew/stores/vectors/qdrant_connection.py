"""A connection to Qdrant, and the one place where its client's errors become Clew's."""

from __future__ import annotations

import math
import pickle
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from clew.errors import MissingExtraError, StoreBusyError, StoreError, StoreUnavailableError
from clew.stores.vectors.remote import LostError

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    from clew.settings import QdrantSettings

# What the client's local mode lets through of the files that it reads and writes.
_LOCAL_FAILURES = (ValueError, KeyError, EOFError, OSError, sqlite3.Error, pickle.PickleError)
_OVERLOADED = {429, 502, 503, 504}
_SHOWN = 200


class QdrantConnection:
    """Qdrant on a server or in a folder, opened when it is first needed; threads may share one.

    What is called within `client` raises `StoreUnavailableError` where the server cannot be
    reached, `StoreBusyError` where another process has the folder open, `LostError` for a
    collection that is not there, and `StoreError` for all else.
    """

    def __init__(self, settings: QdrantSettings, folder: Path) -> None:
        """`folder` is used where the settings name no server."""
        self.settings = settings
        self.local = not settings.url
        """Whether it is in a folder."""
        self._folder = folder
        self._client: QdrantClient | None = None
        self._closed = False
        self._lock = threading.RLock()

    @contextmanager
    def client(self) -> Iterator[QdrantClient]:
        """The client; errors of what is done with it inside are translated."""
        if self.local:
            # The client's local mode is not made for several threads at once.
            with self._lock, _translated_local(self._folder):
                yield self._opened()
        else:
            client = self._opened()
            with _translated(self.settings):
                yield client

    def close(self) -> None:
        """Let go of the folder or the server; may be called twice."""
        with self._lock:
            self._closed = True
            if self._client is not None:
                self._client.close()
                self._client = None

    def _opened(self) -> QdrantClient:
        with self._lock:
            if self._closed:
                raise StoreError("the vectors in Qdrant are closed; open the store again")
            if self._client is None:
                self._client = self._open()
            return self._client

    def _open(self) -> QdrantClient:
        try:
            from qdrant_client import QdrantClient
            from qdrant_client.local.qdrant_local import QdrantLocal
        except ImportError as error:
            raise MissingExtraError("vectors in Qdrant", "qdrant") from error
        if self.local:
            # What QdrantClient(path=…) calls, and unlike it says where it keeps its collections.
            local = QdrantLocal(str(self._folder), force_disable_check_same_thread=True)
            return cast("QdrantClient", local)
        try:
            return QdrantClient(
                url=self.settings.url,
                api_key=self.settings.api_key.get_secret_value() or None,
                timeout=math.ceil(self.settings.seconds),
                # It would ask for the version in a thread of its own, and warn on stderr.
                check_compatibility=False,
            )
        except ValueError as error:
            raise StoreError(
                f"qdrant.url is {_place(self.settings)!r}, which is no address; expected one such"
                " as http://localhost:6333"
            ) from error


def _place(settings: QdrantSettings) -> str:
    """The server's address as it may be shown: without a login."""
    return re.sub(r"//[^/@]*@", "//", settings.url)


@contextmanager
def _translated_local(folder: Path) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise StoreBusyError(
            f"the local Qdrant in {str(folder)!r} is in use by another process, and one alone may"
            " use it at a time; wait until that has finished, or run a Qdrant server and set"
            " qdrant.url to its address"
        ) from error
    except _LOCAL_FAILURES as error:
        raise StoreError(
            f"the local Qdrant in {str(folder)!r} failed ({error}); check the folder's rights and"
            " the free space, or delete it: it is made again from the store"
        ) from error


@contextmanager
def _translated(settings: QdrantSettings) -> Iterator[None]:
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ApiException

    try:
        yield
    except (ApiException, QdrantException) as error:
        raise _translate(error, settings) from error


def _translate(error: Exception, settings: QdrantSettings) -> StoreError:
    """Clew's error for one of the client's."""
    import httpx
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse

    place = _place(settings)
    source, status = getattr(error, "source", None), getattr(error, "status_code", None)
    if isinstance(source, httpx.TransportError):
        slow = isinstance(source, httpx.TimeoutException)
        reason = f"no answer within {math.ceil(settings.seconds)} s" if slow else str(source)
        return StoreUnavailableError(
            f"cannot reach Qdrant at {place!r} ({reason}); start it there, or set qdrant.url to"
            " where it is" + (", or raise qdrant.seconds" if slow else "")
        )
    if status in (401, 403):
        return StoreError(
            f"Qdrant at {place!r} refused the API key ({status}); set CLEW_QDRANT__API_KEY to one"
            " that may read and write"
        )
    if status == 404:
        return LostError(
            f"Qdrant at {place!r} has no such collection ({_detail(error)}); it is made again from"
            " the store: ask once more, and check qdrant.url if this goes on"
        )
    if status in _OVERLOADED or isinstance(error, ResourceExhaustedResponse):
        return StoreUnavailableError(
            f"Qdrant at {place!r} is overloaded or starting ({_detail(error)}); try again later"
        )
    return StoreError(
        f"Qdrant at {place!r} failed ({_detail(error)}); check that qdrant.url is the address of a"
        " Qdrant server, and see its log"
    )


def _detail(error: Exception) -> str:
    """What the server said, on one line."""
    try:
        said = error.structured()["status"]["error"]  # type: ignore[attr-defined]
    except (AttributeError, KeyError, TypeError, ValueError):
        said = getattr(error, "source", None) or error
    return " ".join(str(said).split())[:_SHOWN]
