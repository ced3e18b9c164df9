from __future__ import annotations

import re
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

from clew.errors import StoreBusyError, StoreError, StoreUnavailableError
from clew.plugins.qdrant.remote import QdrantConnection, collection_name
from clew.settings import QdrantSettings
from clew.stores.sqlite.store import SqliteStore
from clew.stores.vectors import remote as module
from clew.stores.vectors.remote import SyncedIndex
from clew.testing.entries import DIMENSION, EMBEDDER, make_entry, make_vector
from tests.unit.qdrant_server import QdrantStandIn, stand_in
from tests.unit.vector_stores import (
    add,
    drop,
    embed_again,
    filled_store,
    found,
    nearest,
    qdrant_index,
)

COLLECTION = collection_name(EMBEDDER)
Open = Callable[..., SyncedIndex]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(filled_store(tmp_path / "store")) as store:
        yield store


@pytest.fixture
def server() -> Iterator[QdrantStandIn]:
    with stand_in() as server:
        yield server


@pytest.fixture
def open_index(store: SqliteStore, server: QdrantStandIn) -> Iterator[Open]:
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
    store: SqliteStore, chosen: str
) -> None:
    store.save(make_entry("large", *(f"text {i}" for i in range(300))))
    index = qdrant_index(store, QdrantSettings(), "default", store.folder)
    query, ids = make_vector("q"), store.chunk_ids()
    farthest = np.sort(nearest(store, query, 320)[160:])
    allowed = {"half": ids[::2], "farthest half": farthest, "few": ids[::40]}[chosen]
    for limit in (1, 5):
        expected = nearest(store, query, limit, allowed)
        assert index.search_vector(query, limit, allowed)[0].tolist() == expected
    index.close()


