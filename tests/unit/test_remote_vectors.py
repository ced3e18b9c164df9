"""A store's vectors in a place of a plugin's: what is sent, found again, lost and made again."""

from __future__ import annotations

import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew.errors import MissingExtraError, StoreError
from clew.plugins.chroma.remote import ChromaCollection
from clew.plugins.qdrant.remote import NamespacePoints
from clew.settings import ChromaSettings, QdrantSettings
from clew.stores.remote_vectors import SyncedIndex
from clew.stores.sqlite.backup import back_up, restore
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import DIMENSION, EMBEDDER, make_entry, make_vector
from clew.types import Ids, Vectors
from tests.unit.qdrant_server import stand_in
from tests.unit.vector_stores import (
    add,
    chroma_index,
    drop,
    embed_again,
    filled_store,
    found,
    nearest,
    qdrant_index,
    search_while_saving,
)

pytest_plugins = ["tests.chroma_server"]

Open = Callable[..., SyncedIndex]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(filled_store(tmp_path / "store")) as store:
        yield store


@pytest.fixture(params=["qdrant folder", "qdrant server", "chroma folder", "chroma server"])
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """A plugin, and the address of its server; empty for a folder."""
    name, _, kind = request.param.partition(" ")
    if kind == "folder":
        yield name, ""
    elif name == "chroma":
        yield name, request.getfixturevalue("chroma_server").url
    else:
        with stand_in() as server:
            yield name, server.url


@pytest.fixture
def collections(place: tuple[str, str]) -> type[Any]:
    """The class of a place's `RemoteCollection`s."""
    return ChromaCollection if place[0] == "chroma" else NamespacePoints


@pytest.fixture
def open_index(store: SqliteStore, place: tuple[str, str], tmp_path: Path) -> Iterator[Open]:
    """Opens the index of the one namespace, as another process would: the one before is closed."""
    opened: list[SyncedIndex] = []
    name, url = place
    namespace = f"test-{secrets.token_hex(8)}"

    def index(of: SqliteStore = store, **settings: Any) -> SyncedIndex:  # noqa: ANN401
        for before in opened:
            before.close()
        given = {"url": url, "seconds": 30, "path": tmp_path / "there", **settings}
        if name == "chroma":
            opened.append(chroma_index(of, ChromaSettings(**given), namespace, of.folder))
        else:
            opened.append(qdrant_index(of, QdrantSettings(**given), namespace, of.folder))
        return opened[-1]

    yield index
    for each in opened:
        each.close()


def test_ties_of_any_number_are_the_stores_own(store: SqliteStore, open_index: Open) -> None:
    store.save(make_entry("twins", *["one and the same"] * 400))
    index = open_index()
    for text in ("one and the same", "a", "b"):
        query = make_vector(text)
        for limit in (3, 100, 401):
            assert index.search_vector(query, limit)[0].tolist() == nearest(store, query, limit)
    allowed = np.array([3, 5, 999_999], dtype=np.int64)
    assert index.search_vector(query, 5, allowed)[0].tolist() == nearest(store, query, 5, allowed)
    assert index.search_vector(query, 0)[0].tolist() == []
    assert index.vectors([]).shape == (0, DIMENSION)
    with pytest.raises(StoreError, match=r"of shape \(9,\); expected \(8,\)"):
        index.search_vector(make_vector("q", 9), 5)


def test_state_says_what_is_there_until_it_is_closed(
    store: SqliteStore, open_index: Open, place: tuple[str, str]
) -> None:
    index = open_index()
    assert index.state()["points"] == 0
    index.refresh()
    state = index.state()
    assert state.pop("version")
    assert state.pop("problem") == ""
    assert state == {"backend": place[0], "available": True, "connected": True, "points": 20}
    for _ in range(2):
        index.close()
    with pytest.raises(StoreError, match="are closed; open the store again"):
        index.search_vector(make_vector("q"), 1)
    assert index.state()["connected"] is False


def test_without_the_client_the_extra_is_named(
    open_index: Open, place: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = {"chroma": "chromadb", "qdrant": "qdrant_client"}[place[0]]
    for name in [client, *(name for name in sys.modules if name.partition(".")[0] == client)]:
        monkeypatch.setitem(sys.modules, name, None)
    index = open_index()
    with pytest.raises(MissingExtraError, match=rf"pip install 'clew\[{place[0]}\]'"):
        index.refresh()
    state = index.state()
    assert (state["available"], state["connected"], state["points"]) == (False, False, None)


# --- keeping up with the store


def test_what_changed_meanwhile_is_caught_up_with(store: SqliteStore, open_index: Open) -> None:
    assert found(store, open_index())
    add(store, 20, 60)
    drop(store, 0, 7, 30)
    index = open_index()
    index.persist()
    assert found(store, index)
    assert index.state()["points"] == 57
    drop(store, *range(60))
    assert found(store, index)
    assert index.state()["points"] == 0
    add(store, 60, 62)
    assert found(store, index)


def test_only_the_difference_is_sent(
    store: SqliteStore, open_index: Open, collections: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, list[int]]] = []
    for name in ("upsert", "delete", "chunk_ids", "set_generation"):

        def noted(self: Any, *given: Any, name: str = name, do: Any = None) -> Any:  # noqa: ANN401
            done.append((name, np.atleast_1d(given[0] if given else []).tolist()))
            return do(self, *given)

        patched = replace_default(noted, getattr(collections, name))
        monkeypatch.setattr(collections, name, patched)
    index = open_index()
    index.refresh()
    done.clear()
    add(store, 20, 22)
    drop(store, 4)
    index.refresh()
    sent = [(name, ids) for name, ids in done if ids]
    assert sent == [("delete", [5]), ("upsert", [21, 22]), ("set_generation", [store.generation()])]
    assert "chunk_ids" not in dict(done)  # nobody else has written: what there is is known
    store.save(make_entry("named", "Ulm is old.", names=["Ulm"]))
    index.refresh()
    done.clear()
    store.rename(store.resolve(["ulm"])["ulm"], "Ulm (Donau)")
    index.refresh()
    assert [name for name, ids in done if ids] == ["set_generation"]
    done.clear()
    index.refresh()
    open_index().refresh()  # another process
    assert done == []


