"""Qdrant: vectors searched on its servers, or in a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clew.hookspecs import hookimpl

if TYPE_CHECKING:
    from clew.settings import Settings
    from clew.stores.store import Store
    from clew.stores.vectors.matrix import Embeddings
    from clew.stores.vectors.remote import SyncedIndex


@hookimpl
def vector_indexes() -> Mapping[str, str]:
    """See `Hooks`."""
    return {"qdrant": "clew.plugins.qdrant"}


def passages(settings: Settings, store: Store) -> SyncedIndex:
    """See `VectorIndexKind`."""
    from clew.stores.vectors.qdrant import QdrantRemote
    from clew.stores.vectors.remote import SyncedIndex

    remote = QdrantRemote(store, settings.qdrant, settings.namespace, settings.folder)
    return SyncedIndex(store, remote)


def texts(settings: Settings, store: Store, kept: Embeddings) -> None:
    """See `VectorIndexKind`."""