def test_filters_and_exactness_are_asked_of_the_server(
    store: SqliteStore,
    server: QdrantStandIn,
    open_index: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = {"key": "namespace", "match": {"value": "default"}}
    index = open_index(quantization=True)
    index.search_vector(make_vector("q"), 5)
    allowed = store.chunk_ids()[3:5]
    index.search_vector(make_vector("q"), 5, allowed)
    plain, filtered = server.calls("POST", "/query")
    assert plain["filter"] == {"must": [own]}
    assert plain["params"]["exact"] is True
    chosen = {"key": "chunk_id", "match": {"any": allowed.tolist()}}
    assert filtered["filter"] == {"must": [own, chosen]}
    monkeypatch.setattr(module, "_EXACT", 1)
    index.search_vector(make_vector("q"), 100)
    params = server.calls("POST", "/query")[-1]["params"]
    assert "exact" not in params
    assert params["hnsw_ef"] == 2 * 116
    assert params["quantization"] == {"rescore": True, "oversampling": 2.0}


# --- keeping up with the store


def test_another_embedder_has_a_collection_of_its_own_and_leaves_the_old_one(
    store: SqliteStore, server: QdrantStandIn, open_index: Open
) -> None:
    index = open_index()
    index.refresh()
    other = np.array([make_vector(str(i), 4) for i in range(20)])
    embed_again(store, ("org/Other Model", 4), other)
    found_ids, _ = index.search_vector(make_vector("q", 4), 3)
    assert found_ids.tolist() == nearest(store, make_vector("q", 4), 3)
    assert {name: server.local.count(name).count for name in server.local.collections} == {
        COLLECTION: 0,
        "clew-org-other-model-4": 21,
    }


# --- namespaces


def save_towns(store: SqliteStore) -> None:
    store.save(make_entry("a", "Ulm lies on the Danube.", title="Ulm"))
    store.save(make_entry("b", "Passau lies on the Danube, and the Inn, and the Ilz."))
    store.save(make_entry("c", "The Danube, the Danube: a longer river than most rivers are."))
    store.save(make_entry("d", "В Ульме родился Эйнштейн."))


def test_namespaces_of_one_collection_never_meet(
    tmp_path: Path, store: SqliteStore, server: QdrantStandIn, open_index: Open
) -> None:
    other = SqliteStore(tmp_path / "other", embedder=EMBEDDER)
    save_towns(other)
    first, second = open_index(store, "first"), open_index(other, "other")
    assert found(store, first)
    assert found(other, second)
    save_towns(store)
    first.refresh()
    assert list(server.local.collections) == [COLLECTION]
    for text, index, of in (("text 3", second, other), ("Ulm", first, store)):
        assert index.search_vector(make_vector(text), 50)[0].tolist() == nearest(
            of, make_vector(text), 50
        )
    drop(store, *range(20))
    assert found(store, first)
    assert found(other, open_index(other, "other"))
    assert (first.state()["points"], second.state()["points"]) == (4, 4)
    other.close()


def test_a_folder_that_holds_another_namespace_is_searched_for_ones_own(
    tmp_path: Path, store: SqliteStore
) -> None:
    other = SqliteStore(tmp_path / "other", embedder=EMBEDDER)
    save_towns(other)
    for of, namespace in ((store, "first"), (other, "second"), (store, "first")):
        index = qdrant_index(of, QdrantSettings(), namespace, tmp_path)
        assert found(of, index)
        ids, _ = index.search_vector(make_vector("text 3"), 50)
        assert set(ids.tolist()) == set(of.chunk_ids().tolist())
        index.close()
    other.close()


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
    server: QdrantStandIn, open_index: Open
) -> None:
    client = QdrantClient(url=server.url, check_compatibility=False)

    def dense() -> models.VectorParams:
        vectors = client.get_collection(COLLECTION).config.params.vectors
        assert isinstance(vectors, dict)
        return vectors["dense"]

    open_index(quantization=True).refresh()
    asked = dense()
    assert isinstance(asked.quantization_config, models.ScalarQuantization)
    assert asked.quantization_config.scalar.type == models.ScalarType.INT8
    assert asked.on_disk is True
    assert asked.hnsw_config is not None
    assert (asked.hnsw_config.m, asked.hnsw_config.payload_m) == (0, 16)
    schema = client.get_collection(COLLECTION).payload_schema
    assert schema["namespace"].params == models.KeywordIndexParams(
        type=models.KeywordIndexType.KEYWORD, is_tenant=True
    )
    assert schema["chunk_id"].data_type == models.PayloadSchemaType.INTEGER
    open_index().refresh()
    assert (dense().quantization_config, dense().on_disk) == (None, False)
    open_index(on_disk=True).refresh()
    assert (dense().quantization_config, dense().on_disk) == (None, True)
    open_index(quantization=True).refresh()
    assert dense().quantization_config is not None
    client.close()


