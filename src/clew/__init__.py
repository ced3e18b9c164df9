"""Clew finds the passages that answer a question by following the entities that tie them together.

import clew

with clew.open("notes.clew") as store:
    store.index(["~/notes"])
    for hit in store.search("Who taught the maker of the tower's clock?").hits:
        print(hit.chunk.title, hit.path)
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, Unpack

from clew.errors import ClewError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from clew.aio import AsyncClew
    from clew.engine.state import Models
    from clew.hookspecs import hookimpl
    from clew.indexing.reading.common import RawFile
    from clew.library import Clew
    from clew.models.given import FunctionEmbedder, OwnVectors
    from clew.settings import Settings, load_settings
    from clew.types import (
        Answer,
        Context,
        Document,
        DocumentInfo,
        Entity,
        Hit,
        IndexReport,
        NamedStrategy,
        NewEntity,
        NewRelation,
        Relation,
        SearchResult,
    )

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "AsyncClew",
    "Clew",
    "ClewError",
    "Context",
    "Document",
    "DocumentInfo",
    "Entity",
    "FunctionEmbedder",
    "Hit",
    "IndexReport",
    "NamedStrategy",
    "NewEntity",
    "NewRelation",
    "OwnVectors",
    "RawFile",
    "Relation",
    "SearchResult",
    "Settings",
    "__version__",
    "aopen",
    "hookimpl",
    "load_settings",
    "open",
]

_MODULES = {
    "AsyncClew": "clew.aio",
    "Clew": "clew.library",
    "FunctionEmbedder": "clew.models.given",
    "OwnVectors": "clew.models.given",
    "RawFile": "clew.indexing.reading.common",
    "Settings": "clew.settings",
    "hookimpl": "clew.hookspecs",
    "load_settings": "clew.settings",
    **dict.fromkeys(
        (
            *("Answer", "Context", "Document", "DocumentInfo", "Entity", "Hit", "IndexReport"),
            *("NamedStrategy", "NewEntity", "NewRelation", "Relation", "SearchResult"),
        ),
        "clew.types",
    ),
}


def __getattr__(name: str) -> object:
    """What is imported only when it is first asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module 'clew' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """What there is, imported or not."""
    return sorted({*globals(), *_MODULES})


def open(
    store: str | Path | None = None,
    *,
    namespace: str | None = None,
    settings: Settings | None = None,
    packs: Sequence[str] = (),
    plugins: Sequence[object] = (),
    **models: Unpack[Models],
) -> Clew:
    """Open a store, made where there is none; use it as a context manager, or call `close`.

    `store` is the folder (default `.clew`, or `CLEW_STORE`), `namespace` the tenant, user or
    project within it. `packs` are enabled for the store (docs/packs.md); `plugins` are objects
    with hooks of the program's own (docs/plugins.md), for all stores of the process. The models
    given (`embedder`, `extractor`, `reranker`, `language_model`) stand in for those that the
    settings name; an embedder or a reranker may be a function. Raises `SettingsError` for settings
    that cannot be, `StoreError` for a store that cannot be opened, `NotFoundError` for an unknown
    pack, `InputError` for a model or plugin that lacks what it needs.

    Example:
        >>> with clew.open("notes.clew") as notes:
        ...     _ = notes.add("Ada Marsh built the clock.", source="clock")
        ...     print(notes.count())
        1
    """
    from clew.errors import check_several
    from clew.hookspecs import register
    from clew.library import Clew

    check_several(packs=packs, plugins=plugins)
    if plugins:
        register(*plugins)
    if settings is None or store is not None or namespace is not None:
        from clew.settings import load_settings

        given = {"store": store, "namespace": namespace}
        known = {name: value for name, value in given.items() if value is not None}
        settings = load_settings(**{**(settings.model_dump() if settings else {}), **known})
    opened = Clew(settings, **models)
    try:
        for name in packs:
            opened.packs.enable(name)
    except BaseException:
        opened.close()
        raise
    return opened


if TYPE_CHECKING:
    _Given = ParamSpec("_Given")


def _to_be_awaited(
    make: Callable[_Given, Clew],
) -> Callable[
    [Callable[..., AbstractAsyncContextManager[AsyncClew]]],
    Callable[_Given, AbstractAsyncContextManager[AsyncClew]],
]:
    """Give a function the parameters of another one, as far as type checkers see."""
    return lambda function: function


@_to_be_awaited(open)
def aopen(
    *args: Any,  # noqa: ANN401 - those of `open`
    **options: Any,  # noqa: ANN401 - those of `open`
) -> AbstractAsyncContextManager[AsyncClew]:
    """Open a store to be awaited, with what `open` takes; its methods are those of `Clew`.

    Example:
        >>> import asyncio
        >>> async def ask():
        ...     async with clew.aopen("notes.clew") as notes:
        ...         await notes.add("Ada Marsh built the clock.", source="clock")
        ...         result = await notes.search("Who built the clock?")
        ...         return [hit.chunk.source for hit in result.hits]
        >>> asyncio.run(ask())
        ['clock']
    """
    from clew.aio import opened

    return opened(partial(open, *args, **options))
