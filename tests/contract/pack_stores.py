"""Stores with packs for tests, on a folder or on a namespace of a real Neo4j server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import clew
from clew import Clew
from clew.settings import Settings, load_settings
from clew.testing.fakes import HashEmbedder
from tests.contract.neo4j_stores import new_place


@contextmanager
def pack_settings(
    request: pytest.FixtureRequest, back_end: str, folder: Path, **given: object
) -> Iterator[Settings]:
    """Settings of a store on a back end; what is on the server is gone afterwards."""
    if back_end == "sqlite":
        yield load_settings(store=folder / "store", **given)
        return
    address = request.getfixturevalue("neo4j_address")
    login = request.getfixturevalue("neo4j_settings").model_copy(update={"local": folder / "store"})
    with new_place(address, login) as place:
        yield load_settings(store=address, namespace=place.namespace, neo4j=login, **given)


def open_with(settings: Settings, packs: Sequence[str] = ()) -> Clew:
    """The store, with packs enabled; its embedder is a hash."""
    return clew.open(settings=settings, packs=packs, embedder=HashEmbedder())