def test_a_folder_does_not_wait_for_the_disk_at_each_point(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients: list[Any] = []
    opened = QdrantConnection._open

    def noted(connection: QdrantConnection) -> QdrantClient:
        clients.append(opened(connection))
        return clients[-1]

    monkeypatch.setattr(QdrantConnection, "_open", noted)
    index = qdrant_index(store, QdrantSettings(), "default", store.folder)
    index.refresh()
    (client,) = clients
    storage = client.collections[COLLECTION].storage
    assert storage is not None
    database = storage.storage
    assert database.execute("PRAGMA synchronous").fetchone() == (0,)
    index.close()


def test_two_processes_may_make_the_collection_at_once(
    server: QdrantStandIn, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = server.answer

    def late(method: str, path: str, body: object) -> tuple[int, object]:
        if (method, path) == ("PUT", f"/collections/{COLLECTION}"):
            assert answer(method, path, server_config())[0] == 200  # the other's
        return answer(method, path, body)

    monkeypatch.setattr(server, "answer", late)
    open_index().refresh()
    assert server.local.count(COLLECTION).count == 21


def server_config() -> dict[str, Any]:
    return {
        "vectors": {"dense": {"size": DIMENSION, "distance": "Dot"}},
    }


# --- state and failures


def test_a_server_that_is_down_is_named(store: SqliteStore, closed_port: int) -> None:
    login = "someone:secret"
    address = f"http://{login}@127.0.0.1:{closed_port}"
    index = qdrant_index(store, QdrantSettings(url=address), "default", store.folder)
    for call in (index.refresh, lambda: index.search_vector(make_vector("q"), 5)):
        with pytest.raises(StoreUnavailableError, match=r"refused.*qdrant\.url") as failed:
            call()
        assert f"'http://127.0.0.1:{closed_port}'" in str(failed.value)
        assert "secret" not in str(failed.value)
    state = index.state()
    assert re.match(r"cannot reach Qdrant .*refused.*qdrant\.url", state["problem"])
    assert "secret" not in state.pop("problem")
    assert state == {
        "backend": "qdrant",
        "available": True,
        "connected": False,
        "version": "",
        "points": None,
    }
    index.close()


@pytest.fixture
def closed_port() -> int:
    """A port of this machine that nobody listens on."""
    with stand_in() as server:
        return int(server.url.rpartition(":")[2])


def test_a_server_that_was_down_catches_up(
    store: SqliteStore, server: QdrantStandIn, open_index: Open
) -> None:
    index = open_index()
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
    server: QdrantStandIn, open_index: Open
) -> None:
    index = open_index(seconds=1)
    server.silent.clear()
    started = time.monotonic()
    with pytest.raises(StoreUnavailableError, match=r"no answer within 1 s.*qdrant\.seconds"):
        index.refresh()
    assert index.state()["connected"] is False
    assert time.monotonic() - started < 5
    server.silent.set()
    index.refresh()


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_a_wrong_key_is_told_from_a_right_one(store: SqliteStore) -> None:
    with stand_in(api_key="right-key") as server:
        for key, right in (("wrong-key", False), ("right-key", True)):
            settings = QdrantSettings(url=server.url, api_key=SecretStr(key))
            index = qdrant_index(store, settings, "default", store.folder)
            if right:
                assert found(store, index)
            else:
                with pytest.raises(StoreError, match="set CLEW_QDRANT__API_KEY") as failed:
                    index.refresh()
                assert key not in str(failed.value)
            index.close()


SECOND = """
import sys
from pathlib import Path
from clew.settings import QdrantSettings
from clew.stores.sqlite.store import SqliteStore
from clew.plugins.qdrant.remote import QdrantRemote
from clew.stores.vectors.remote import SyncedIndex
folder = Path(sys.argv[1])
store = SqliteStore(folder)
index = SyncedIndex(store, QdrantRemote(store, QdrantSettings(), "default", folder))
print(index.state()["connected"])
try:
    index.refresh()
except Exception as error:
    print(type(error).__name__, error, sep=": ")
"""


def test_a_folder_is_one_processes_alone(store: SqliteStore) -> None:
    index = qdrant_index(store, QdrantSettings(), "default", store.folder)
    index.refresh()
    command = [sys.executable, "-c", SECOND, str(store.folder)]
    busy = subprocess.run(command, capture_output=True, text=True, check=True)
    connected, said = busy.stdout.splitlines()
    assert connected == "False"
    assert said.startswith(f"{StoreBusyError.__name__}: the local Qdrant in")
    assert "set qdrant.url" in said
    index.close()
    free = subprocess.run(command, capture_output=True, text=True, check=True)
    assert free.stdout.splitlines() == ["True"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://x", r"qdrant\.url is 'ftp://x', which is no address"),
        ("{}/elsewhere", r"no route GET /elsewhere/.*qdrant\.url"),
    ],
)
def test_what_is_no_qdrant_is_said_to_be_none(
    open_index: Open, server: QdrantStandIn, url: str, said: str
) -> None:
    index = open_index(url=url.format(server.url))
    with pytest.raises(StoreError, match=said):
        index.refresh()
    assert index.state()["connected"] is False


def test_a_damaged_folder_may_be_deleted(store: SqliteStore) -> None:
    folder = store.folder / "qdrant"
    folder.mkdir()
    (folder / "meta.json").write_text("{")
    index = qdrant_index(store, QdrantSettings(), "default", store.folder)
    with pytest.raises(StoreError, match="or delete it: it is made again from the store"):
        index.refresh()
    shutil.rmtree(folder)
    assert found(store, index)
    index.close()
