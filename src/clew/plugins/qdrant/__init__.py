"""Qdrant: vectors searched on its servers, or in a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clew.hookspecs import hookimpl

if TYPE_CHECKING:
    from clew.ports import Store
    from clew.settings import Settings
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


def texts(settings: Settings, kept: Any) -> None:  # noqa: ANN401 - it has no collection for them
    """See `VectorIndexKind`."""
