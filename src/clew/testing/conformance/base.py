"""What the suites share."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from clew.stores.store import Store
from clew.text import entity_key
from clew.types import Entity

RIVERS = ("The Danube passes Vienna. Vienna likes it.", "The Rhine passes Basel.")


class StoreSuite:
    """The root of every suite: it wants a store."""

    @pytest.fixture
    def store(self) -> Store:
        """An empty store, to be overridden.

        It is opened with `EMBEDDER` and `FUNCTIONAL` of `clew.testing.entries`.
        """
        raise NotImplementedError


def moment_between() -> datetime:
    """A moment that is after all that was done and before all that will be."""
    moment = datetime.now(UTC)
    while datetime.now(UTC) <= moment:
        time.sleep(0.0001)
    return moment


def chunk_ids_of(store: Store, source: str) -> list[int]:
    """Ids of a document's chunks, in order; none for an unknown source."""
    found = [document.id for document in store.documents() if document.source == source]
    return [chunk.id for chunk in store.document_chunks(found[0])] if found else []


def entity_of(store: Store, name: str) -> Entity:
    """The entity that has the name as an alias."""
    (entity,) = store.entities([store.resolve([entity_key(name)])[entity_key(name)]])
    return entity
