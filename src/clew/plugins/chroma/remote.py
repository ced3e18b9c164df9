"""Vectors in Chroma, on a server or in a folder.

A tenant a namespace, in it the database `clew`, in it a collection a kind of retrieval. A record's
id is the chunk's. The collection's metadata say what it was made for, and which generation of the
store it was last brought up to. In a store of more than 1,000 chunks a search may miss a few of the
best: HNSW is approximate.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from clew.derived_files import FileLock, private
from clew.errors import (
    ClewError,
    InputError,
    SettingsError,
    StoreError,
    StoreUnavailableError,
    extra_for,
)
from clew.settings import ChromaSettings, Settings
from clew.settings.place import NAMESPACE
from clew.stores.remote_vectors import LostError, SearchTraits, SyncedIndex
from clew.types import Ids, Scores, Vector, Vectors

if TYPE_CHECKING:
    import httpx
    from chromadb.api import ServerAPI
    from chromadb.api.fastapi import FastAPI
    from chromadb.api.models.Collection import Collection
    from chromadb.api.rust import RustBindingsAPI
    from chromadb.config import System
    from chromadb.types import Collection as Model

    from clew.stores.store import Store
    from clew.stores.vectors import Embeddings


DATABASE = "clew"
_GENERATION = "generation"
_BATCH = 250  # a request of a moment, even where vectors are long
_READ = 1000
_PAGE = 10_000

# A filtered search gets slower with the collection.
_TRAITS = SearchTraits(few=256, small=1000)


class ChromaRemote:
    """`Remote` in Chroma: a collection of its own for each namespace."""

    name = "chroma"
    traits = _TRAITS

    def __init__(self, settings: ChromaSettings, namespace: str, folder: Path) -> None:
        """Nothing is opened before it is needed; `folder` is the store's.

        Raises `InputError` for a namespace, `SettingsError` for an address or token that cannot be.
        """
        if not re.fullmatch(NAMESPACE, namespace):
            raise InputError(
                f"the namespace {namespace!r} cannot be a tenant of Chroma; expected at most 64"
                " letters without accents, digits, dots, hyphens and underscores"
            )
        self.namespace = namespace
        self._settings = settings
        self._address = (f"documents_{settings.kind}_v1", f"clew-{namespace}", DATABASE)
        self._connection: ChromaFolder | ChromaServer
        if settings.url:
            self._connection = ChromaServer(settings, folder)
        else:
            path = settings.path.expanduser() if settings.path else folder / "chroma"
            self._connection = ChromaFolder(path, settings.seconds, self._address)

    def reading(self) -> AbstractContextManager[None]:
        """See `Remote`."""
        return self._connection.reading()

    def writing(self) -> AbstractContextManager[None]:
        """See `Remote`."""
        return self._connection.writing()

    def close(self) -> None:
        """See `Remote`."""
        self._connection.close()

    def version(self) -> str:
        """See `Remote`."""
        return self._connection.client.get_version()

    def find(self, embedder: tuple[str, int]) -> ChromaCollection | None:
        """See `Remote`."""
        from chromadb.errors import NotFoundError

        try:
            model = self._connection.client.get_collection(*self._address)
        except NotFoundError:
            return None
        found = ChromaCollection(self._connection, model)
        return found if found.recipe == self._recipe(embedder) else None

    def make(self, embedder: tuple[str, int]) -> ChromaCollection:
        """See `Remote`; in a tenant and a database that are made where they are missing."""
        from chromadb.errors import ChromaError, NotFoundError

        self.remove(embedder)
        name, tenant, database = self._address
        client = self._connection.client
        try:
            client.get_database(database, tenant)
        except NotFoundError:
            # Either may be there by now; where one cannot be made, the last line says why.
            with suppress(ChromaError):
                client.create_tenant(tenant)
            with suppress(ChromaError):
                client.create_database(database, tenant)
            client.get_database(database, tenant)
        model = client.create_collection(
            name,
            configuration={
                "hnsw": {
                    "space": "cosine",  # the default is the Euclidean distance
                    "ef_construction": self._settings.ef_construction,
                    "ef_search": self._settings.ef_search,
                    "max_neighbors": self._settings.max_neighbors,
                }
            },
            metadata=dict(self._recipe(embedder)),
            get_or_create=True,  # a process on another machine may be faster
            tenant=tenant,
            database=database,
        )
        return ChromaCollection(self._connection, model)

    def remove(self, embedder: tuple[str, int]) -> None:
        """See `Remote`; whatever embedder the collection was made for."""
        from chromadb.errors import NotFoundError

        with suppress(NotFoundError):
            self._connection.client.delete_collection(*self._address)

    def _recipe(self, embedder: tuple[str, int]) -> dict[str, str | int]:
        """What a collection is made for; one of another recipe is of no use."""
        return {
            "embedder": embedder[0],
            "dimension": embedder[1],
            "ef_construction": self._settings.ef_construction,
            "ef_search": self._settings.ef_search,
            "max_neighbors": self._settings.max_neighbors,
        }


class ChromaCollection:
    """`RemoteCollection` in Chroma."""

    def __init__(self, connection: ChromaFolder | ChromaServer, model: Model) -> None:
        self._connection = connection
        self._model = model
        self.key = str(model.id)
        metadata = dict(model.metadata or {})
        generation = metadata.pop(_GENERATION, -1)
        self.generation = int(generation) if isinstance(generation, int) else -1
        self.recipe = metadata
        """What it was made for."""

    def count(self) -> int:
        """See `RemoteCollection`."""
        return self._records().count()

    def chunk_ids(self) -> Ids:
        """See `RemoteCollection`."""
        found: list[str] = []
        for offset in count(0, _PAGE):
            page = self._records().get(limit=_PAGE, offset=offset, include=[])["ids"]
            found += page
            if len(page) < _PAGE:
                break
        return np.unique(np.array(found, dtype=np.int64))

    def vectors(self, chunk_ids: Ids) -> Vectors:
        """See `RemoteCollection`."""
        ids, places = np.unique(chunk_ids, return_inverse=True)
        rows = np.empty((len(ids), int(self.recipe["dimension"])), dtype=np.float32)
        for batch in _batches(ids, _READ):
            found = self._records().get(ids=_names(batch), include=["embeddings"])
            if len(found["ids"]) < len(batch):
                raise LostError(
                    f"{len(batch) - len(found['ids'])} vectors are missing from the collection"
                    f" {self._model.name!r} in Chroma; they are made again from the store"
                )
            rows[np.searchsorted(ids, _numbers(found["ids"]))] = found["embeddings"]
        return rows[places]

    def nearest(
        self, vector: Vector, limit: int, only: Ids | None, *, exact: bool
    ) -> tuple[Ids, Scores]:
        """See `RemoteCollection`; it has no choice but to be approximate."""
        found = self._records().query(
            query_embeddings=vector[None, :],
            ids=None if only is None else _names(only),
            n_results=limit,
            include=["distances"],
        )
        distances = found["distances"]
        assert distances is not None
        return _numbers(found["ids"][0]), 1 - np.array(distances[0], dtype=np.float32)

    def upsert(self, chunk_ids: Ids, rows: Vectors) -> None:
        """See `RemoteCollection`."""
        size = min(_BATCH, self._connection.client.get_max_batch_size())
        for batch in _batches(chunk_ids, size):
            places = np.searchsorted(chunk_ids, batch)
            self._records().upsert(_names(batch), embeddings=rows[places])

    def delete(self, chunk_ids: Ids) -> None:
        """See `RemoteCollection`."""
        for batch in _batches(chunk_ids, min(_READ, self._connection.client.get_max_batch_size())):
            self._records().delete(ids=_names(batch))

    def set_generation(self, generation: int) -> None:
        """See `RemoteCollection`."""
        self._records().modify(metadata={**self.recipe, _GENERATION: generation})

    def _records(self) -> Collection:
        from chromadb.api.models.Collection import Collection

        # Without a function of its own, Chroma can neither embed nor fetch a model that does.
        return Collection(
            self._connection.client, self._model, embedding_function=None, data_loader=None
        )


def _batches(ids: Ids, size: int) -> Iterator[Ids]:
    return (ids[start : start + size] for start in range(0, len(ids), size))


def _names(ids: Ids) -> list[str]:
    return [str(chunk_id) for chunk_id in ids.tolist()]


def _numbers(names: list[str]) -> Ids:
    return np.array(names, dtype=np.int64)


# A Chroma in a folder, what it has in common with one on a server, and their errors as Clew's.


_SHOWN = 200


def client_parts(**options: Any) -> System:  # noqa: ANN401 - as the client's settings ask
    """The parts of a client that nobody else uses.

    `PersistentClient` shares them within a process, so that a folder could not be opened again, and
    `HttpClient` talks to the server before it can be told how long to wait.
    """
    with extra_for("vectors in Chroma"):
        from chromadb.config import Settings, System
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
    """A Chroma in a folder, opened when it is first needed; processes take turns with it.

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
        """The client, within `reading` and `writing` alone."""
        assert self._client is not None
        return self._client

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While something is asked; nobody else is in the folder meanwhile."""
        with self._threads, self._lock.held(), translated(self._translate):
            self._open_as_written()
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While something is changed."""
        with self.reading():
            self._note_change(*self._collection)
            try:
                yield
            finally:
                self._note_change()

    def close(self) -> None:
        """Let go of the folder; may be called twice."""
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
                from chromadb.errors import NotFoundError

                with suppress(NotFoundError):
                    client.delete_collection(*unfinished)
                self._note_change()
            self._client = client

    def _open(self) -> RustBindingsAPI:
        system = client_parts(is_persistent=True, persist_directory=str(self._path))
        from chromadb.api.rust import RustBindingsAPI

        client = system.instance(RustBindingsAPI)
        with translated(self._failed):
            system.start()
        return client

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


