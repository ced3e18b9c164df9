"""What is derived from a store is written down where that is worth it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.derived_files import is_outdated
from clew.graph.snapshot_files import KIND, write_snapshot
from clew.graph.vocabulary import persist_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.engine.vector_index import VectorIndexWithFallback
    from clew.graph.snapshot import Snapshot
    from clew.ports import Store


def persist(
    store: Store,
    vectors: VectorIndexWithFallback,
    snapshot: Callable[[], Snapshot],
    kept_in: str,
) -> None:
    """Write down what later processes need not make again.

    Of a large store a few changes are not worth writing its files again: each process takes them
    in by itself. Vectors that are `kept_in` something else than the store are brought up always.
    """
    outdated = is_outdated(store.folder, KIND, store.generation())
    if outdated or kept_in != "store":
        vectors.persist()
    if outdated:
        write_snapshot(snapshot(), store.folder)
    persist_vocabulary(store, store.folder)
