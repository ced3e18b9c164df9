from __future__ import annotations

import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pydantic import SecretStr

from benchmarks.chroma import fill, make_rows, recall
from clew.derived_files import FileLock
from clew.errors import (
    InputError,
    SettingsError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
)
from clew.plugins.chroma import remote as module
from clew.plugins.chroma.remote import DATABASE, ChromaCollection, ChromaRemote
from clew.settings import ChromaSettings
from clew.stores.remote_vectors import SyncedIndex
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import EMBEDDER, make_entry, make_vector
from tests.unit.vector_stores import (
    add,
    chroma_index,
    filled_store,
    found,
    nearest,
)

if TYPE_CHECKING:
    from clew.types import Ids, Scores, Vectors
    from tests.chroma_server import ChromaServer, Gate


Open = Callable[..., SyncedIndex]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(filled_store(tmp_path / "store")) as store:
        yield store


@pytest.fixture(params=["folder", "server"])
def url(request: pytest.FixtureRequest) -> str:
    """Of a server, and empty for a folder."""
    return request.getfixturevalue("chroma_server").url if request.param == "server" else ""


@pytest.fixture
def namespace() -> str:
    """One that nobody else uses."""
    return f"test-{secrets.token_hex(8)}"


@pytest.fixture
def open_index(store: SqliteStore, url: str, namespace: str) -> Iterator[Open]:
    """Opens indexes; each is what a process has."""
    with opening(store, url, namespace) as index:
        yield index


@pytest.fixture
def open_folder(store: SqliteStore) -> Iterator[Open]:
    """The same in a folder beside the store."""
    with opening(store, "", "default") as index:
        yield index


@contextmanager
def opening(store: SqliteStore, url: str, namespace: str) -> Iterator[Open]:
    opened: list[SyncedIndex] = []

    def index(of: SqliteStore = store, namespace: str = namespace, **settings: Any) -> SyncedIndex:  # noqa: ANN401
        asked = ChromaSettings(**{"url": url, "seconds": 30, **settings})
        opened.append(chroma_index(of, asked, namespace, of.folder))
        return opened[-1]

    yield index
    for each in opened:
        each.close()


@contextmanager
def writing(index: SyncedIndex) -> Iterator[ChromaRemote]:
    """The place of an index, while nobody else may write to it."""
    with index._remote.writing():
        assert isinstance(index._remote, ChromaRemote)
        yield index._remote


def collection_id(index: SyncedIndex) -> str:
    with writing(index) as remote:
        return str(remote._connection.client.get_collection(*remote._address).id)


# --- searching


