"""A Chroma server, and the one place where its errors become Clew's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from clew.errors import SettingsError, StoreError, StoreUnavailableError
from clew.stores.file_lock import FileLock
from clew.stores.vectors.chroma_folder import check_open, client_parts, shown, translated
from clew.stores.vectors.remote import LostError

if TYPE_CHECKING:
    import httpx
    from chromadb.api import ServerAPI
    from chromadb.api.fastapi import FastAPI

    from clew.settings import ChromaSettings


class ChromaServer:
    """`ChromaConnection` to a server."""

    def __init__(self, settings: ChromaSettings, folder: Path) -> None:
        """Nothing is sent yet; `folder` is the store's.

        Raises `SettingsError` for an address or a token that cannot be.
        """
        self._url = _checked_url(settings.url)
        self._token = _checked_token(settings.token.get_secret_value())
        self._seconds = settings.seconds
        busy = (
            f"another process is bringing vectors to Chroma at {self._url!r}; ask again when it has"
            " finished, or raise chroma.seconds"
        )
        self._lock = FileLock(folder / "chroma.lock", settings.seconds, busy)
        self._opening = threading.Lock()
        self._client: FastAPI | None = None
        self._closed = False

    @property
    def client(self) -> ServerAPI:
        """See `ChromaConnection`."""
        return self._opened()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See `ChromaConnection`."""
        with translated(self._translate):
            self._opened()
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """See `ChromaConnection`."""
        with self._lock.held(), self.reading():
            yield

    def close(self) -> None:
        """See `ChromaConnection`."""
        with self._opening:
            self._closed = True
            if self._client is not None:
                http_session(self._client).close()
                self._client = None

    def _opened(self) -> FastAPI:
        with self._opening:
            check_open(self._closed)
            self._client = self._client or self._open()
            return self._client

    def _open(self) -> FastAPI:
        system = client_parts(
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=self._url,
            chroma_server_http_port=urlsplit(self._url).port or 0,  # asked for, and not used
            chroma_server_headers={"Authorization": f"Bearer {self._token}"} if self._token else {},
        )
        import httpx
        from chromadb.api.fastapi import FastAPI

        client = system.instance(FastAPI)
        system.start()
        # Left alone, it waits for an answer for ever, and forgets the status of a refusal.
        session = http_session(client)
        session.timeout = httpx.Timeout(self._seconds)
        session.event_hooks = {"response": [self._check]}
        return client

    def _check(self, response: httpx.Response) -> None:
        """Raise for what is not an answer of Chroma's own."""
        status = response.status_code
        if status in (401, 403):
            raise StoreError(
                f"Chroma at {self._url!r} refused the token ({status}); set CLEW_CHROMA__TOKEN to"
                " one that may read and write"
            )
        if status in (429, 502, 503, 504):
            raise StoreUnavailableError(
                f"Chroma at {self._url!r} is overloaded or starting ({status}); try again later, or"
                " set chroma.url to another"
            )
        if "json" not in response.headers.get("content-type", ""):
            raise StoreError(
                f"what answers at {self._url!r} is no Chroma server (status {status}); set"
                " chroma.url to the address of one"
            )

    def _translate(self, error: Exception) -> StoreError:
        import httpx
        from chromadb.errors import InternalError, NotFoundError

        if isinstance(error, httpx.TransportError):
            slow = isinstance(error, httpx.TimeoutException)
            reason = f"no answer within {self._seconds:g} s" if slow else shown(error)
            return StoreUnavailableError(
                f"cannot reach Chroma at {self._url!r} ({reason}); start it there, or set"
                " chroma.url to where it is" + (", or raise chroma.seconds" if slow else "")
            )
        if isinstance(error, NotFoundError | InternalError):
            return LostError(
                f"Chroma at {self._url!r} has lost vectors ({shown(error)}); they are made again"
                " from the store: see the server's log if this goes on"
            )
        return StoreError(
            f"Chroma at {self._url!r} failed ({shown(error)}); check that chroma.url is the"
            " address of a Chroma server, and see its log"
        )


def http_session(client: FastAPI) -> httpx.Client:
    """What Chroma's client sends its requests with.

    Neither a setting nor an argument of the client's says how long to wait for an answer: this is
    the one place that reaches into it.
    """
    return client._session


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is no number
        fits = False
    if "@" in url:
        raise SettingsError(
            "chroma.url must not hold a login, since addresses are logged; set CLEW_CHROMA__TOKEN"
        )
    if not fits:
        raise SettingsError(
            f"chroma.url is {url!r}; expected an address such as http://localhost:8000"
        )
    return url.rstrip("/")


def _checked_token(token: str) -> str:
    if not (token.isascii() and token.isprintable()):
        raise SettingsError(
            "CLEW_CHROMA__TOKEN holds a character that cannot be sent; expected printable ASCII"
        )
    return token
