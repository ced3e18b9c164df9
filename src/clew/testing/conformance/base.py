"""What the suites share."""

from __future__ import annotations

import pytest

from clew.ports import Store
from clew.text import entity_key
from clew.types import Entity

RIVERS = ("The Danube passes Vienna. Vienna likes it.", "The Rhine passes Basel.")


class StoreSuite:
    """The root of every suite: it wants a store."""

    @pytest.fixture
    def store(self) -> Store:
        """An empty store, opened with `clew.testing.entries.EMBEDDER`; to be overridden."""
        raise NotImplementedError


def chunk_ids_of(store: Store, source: str) -> list[int]:
    """Ids of a document's chunks, in order; none for an unknown source."""
    found = [document.id for document in store.documents() if document.source == source]
    return [chunk.id for chunk in store.document_chunks(found[0])] if found else []


def entity_of(store: Store, name: str) -> Entity:
    """The entity that has the name as an alias."""
    (entity,) = store.entities([store.resolve([entity_key(name)])[entity_key(name)]])
    return entity
