"""A store's vectors in a place of a plugin's: what is sent, found again, lost and made again."""

from __future__ import annotations

import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr
from qdrant_client import QdrantClient
from qdrant_client.http import models

from clew.errors import MissingExtraError, StoreBusyError, StoreError, StoreUnavailableError
from clew.plugins.chroma.remote import ChromaCollection
from clew.plugins.qdrant.remote import NamespacePoints, collection_name
from clew.settings import ChromaSettings, QdrantSettings
from clew.stores.remote_vectors import SyncedIndex
from clew.stores.sqlite.backup import back_up, restore
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import DIMENSION, EMBEDDER, make_entry, make_vector
from clew.types import Ids, Vectors
from tests.unit.qdrant_server import QdrantStandIn, stand_in
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


# --- What is Qdrant's own.


COLLECTION = collection_name(EMBEDDER)


@pytest.fixture
def here(store: SqliteStore) -> Iterator[SyncedIndex]:
    """In a folder beside the store."""
    with closing(qdrant_index(store, QdrantSettings(), "default", store.folder)) as index:
        yield index


@pytest.fixture
def server() -> Iterator[QdrantStandIn]:
    with stand_in() as server:
        yield server


@pytest.fixture
def open_qdrant(store: SqliteStore, server: QdrantStandIn) -> Iterator[Open]:
    """Opens indexes on the server; each is what a process has."""
    opened: list[SyncedIndex] = []

    def index(of: SqliteStore = store, namespace: str = "default", **settings: Any) -> SyncedIndex:  # noqa: ANN401
        asked = QdrantSettings(**{"url": server.url, **settings})
        opened.append(qdrant_index(of, asked, namespace, of.folder))
        return opened[-1]

    yield index
    for each in opened:
        each.close()


# --- searching


@pytest.mark.parametrize("chosen", ["half", "farthest half", "few"])
def test_a_folder_is_read_until_enough_of_the_allowed_are_found(
    store: SqliteStore, here: SyncedIndex, chosen: str
) -> None:
    store.save(make_entry("large", *(f"text {i}" for i in range(300))))
    query, ids = make_vector("q"), store.chunk_ids()
    farthest = np.sort(nearest(store, query, 320)[160:])
    allowed = {"half": ids[::2], "farthest half": farthest, "few": ids[::40]}[chosen]
    for limit in (1, 5):
        expected = nearest(store, query, limit, allowed)
        assert here.search_vector(query, limit, allowed)[0].tolist() == expected


