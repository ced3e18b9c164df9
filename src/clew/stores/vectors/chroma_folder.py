"""A Chroma in a folder, what it has in common with one on a server, and their errors as Clew's."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from clew.errors import ClewError, MissingExtraError, StoreError
from clew.private_files import private
from clew.stores.file_lock import FileLock
from clew.stores.vectors.remote import LostError

if TYPE_CHECKING:
    from chromadb.api import ServerAPI
    from chromadb.api.rust import RustBindingsAPI
    from chromadb.config import System


_SHOWN = 200


class ChromaConnection(Protocol):
    """A Chroma, opened when it is first needed; threads may share one. Errors are `Remote`'s."""

    @property
    def client(self) -> ServerAPI:
        """The client, within `reading` and `writing` alone."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """While something is asked."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """While no other process on this machine writes for the same store."""
        ...

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""
        ...


def client_parts(**options: Any) -> System:  # noqa: ANN401 - as the client's settings ask
    """The parts of a client that nobody else uses.

    `PersistentClient` shares them within a process, so that a folder could not be opened again, and
    `HttpClient` talks to the server before it can be told how long to wait.
    """
    try:
        from chromadb.config import Settings, System
    except ImportError as error:
        raise MissingExtraError("vectors in Chroma", "chroma") from error
    options["_env_file"] = None  # no file of the working directory has a say
    return System(Settings(anonymized_telemetry=False, **options))


@contextmanager
def translated(translate: Callable[[Exception], StoreError]) -> Iterator[None]:
    """Let errors of the client's leave as what `translate` makes of them."""
    try:
        yield
    except ClewError:
        raise
    except Exception as error:  # the client raises bare ones, too
        raise translate(error) from error


def check_open(closed: bool) -> None:
    """Raise `StoreError` where the connection was closed."""
    if closed:
        raise StoreError("the vectors in Chroma are closed; open the store again")


def shown(error: Exception) -> str:
    """What went wrong, on one line."""
    return " ".join(str(error).split())[:_SHOWN] or type(error).__name__


class ChromaFolder:
    """`ChromaConnection` to a folder; processes take turns with it.

    Chroma expects to be alone in its folder: it keeps indexes in memory, so that a process does not
    find what another has written since, and writes its own outdated ones over theirs. Here each
    waits for the lock, and opens the folder again where `clew.written` says that it has changed: a
    word that is another after each change, and while somebody writes, the collection's name, tenant
    and database. Where they stayed, that process was killed and may have left half an index, which
    Chroma might read without noticing: the collection is deleted.
    """

    def __init__(self, path: Path, seconds: float, collection: tuple[str, str, str]) -> None:
        """`seconds` is how long others are waited for; `collection` is what is written to."""
        busy = (
            f"another process is at work in the Chroma folder {str(path)!r}; ask again when it has"
            " finished, or run a server on it (chroma run --path) and set chroma.url to its address"
        )
        self._path = path
        self._lock = FileLock(path / "clew.lock", seconds, busy)
        self._collection = collection
        self._threads = threading.Lock()
        self._written = path / "clew.written"
        self._seen = ""
        self._client: RustBindingsAPI | None = None
        self._closed = False

    @property
    def client(self) -> ServerAPI:
        """See `ChromaConnection`."""
        assert self._client is not None
        return self._client

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See `ChromaConnection`; nobody else is in the folder meanwhile."""
        with self._threads, self._lock.held(), translated(self._translate):
            self._open_as_written()
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """See `ChromaConnection`."""
        with self.reading():
            self._note_change(*self._collection)
            try:
                yield
            finally:
                self._note_change()

    def close(self) -> None:
        """See `ChromaConnection`."""
        with self._threads:
            self._closed = True
            self._let_go()

    def _open_as_written(self) -> None:
        """Open the folder, again where another process has written."""
        check_open(self._closed)
        written = self._written.read_text() if self._written.exists() else ""
        if written != self._seen:
            self._let_go()
        if self._client is None:
            client, self._seen = self._open(), written
            _, *unfinished = written.split("\n")
            if unfinished:
                self._delete(client, *unfinished)
            self._client = client

    def _open(self) -> RustBindingsAPI:
        system = client_parts(is_persistent=True, persist_directory=str(self._path))
        from chromadb.api.rust import RustBindingsAPI

        client = system.instance(RustBindingsAPI)
        with translated(self._failed):
            system.start()
        return client

    def _delete(self, client: RustBindingsAPI, *collection: str) -> None:
        from chromadb.errors import NotFoundError

        with suppress(NotFoundError):
            client.delete_collection(*collection)
        self._note_change()

    def _note_change(self, *writing: str) -> None:
        self._seen = "\n".join([secrets.token_hex(8), *writing])
        with open(self._written, "w", opener=private) as file:
            file.write(self._seen)

    def _let_go(self) -> None:
        if self._client is not None:
            self._client.stop()
            self._client = None

    def _translate(self, error: Exception) -> StoreError:
        from chromadb.errors import InternalError, NotFoundError

        if isinstance(error, NotFoundError | InternalError):
            return LostError(
                f"Chroma in {str(self._path)!r} has lost vectors ({shown(error)}); they are made"
                " again from the store: if this goes on, check the space on the folder's disk"
            )
        return self._failed(error)

    def _failed(self, error: Exception) -> StoreError:
        return StoreError(
            f"Chroma in {str(self._path)!r} failed ({shown(error)}); check the folder's rights and"
            " the space on its disk, or delete it, where only Clew uses it: it is made again from"
            " the store"
        )
