"""What a Chroma on a server and one in a folder have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from clew.errors import ClewError, MissingExtraError, StoreError

if TYPE_CHECKING:
    from chromadb.api import ServerAPI
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