def test_filters_and_exactness_are_asked_of_the_server(
    store: SqliteStore,
    server: QdrantStandIn,
    open_qdrant: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = {"key": "namespace", "match": {"value": "default"}}
    index, allowed = open_qdrant(quantization=True), store.chunk_ids()[3:5]
    chosen = {"key": "chunk_id", "match": {"any": allowed.tolist()}}
    index.search_vector(make_vector("q"), 5)
    index.search_vector(make_vector("q"), 5, allowed)
    monkeypatch.setattr("clew.stores.remote_vectors._EXACT", 1)
    index.search_vector(make_vector("q"), 100)
    asked = server.calls("POST", "/query")
    assert [one["filter"] for one in asked] == [
        {"must": [own]},
        {"must": [own, chosen]},
        {"must": [own]},
    ]
    rescored = {"rescore": True, "oversampling": 2.0}
    assert [one["params"] for one in asked] == [
        *[{"exact": True}] * 2,
        {"hnsw_ef": 2 * 116, "quantization": rescored},
    ]


# --- keeping up with the store


# --- namespaces


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store of other texts, and other ids of chunks that have a text of the first one's."""
    with closing(SqliteStore(tmp_path / "other", embedder=EMBEDDER)) as store:
        add(store, 15, 40)
        yield store


def test_namespaces_of_one_collection_never_meet(
    store: SqliteStore, other: SqliteStore, server: QdrantStandIn, open_qdrant: Open
) -> None:
    first, second = open_qdrant(store, "first"), open_qdrant(other, "other")
    assert found(store, first, "text 3")
    assert found(other, second, "text 3")
    add(store, 20, 24)
    assert found(store, first)
    assert list(server.local.collections) == [COLLECTION]
    assert found(other, second, "text 22")
    drop(store, *range(20))
    assert found(store, first)
    assert found(other, open_qdrant(other, "other"))
    assert (first.state()["points"], second.state()["points"]) == (4, 25)


def test_a_folder_that_holds_another_namespace_is_searched_for_ones_own(
    tmp_path: Path, store: SqliteStore, other: SqliteStore
) -> None:
    for of, namespace in ((store, "first"), (other, "second"), (store, "first")):
        with closing(qdrant_index(of, QdrantSettings(), namespace, tmp_path)) as index:
            assert found(of, index, "text 3")


# --- collections


@pytest.mark.parametrize(
    ("embedder", "name"),
    [
        (("all-MiniLM-L6-v2/int8", 384), "clew-all-minilm-l6-v2-int8-384"),
        (("../../etc", 8), "clew-etc-8"),
        (("模型", 8), "clew-embedder-8"),
        (("x" * 300, 8), f"clew-{'x' * 100}-8"),
    ],
)
def test_a_collection_has_its_embedders_name(embedder: tuple[str, int], name: str) -> None:
    assert collection_name(embedder) == name


def test_indexes_and_quantization_are_as_the_settings_ask(
    server: QdrantStandIn, open_qdrant: Open
) -> None:
    with closing(QdrantClient(url=server.url, check_compatibility=False)) as client:

        def dense(**settings: bool) -> tuple[Any, Any]:
            """Of the collection that an index with these settings has seen."""
            open_qdrant(**settings).refresh()
            vectors: Any = client.get_collection(COLLECTION).config.params.vectors
            assert (vectors["dense"].hnsw_config.m, vectors["dense"].hnsw_config.payload_m) == (
                0,
                16,
            )
            return vectors["dense"].quantization_config, vectors["dense"].on_disk

        quantization, on_disk = dense(quantization=True)
        assert (quantization.scalar.type, on_disk) == (models.ScalarType.INT8, True)
        assert dense() == (None, False)
        assert dense(on_disk=True) == (None, True)
        assert dense(quantization=True)[0] == quantization
        schema = client.get_collection(COLLECTION).payload_schema
    assert schema["namespace"].params == models.KeywordIndexParams(
        type=models.KeywordIndexType.KEYWORD, is_tenant=True
    )
    assert schema["chunk_id"].data_type == models.PayloadSchemaType.INTEGER


def test_two_processes_may_make_the_collection_at_once(
    server: QdrantStandIn, open_qdrant: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = server.answer
    the_others = {"vectors": {"dense": {"size": DIMENSION, "distance": "Dot"}}}

    def late(method: str, path: str, body: object) -> tuple[int, object]:
        if (method, path) == ("PUT", f"/collections/{COLLECTION}"):
            assert answer(method, path, the_others)[0] == 200
        return answer(method, path, body)

    monkeypatch.setattr(server, "answer", late)
    open_qdrant().refresh()
    assert server.local.count(COLLECTION).count == 21


# --- state and failures


def test_a_server_that_is_down_is_named(open_qdrant: Open, closed_port: int) -> None:
    user = "someone:secret"  # which no file may hold within an address
    index = open_qdrant(url=f"http://{user}@127.0.0.1:{closed_port}")
    named = rf"cannot reach Qdrant at 'http://127.0.0.1:{closed_port}' .*refused.*qdrant\.url"
    for call in (index.refresh, lambda: index.search_vector(make_vector("q"), 5)):
        with pytest.raises(StoreUnavailableError, match=named) as failed:
            call()
        assert "secret" not in str(failed.value)
    state = index.state()
    assert re.match(named, state.pop("problem"))
    assert state == {
        "backend": "qdrant",
        "available": True,
        "connected": False,
        "version": "",
        "points": None,
    }


@pytest.fixture
def closed_port() -> int:
    """A port of this machine that nobody listens on."""
    with stand_in() as server:
        return int(server.url.rpartition(":")[2])


def test_a_server_that_was_down_catches_up(
    store: SqliteStore, server: QdrantStandIn, open_qdrant: Open
) -> None:
    index = open_qdrant()
    index.refresh()
    server.failing = 503
    add(store, 20, 30)
    drop(store, 4)
    with pytest.raises(StoreUnavailableError, match="overloaded or starting"):
        index.refresh()
    assert index.state()["connected"] is False
    server.failing = 0
    assert found(store, index)


def test_a_server_that_does_not_answer_is_not_waited_for(
    server: QdrantStandIn, open_qdrant: Open
) -> None:
    index = open_qdrant(seconds=1)
    server.silent.clear()
    started = time.monotonic()
    with pytest.raises(StoreUnavailableError, match=r"no answer within 1 s.*qdrant\.seconds"):
        index.refresh()
    assert index.state()["connected"] is False
    assert time.monotonic() - started < 5
    server.silent.set()
    index.refresh()


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_a_wrong_key_is_told_from_a_right_one(store: SqliteStore, open_qdrant: Open) -> None:
    with stand_in(api_key="right-key") as server:
        assert found(store, open_qdrant(url=server.url, api_key=SecretStr("right-key")))
        wrong = open_qdrant(url=server.url, api_key=SecretStr("wrong-key"))
        with pytest.raises(StoreError, match="set CLEW_QDRANT__API_KEY") as failed:
            wrong.refresh()
        assert "wrong-key" not in str(failed.value)


SECOND = """
import sys
from pathlib import Path
from clew.settings import QdrantSettings
from clew.stores.sqlite.store import SqliteStore
from clew.plugins.qdrant.remote import QdrantRemote
from clew.stores.remote_vectors import SyncedIndex
folder = Path(sys.argv[1])
store = SqliteStore(folder)
index = SyncedIndex(store, QdrantRemote(store, QdrantSettings(), "default", folder))
print(index.state()["connected"])
try:
    index.refresh()
except Exception as error:
    print(type(error).__name__, error, sep=": ")
"""


def test_a_folder_is_one_processes_alone(store: SqliteStore, here: SyncedIndex) -> None:
    here.refresh()
    command = [sys.executable, "-c", SECOND, str(store.folder)]
    busy = subprocess.run(command, capture_output=True, text=True, check=True)
    said = rf"False\n{StoreBusyError.__name__}: the local Qdrant in .*set qdrant\.url .*\n"
    assert re.fullmatch(said, busy.stdout)
    here.close()
    free = subprocess.run(command, capture_output=True, text=True, check=True)
    assert free.stdout == "True\n"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://x", r"qdrant\.url is 'ftp://x', which is no address"),
        ("{}/elsewhere", r"no route GET /elsewhere/.*qdrant\.url"),
    ],
)
def test_what_is_no_qdrant_is_said_to_be_none(
    open_qdrant: Open, server: QdrantStandIn, url: str, said: str
) -> None:
    index = open_qdrant(url=url.format(server.url))
    with pytest.raises(StoreError, match=said):
        index.refresh()
    assert index.state()["connected"] is False


def test_a_damaged_folder_may_be_deleted(store: SqliteStore, here: SyncedIndex) -> None:
    folder = store.folder / "qdrant"
    folder.mkdir()
    (folder / "meta.json").write_text("{")
    with pytest.raises(StoreError, match="or delete it: it is made again from the store"):
        here.refresh()
    shutil.rmtree(folder)
    assert found(store, here)