# A Chroma server, and the one place where its errors become Clew's.


class ChromaServer:
    """A Chroma on a server, as `ChromaFolder`."""

    def __init__(self, settings: ChromaSettings, folder: Path) -> None:
        """Nothing is sent yet; `folder` is the store's.

        Raises `SettingsError` for an address or a token that cannot be.
        """
        self._url = _checked_url(settings.url)
        self._token = settings.token.get_secret_value()
        if not (self._token.isascii() and self._token.isprintable()):
            raise SettingsError(
                "CLEW_CHROMA__TOKEN holds a character that cannot be sent; expected printable ASCII"
            )
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
        """See `ChromaFolder`."""
        return self._opened()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See `ChromaFolder`."""
        with translated(self._translate):
            self._opened()
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While no other process on this machine writes for the same store."""
        with self._lock.held(), self.reading():
            yield

    def close(self) -> None:
        """See `ChromaFolder`."""
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


# The plugin's `clew.hookspecs.VectorIndexKind`.


TEXTS_ALONE = "traditional"
"""The kind of collection that holds vectors of texts without their context."""


def passages(settings: Settings, store: Store) -> SyncedIndex:
    """See `VectorIndexKind`."""
    return SyncedIndex(store, ChromaRemote(settings.chroma, settings.namespace, settings.folder))


def texts(settings: Settings, store: Store, kept: Embeddings) -> SyncedIndex:
    """See `VectorIndexKind`. Raises `SettingsError` where `passages` has that collection."""
    if settings.chroma.kind == TEXTS_ALONE:
        raise SettingsError(
            f"chroma.kind {TEXTS_ALONE!r} and embed.vectors 'both' cannot go together: the"
            " collection of that kind holds the texts alone; set chroma.kind to 'contextual'"
        )
    of_texts = settings.chroma.model_copy(update={"kind": TEXTS_ALONE})
    remote = ChromaRemote(of_texts, settings.namespace, settings.folder)
    return SyncedIndex(store, remote, kept)