def replace_default(function: Any, do: Any) -> Any:  # noqa: ANN401
    """The function with what it stands before."""
    return lambda self, *given: function(self, *given, do=do)


@pytest.mark.parametrize("ends", [KeyboardInterrupt, None], ids=["broken off", "saved meanwhile"])
def test_what_happens_while_vectors_are_sent_is_made_good(
    store: SqliteStore,
    open_index: Open,
    collections: type[Any],
    monkeypatch: pytest.MonkeyPatch,
    ends: type[BaseException] | None,
) -> None:
    whole = collections.upsert

    def meanwhile(self: Any, ids: Ids, rows: Vectors) -> None:  # noqa: ANN401
        whole(self, ids[:9], rows[:9])
        monkeypatch.setattr(collections, "upsert", whole)
        if ends:
            raise ends
        whole(self, ids[9:], rows[9:])
        add(store, 20, 21)

    monkeypatch.setattr(collections, "upsert", meanwhile)
    index = open_index()
    if ends:
        with pytest.raises(ends):
            index.refresh()
        assert index.state()["points"] == 9
        drop(store, 1)
    else:
        index.refresh()
        assert index.state()["points"] == 21
    assert found(store, index)
    assert found(store, open_index())


def test_what_the_store_no_longer_holds_is_not_found(store: SqliteStore, open_index: Open) -> None:
    """A slower process may have written again what was deleted meanwhile."""
    index = open_index()
    index.refresh()
    with index._remote.writing():
        collection = index._remote.find(EMBEDDER)
        assert collection is not None
        collection.upsert(np.array([999]), make_vector("q")[None, :])
    assert found(store, index, "q")
    assert found(store, open_index(), "q")


@pytest.mark.parametrize("loss", ["collection", "records"])
def test_what_the_place_loses_is_made_again_unasked(
    store: SqliteStore, open_index: Open, loss: str
) -> None:
    index = open_index()
    assert found(store, index)
    with index._remote.writing():
        collection = index._remote.find(EMBEDDER)
        assert collection is not None
        if loss == "collection":
            index._remote.remove(EMBEDDER)
        else:
            collection.delete(np.array([2, 3, 4]))
    assert index.vectors([3]).shape == (1, DIMENSION)
    allowed = store.chunk_ids()[1:15]
    query = make_vector("q")
    assert index.search_vector(query, 5, allowed)[0].tolist() == nearest(store, query, 5, allowed)
    assert found(store, index)


def test_other_vectors_replace_those_before(store: SqliteStore, open_index: Open) -> None:
    index = open_index()
    index.refresh()
    embed_again(store, EMBEDDER, store.embeddings()[1][::-1])
    assert found(store, index)
    embed_again(store, ("another", 12), np.array([make_vector(str(i), 12) for i in range(20)]))
    assert found(store, index)
    assert index.state()["points"] == 20


def test_after_a_backup_was_brought_back_what_is_found_is_right(
    tmp_path: Path, store: SqliteStore, open_index: Open
) -> None:
    back_up(store, tmp_path / "backup.db")
    add(store, 20, 25)
    index = open_index()
    assert found(store, index)
    restore(store, tmp_path / "backup.db")
    add(store, 100, 107)
    assert found(store, index)
    restore(store, tmp_path / "backup.db")
    assert found(store, open_index())


@pytest.mark.parametrize("later", [5, 12], ids=["fewer than before", "more than before"])
def test_another_life_of_the_store_makes_its_vectors_again(
    tmp_path: Path, open_index: Open, caplog: pytest.LogCaptureFixture, later: int
) -> None:
    folder, copy = tmp_path / "one", tmp_path / "copy"
    with closing(SqliteStore(folder, embedder=EMBEDDER)) as store:
        add(store, 0, 5)
    shutil.copytree(folder, copy)
    with closing(SqliteStore(folder)) as store:
        add(store, 5, 15)
        assert found(store, open_index(store))
    with closing(SqliteStore(copy)) as store:
        add(store, 80, 80 + later)  # the same ids
        assert "are not its store's" not in caplog.text
        assert found(store, open_index(store), "text 82")
        assert "are not its store's; they are made again" in caplog.text


def test_threads_may_search_while_another_saves(store: SqliteStore, open_index: Open) -> None:
    index = open_index()
    search_while_saving(index, store, 20, 30)
    assert found(store, index)