def test_of_thousands_of_vectors_hardly_any_is_missed(tmp_path: Path, namespace: str) -> None:
    rows = make_rows(2_050, dimension=48)
    store = fill(tmp_path / "large", rows[:2_000])
    with closing(store), opening(store, "", namespace) as open_index:
        index, (ids, held) = open_index(), store.embeddings()
        recalls = [recall(index, ids, held, question, 10) for question in rows[2_000:]]
        assert np.mean(recalls) >= 0.99
        found_ids, scores = index.search_vector(rows[2_000], 10)
        assert scores == pytest.approx(held[found_ids - ids[0]] @ rows[2_000], abs=1e-6)
        allowed = ids[:: len(ids) // 1000]  # too many to compare one by one
        found_ids, _ = index.search_vector(rows[2_000], 10, allowed)
        assert len(set(nearest(store, rows[2_000], 10, allowed)) & set(found_ids.tolist())) >= 9
        assert np.abs(index.vectors(ids) - held).max() < 1e-6


def test_what_hnsw_does_not_reach_is_found_by_comparing(
    store: SqliteStore, open_folder: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(make_entry("many", *(f"passage {i}" for i in range(400))))
    whole = ChromaCollection.nearest

    def few(*asked: Any, exact: bool) -> tuple[Ids, Scores]:  # noqa: ANN401
        ids, scores = whole(*asked, exact=exact)
        return ids[:5], scores[:5]

    monkeypatch.setattr(ChromaCollection, "nearest", few)
    for limit in (10, 3):
        query = make_vector("q")
        found_ids, _ = open_folder().search_vector(query, limit)
        assert found_ids.tolist() == nearest(store, query, limit)


def test_a_store_without_an_embedder_has_nothing_and_asks_for_nothing(
    tmp_path: Path, open_folder: Open
) -> None:
    with closing(SqliteStore(tmp_path / "empty")) as empty:
        index = open_folder(empty)
        assert len(index.search_vector(make_vector("q"), 5)[0]) == 0
        assert index.vectors([]).shape == (0, 0)
        assert not (empty.folder / "chroma").exists()
        assert index.state()["points"] == 0


# --- what is kept where


def test_kind_configuration_and_metadata_are_as_the_settings_ask(
    store: SqliteStore, open_index: Open, namespace: str
) -> None:
    asked = {"ef_construction": 77, "ef_search": 55, "max_neighbors": 11}
    index = open_index(kind="graph", **asked)
    index.refresh()
    with writing(index) as remote:
        model = remote._connection.client.get_collection(
            "documents_graph_v1", f"clew-{namespace}", DATABASE
        )
    made_of = {"embedder": EMBEDDER[0], "dimension": EMBEDDER[1], "generation": store.generation()}
    assert model.metadata == made_of | asked
    hnsw = dict(model.configuration_json["hnsw"])
    assert hnsw | asked | {"space": "cosine"} == hnsw


def test_by_another_recipe_the_collection_is_made_again(
    store: SqliteStore, open_folder: Open
) -> None:
    index, finer = open_folder(), open_folder(ef_construction=300)
    assert found(store, index)
    before = collection_id(index)
    assert found(store, finer)
    assert collection_id(finer) != before


def test_namespaces_never_meet(tmp_path: Path, url: str, namespace: str) -> None:
    # Of one folder, where there is no server; the names are as odd as they may be.
    names = [namespace, namespace.upper(), f"{namespace}..x", f"{namespace}-", f"{namespace}_."]
    stores = [SqliteStore(tmp_path / str(i), embedder=EMBEDDER) for i in range(len(names))]
    for i, each in enumerate(stores):
        add(each, 10 * i, 10 * i + 5 + i)
    with opening(stores[0], url, namespace) as open_index:
        indexes = [
            open_index(each, name, path=tmp_path / "shared")
            for each, name in zip(stores, names, strict=True)
        ]
        for _ in range(2):
            for each, index in zip(stores, indexes, strict=True):
                assert found(each, index)
        assert [index.state()["points"] for index in indexes] == [5, 6, 7, 8, 9]
    for each in stores:
        each.close()


@pytest.mark.parametrize("name", ["мир", "a/b", "", "a b", "-a", "x" * 65])
def test_what_is_no_namespace_is_refused(store: SqliteStore, name: str) -> None:
    with pytest.raises(InputError, match="cannot be a tenant of Chroma"):
        chroma_index(store, ChromaSettings(), name, store.folder)


# --- folders and processes


@pytest.mark.parametrize("name", ["data_level0.bin", "header.bin", "link_lists.bin"])
def test_an_index_of_which_a_file_is_missing_is_made_again(
    store: SqliteStore, open_folder: Open, name: str
) -> None:
    store.save(make_entry("many", *(f"passage {i}" for i in range(1100))))
    index = open_folder()
    index.refresh()
    before = collection_id(index)
    index.close()
    (file,) = (store.folder / "chroma").glob(f"*/{name}")
    file.unlink()
    again, query = open_folder(), make_vector("q")
    assert again.search_vector(query, 20)[0].tolist() == nearest(store, query, 20)
    assert collection_id(again) != before


def test_a_collection_that_a_killed_process_was_writing_is_made_again(
    store: SqliteStore, open_folder: Open
) -> None:
    killed, other, kind = open_folder(), open_folder(), open_folder(kind="graph")
    for index in (killed, other, kind):
        assert found(store, index)
    before, kept = collection_id(other), collection_id(kind)
    note = store.folder / "chroma" / "clew.written"
    with writing(killed):
        while_writing = note.read_text()
    note.write_text(while_writing)  # as if it had gone no further
    assert found(store, kind)  # whoever comes next deletes the collection
    assert found(store, other)
    assert collection_id(other) != before
    assert collection_id(kind) == kept
    assert found(store, killed)


def test_a_folder_that_is_no_chroma_is_named(store: SqliteStore, open_folder: Open) -> None:
    (store.folder / "chroma").mkdir()
    (store.folder / "chroma" / "chroma.sqlite3").write_bytes(b"no database" * 1000)
    index = open_folder()
    with pytest.raises(StoreError, match=r"Chroma in .*chroma.* failed .* delete it"):
        index.refresh()
    assert index.state()["connected"] is False
    shutil.rmtree(store.folder / "chroma")
    assert found(store, index)


def test_a_folder_in_use_for_too_long_is_named(store: SqliteStore, open_folder: Open) -> None:
    index = open_folder(seconds=0.2)
    with (
        FileLock(store.folder / "chroma" / "clew.lock", 1.0, "").held(),
        pytest.raises(StoreBusyError, match=r"another process .*chroma run.*chroma\.url"),
    ):
        index.refresh()
    assert found(store, index)


# Saves documents, brings them to Chroma and searches, again and again.
_PROCESS = """
import sys
from pathlib import Path
from clew.settings import ChromaSettings
from clew.stores.sqlite.store import SqliteStore
from clew.plugins.chroma.remote import ChromaRemote
from clew.stores.remote_vectors import SyncedIndex
from clew.testing.conformance import EMBEDDER, make_entry, make_vector

folder, url, namespace, name, count, size = sys.argv[1:]
store = SqliteStore(Path(folder), embedder=EMBEDDER)
remote = ChromaRemote(ChromaSettings(url=url, seconds=60), namespace, Path(folder))
index = SyncedIndex(store, remote)
for i in range(int(count)):
    texts = [f"{name} {i} {part}" for part in range(int(size))]
    store.save(make_entry(f"{name} {i % 5}", *texts))
    ids, scores = index.search_vector(make_vector(texts[0]), 1)
    assert scores[0] > 0.9999, (name, i, ids, scores)
    print(i, flush=True)
index.close()
store.close()
"""


def start(store: SqliteStore, url: str, namespace: str, *given: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _PROCESS, store.folder, url, namespace, *given]
    return subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_processes_may_write_and_search_at_once(
    store: SqliteStore, url: str, open_index: Open, namespace: str
) -> None:
    index = open_index(seconds=60)
    processes = [start(store, url, namespace, name, 4, 20) for name in ("x", "y")]
    searches = 0
    while any(process.poll() is None for process in processes):
        add(store, searches % 30, searches % 30 + 1)
        before = store.generation()
        matches = found(store, index)
        assert matches or store.generation() != before
        searches += 1
        time.sleep(0.05)
    assert [(*process.communicate(), process.returncode)[1:] for process in processes] == [
        ("", 0)
    ] * 2
    assert found(store, index)
    assert found(store, open_index())
    assert index.state()["points"] == len(store.chunk_ids()) > 160


def test_a_process_killed_at_any_moment_does_no_harm(
    store: SqliteStore, url: str, open_index: Open, namespace: str
) -> None:
    index = open_index(seconds=60)
    process = start(store, url, namespace, "killed", 10_000, 100)
    assert process.stdout is not None
    assert process.stdout.readline() == "0\n"
    time.sleep(0.1)
    process.kill()
    process.communicate()
    assert found(store, index)
    assert found(store, open_index())


# --- servers


def test_a_server_that_dies_is_named_and_goes_on_where_it_stopped(
    store: SqliteStore, own_chroma_server: ChromaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BATCH", 4)
    whole, server = ChromaCollection.upsert, own_chroma_server

    def dying(self: ChromaCollection, ids: Ids, vectors: Vectors) -> None:
        whole(self, ids[:9], vectors[:9])
        server.kill()
        whole(self, ids, vectors)

    with opening(store, server.url, "default") as open_index:
        index = open_index(seconds=5)
        named = rf"cannot reach Chroma at '{server.url}' .*set chroma\.url"
        with monkeypatch.context() as patched:
            patched.setattr(ChromaCollection, "upsert", dying)
            with pytest.raises(StoreUnavailableError, match=named):
                index.refresh()
        state = index.state()
        assert re.match(named, state.pop("problem"))
        assert state == {
            "backend": "chroma",
            "available": True,
            "connected": False,
            "version": "",
            "points": None,
        }
        server.start()
        assert found(store, index)
        server.kill()
        index.refresh()  # nothing has changed: nothing is asked of the server
        for ask in (lambda: index.search_vector(make_vector("q"), 5), lambda: index.vectors([1])):
            with pytest.raises(StoreUnavailableError, match=named):
                ask()


def test_a_server_that_does_not_answer_is_not_waited_for(store: SqliteStore, gate: Gate) -> None:
    gate.silent.set()
    with opening(store, gate.url, "default") as open_index:
        started = time.monotonic()
        named = rf"'{gate.url}' \(no answer within 0\.5 s\).*chroma\.url.*chroma\.seconds"
        with pytest.raises(StoreUnavailableError, match=named):
            open_index(seconds=0.5).refresh()
        assert time.monotonic() - started < 10


def test_a_wrong_token_is_told_from_a_right_one(
    store: SqliteStore, gate: Gate, namespace: str
) -> None:
    with opening(store, gate.url, namespace) as open_index:
        assert found(store, open_index(token=SecretStr("right")))
        for wrong in ("wrong-secret", ""):
            index = open_index(token=SecretStr(wrong))
            refused = r"refused the token \(401\); set CLEW_CHROMA__"
            with pytest.raises(StoreError, match=refused) as failed:
                index.refresh()
            assert "secret" not in str(failed.value)
            assert index.state()["connected"] is False


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (503, StoreUnavailableError, r"is overloaded or starting \(503\)"),
        (404, StoreError, r"is no Chroma server \(status 404\); set chroma\.url"),
        (200, StoreError, r"is no Chroma server \(status 200\); set chroma\.url"),
        (500, StoreError, r"is no Chroma server \(status 500\); set chroma\.url"),
    ],
)
def test_what_is_no_chroma_is_said_to_be_none(
    store: SqliteStore, gate: Gate, status: int, kind: type[StoreError], said: str
) -> None:
    gate.status = status
    with (
        opening(store, gate.url, "default") as open_index,
        pytest.raises(kind, match=said) as failed,
    ):
        open_index().refresh()
    assert type(failed.value) is kind


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"url": "localhost:8000"}, r"chroma\.url is 'localhost:8000'; expected .*http://"),
        ({"url": "http://"}, r"chroma\.url is 'http://'"),
        ({"url": "http://host:port"}, r"chroma\.url is 'http://host:port'"),
        ({"url": "http://me@host"}, r"^chroma\.url must not hold a login"),
        ({"url": "http://host", "token": SecretStr("a\nb")}, r"CLEW_CHROMA__TOKEN .* ASCII$"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    store: SqliteStore, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        chroma_index(store, ChromaSettings(**settings), "default", store.folder)
