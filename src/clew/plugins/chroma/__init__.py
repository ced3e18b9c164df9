"""Chroma: vectors searched on its servers, or in a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from clew.errors import SettingsError
from clew.hookspecs import hookimpl

if TYPE_CHECKING:
    from clew.settings import Settings
    from clew.stores.store import Store
    from clew.stores.vectors.matrix import Embeddings
    from clew.stores.vectors.remote import SyncedIndex

TEXTS_ALONE: Literal["traditional"] = "traditional"
"""The kind of collection that holds vectors of texts without their context."""


@hookimpl
def vector_indexes() -> Mapping[str, str]:
    """See `Hooks`."""
    return {"chroma": "clew.plugins.chroma"}


def passages(settings: Settings, store: Store) -> SyncedIndex:
    """See `VectorIndexKind`."""
    from clew.stores.vectors.chroma import ChromaRemote
    from clew.stores.vectors.remote import SyncedIndex

    return SyncedIndex(store, ChromaRemote(settings.chroma, settings.namespace, settings.folder))


def texts(settings: Settings, store: Store, kept: Embeddings) -> SyncedIndex:
    """See `VectorIndexKind`. Raises `SettingsError` where `passages` has that collection."""
    if settings.chroma.kind == TEXTS_ALONE:
        raise SettingsError(
            f"chroma.kind {TEXTS_ALONE!r} and embed.vectors 'both' cannot go together: the"
            " collection of that kind holds the texts alone; set chroma.kind to 'contextual'"
        )
    from clew.stores.vectors.chroma import ChromaRemote
    from clew.stores.vectors.remote import SyncedIndex

    of_texts = settings.chroma.model_copy(update={"kind": TEXTS_ALONE})
    remote = ChromaRemote(of_texts, settings.namespace, settings.folder)
    return SyncedIndex(store, remote, kept)
