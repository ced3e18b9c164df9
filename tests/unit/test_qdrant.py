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
from clew.plugins.qdrant.remote import collection_name
from clew.settings import QdrantSettings
from clew.stores.remote_vectors import SyncedIndex
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import DIMENSION, EMBEDDER, make_entry, make_vector
from tests.unit.qdrant_server import QdrantStandIn, stand_in
from tests.unit.vector_stores import (
    add,
    drop,
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
def here(store: SqliteStore) -> Iterator[SyncedIndex]:
    """In a folder beside the store."""
    with closing(qdrant_index(store, QdrantSettings(), "default", store.folder)) as index:
        yield index


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
    open_index: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = {"key": "namespace", "match": {"value": "default"}}
    index, allowed = open_index(quantization=True), store.chunk_ids()[3:5]
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
    store: SqliteStore, other: SqliteStore, server: QdrantStandIn, open_index: Open
) -> None:
    first, second = open_index(store, "first"), open_index(other, "other")
    assert found(store, first, "text 3")
    assert found(other, second, "text 3")
    add(store, 20, 24)
    assert found(store, first)
    assert list(server.local.collections) == [COLLECTION]
    assert found(other, second, "text 22")
    drop(store, *range(20))
    assert found(store, first)
    assert found(other, open_index(other, "other"))
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
    server: QdrantStandIn, open_index: Open
) -> None:
    with closing(QdrantClient(url=server.url, check_compatibility=False)) as client:

        def dense(**settings: bool) -> tuple[Any, Any]:
            """Of the collection that an index with these settings has seen."""
            open_index(**settings).refresh()
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
    server: QdrantStandIn, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = server.answer
    the_others = {"vectors": {"dense": {"size": DIMENSION, "distance": "Dot"}}}

    def late(method: str, path: str, body: object) -> tuple[int, object]:
        if (method, path) == ("PUT", f"/collections/{COLLECTION}"):
            assert answer(method, path, the_others)[0] == 200
        return answer(method, path, body)

    monkeypatch.setattr(server, "answer", late)
    open_index().refresh()
    assert server.local.count(COLLECTION).count == 21


# --- state and failures


def test_a_server_that_is_down_is_named(open_index: Open, closed_port: int) -> None:
    user = "someone:secret"  # which no file may hold within an address
    index = open_index(url=f"http://{user}@127.0.0.1:{closed_port}")
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
def test_a_wrong_key_is_told_from_a_right_one(store: SqliteStore, open_index: Open) -> None:
    with stand_in(api_key="right-key") as server:
        assert found(store, open_index(url=server.url, api_key=SecretStr("right-key")))
        wrong = open_index(url=server.url, api_key=SecretStr("wrong-key"))
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
    open_index: Open, server: QdrantStandIn, url: str, said: str
) -> None:
    index = open_index(url=url.format(server.url))
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
