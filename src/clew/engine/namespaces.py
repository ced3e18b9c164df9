"""The namespaces of one place: listed, opened with shared models, copied, renamed and deleted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Generic, TypeVar

from clew.engine.documents import Documents
from clew.engine.maintenance import copy
from clew.engine.state import EngineState
from clew.errors import InputError, NotFoundError
from clew.settings.place import NAMESPACE
from clew.wiring import drop_store, move_store, namespaces_of, store_exists

if TYPE_CHECKING:
    from clew.settings import Settings
    from clew.stores.backend import CopyReport, Progress

EngineT = TypeVar("EngineT")


class Namespaces(Generic[EngineT]):
    """The namespaces beside an open store, each a store of its own: a tenant, user or project.

    Iterating gives their names in order. What one holds is never found from another.

    Example:
        >>> with store.namespaces.open("anna") as other:
        ...     _ = other.add("Anna keeps bees.")
        >>> list(store.namespaces)
        ['anna', 'default']
    """

    def __init__(self, state: EngineState, engine: Callable[..., EngineT]) -> None:
        """`engine` makes one of settings and models."""
        self._state, self._engine = state, engine

    def __iter__(self) -> Iterator[str]:
        """Names, sorted."""
        return iter(namespaces_of(self._state.settings))

    def __contains__(self, name: object) -> bool:
        """Whether there is a namespace of this name."""
        return isinstance(name, str) and store_exists(self._settings(name))

    def open(self, name: str) -> EngineT:
        """Open a namespace, made where there is none; it shares the models of this one.

        Close it by itself, and before this one. Raises `InputError` for what is no name.

        Example:
            >>> with store.namespaces.open("anna") as anna:
            ...     print(anna.count())
            0
        """
        return self._engine(self._settings(name), **self._state.models)

    def copy(self, name: str, to: str, *, progress: Progress | None = None) -> CopyReport:
        """Copy a namespace, with everything in it, to a new one.

        Raises `NotFoundError` where there is none, `InputError` where `to` holds something else.

        Example:
            >>> _ = store.namespaces.copy("default", "copy")
            >>> list(store.namespaces)
            ['copy', 'default']
        """
        return copy(self._existing(name), self._settings(to), progress=progress)

    def rename(self, name: str, to: str) -> None:
        """Give a namespace another name, under which no namespace may be.

        Raises `NotFoundError` where there is none, `InputError` for the one that is open here and
        for a name that is taken.

        Example:
            >>> store.namespaces.open("anna").close()
            >>> store.namespaces.rename("anna", "anne")
            >>> list(store.namespaces)
            ['anne', 'default']
        """
        source = self._closed(name)
        if to in self:
            raise InputError(f"there is a namespace {to!r} already; nothing was renamed")
        if not move_store(source, self._settings(to)):
            self.copy(name, to)
            self.delete(name)

    def delete(self, name: str) -> None:
        """Delete a namespace with everything in it, for good.

        Raises `NotFoundError` where there is none, `InputError` for the one that is open here.

        Example:
            >>> store.namespaces.open("anna").close()
            >>> store.namespaces.delete("anna")
            >>> list(store.namespaces)
            ['default']
        """
        settings = self._closed(name)
        if settings.vectors != "store":  # where its vectors are, too
            with closing(EngineState(settings, **self._state.models)) as state:
                documents = Documents(state)
                documents.delete([document.id for document in documents])
        drop_store(settings)

    def _settings(self, name: str) -> Settings:
        if not re.fullmatch(NAMESPACE, name):
            raise InputError(
                f"{name!r} is no name of a namespace; expected letters, digits, '_', '.' and '-',"
                " at most 64"
            )
        return self._state.settings.model_copy(update={"namespace": name})

    def _existing(self, name: str) -> Settings:
        settings = self._settings(name)
        if not store_exists(settings):
            raise NotFoundError(
                f"there is no namespace {name!r}; there are {', '.join(self) or 'none'}"
            )
        return settings

    def _closed(self, name: str) -> Settings:
        if name == self._state.settings.namespace:
            raise InputError(
                f"the namespace {name!r} is open here; open another one, and do it there"
            )
        return self._existing(name)
