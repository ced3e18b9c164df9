"""What is derived from a store: files beside it, and what packs declare in a server's own terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from clew.derived_files import is_outdated
from clew.graph.snapshot_files import is_behind, write_snapshot
from clew.graph.vocabulary import persist_vocabulary
from clew.search.views import keeps_snapshot
from clew.stores.vectors.matrix import KIND as VECTORS
from clew.text import entity_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.engine.vector_index import VectorIndexWithFallback
    from clew.graph.snapshot import Snapshot
    from clew.packs.enabled import EnabledPacks
    from clew.packs.pack import EntityType, FieldKind
    from clew.ports import Embedder, Store
    from clew.settings import Settings

    Properties = tuple[str, str, str, dict[str, Any]]


def persist(
    store: Store,
    vectors: VectorIndexWithFallback,
    snapshot: Callable[[], Snapshot],
    settings: Settings,
) -> None:
    """Write down what later processes need not make again.

    Of a large store a few changes are not worth writing its files again: each process takes them
    in by itself. Vectors that are not in the store itself are brought up always. A snapshot that no
    question would use is not made.
    """
    generation = store.generation()
    if settings.vectors != "store" or is_outdated(store.folder, VECTORS, generation):
        vectors.persist()
    store.write_indexes()
    if not keeps_snapshot(store, settings):
        return
    if is_behind(store.folder, generation):
        write_snapshot(snapshot(), store.folder)
    persist_vocabulary(store, store.folder)


def publish(store: Store, packs: EnabledPacks, embedder: Embedder) -> None:
    """Bring labels, properties, relationships and vectors of entities up to date."""
    types = packs.entity_types
    if packs.packs:
        labels = {name: one.label or _pascal_case(name) for name, one in types.items()}
        is_own = store.embedder() == (embedder.name, embedder.dimension)
        embed = embedder.embed_documents if is_own else None
        store.publish(labels, list(_properties(store, types)), embed)


def _properties(store: Store, types: Mapping[str, EntityType]) -> Iterator[Properties]:
    """Key, type, document and properties of the entities that documents describe."""
    for document in store.documents():
        kind = types.get(str(document.metadata.get("entity_type", "")))
        if kind is not None:
            values = {
                field.name: _value(field.kind, document.metadata.get(field.name))
                for field in kind.fields
            }
            yield entity_key(document.title), kind.name, document.id, values


def _pascal_case(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _value(kind: FieldKind, value: object) -> object:
    """A value as a server's own type; as text where it is none of its kind."""
    if kind == "list":
        return [str(one) for one in value] if isinstance(value, list) else value
    if isinstance(value, str):
        with suppress(ValueError):
            if kind == "time":
                return datetime.fromisoformat(value)
            if kind == "date":
                return date.fromisoformat(value)
            if kind == "number":
                return float(value)
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)
