"""Several real processes on one store of a Neo4j server, killed ones, and a lost connection."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import clew
from clew import Clew
from clew.errors import StoreUnavailableError
from clew.plugins.neo4j.store import Neo4jStore
from clew.settings import Neo4jSettings
from clew.testing.conformance import make_entry
from clew.testing.fakes import HashEmbedder
from clew.types import IndexedDocument
from tests.contract.neo4j_stores import Place, new_place
from tests.contract.test_neo4j_workers import content

DOCUMENTS = 12
TOWNS = ("Vienna", "Basel", "Ulm")

# Saves documents as they are told to on stdin, and prints a line for each one that is saved.
_WRITER = """
import json
import sys
from pathlib import Path
from tests.contract.neo4j_stores import Place
from tests.e2e.test_neo4j_processes import document
from clew.settings import Neo4jSettings

login, address, namespace, folder = sys.argv[1:]
place = Place(address, Neo4jSettings.model_validate_json(login), namespace)
with place.store(Path(folder)) as store:
    print("open", flush=True)
    for line in sys.stdin:
        store.save(document(*json.loads(line)))
        print(line, end="", flush=True)
"""


def document(number: int, writer: int) -> IndexedDocument:
    """A document whose text says who wrote it; towns are everybody's names, some people are."""
    town, person = TOWNS[number % len(TOWNS)], f"Person {(number + writer) % 5}x"
    text = f"{person} lives in {town}. Writer {writer} said so of number {number}."
    return make_entry(
        f"document {number}",
        text,
        names={person: "person", town: "place", f"Writer {writer}": "name"},
        relations=[(person, "lives_in", town)],
    )


@pytest.fixture
def place(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Place]:
    with new_place(neo4j_address, neo4j_settings) as place:
        yield place


def start(place: Place, folder: Path) -> subprocess.Popen[str]:
    login = {
        "user": place.settings.user,
        "password": place.settings.password.get_secret_value(),
        "retry_seconds": 120,
    }
    arguments = (json.dumps(login), place.address, place.namespace, str(folder))
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
    )


def tell(writer: subprocess.Popen[str], lines: str) -> None:
    """Give a writer all that it has to do; it ends when its input does."""
    assert writer.stdin is not None
    writer.stdin.write(lines)
    writer.stdin.flush()


def jobs(writer: int, rounds: int) -> str:
    chance = random.Random(writer)
    numbers = [n for _ in range(rounds) for n in chance.sample(range(DOCUMENTS), DOCUMENTS)]
    return "".join(f"{json.dumps([number, writer])}\n" for number in numbers)


def test_four_processes_lose_and_double_nothing(place: Place, tmp_path: Path) -> None:
    writers = [start(place, tmp_path / str(writer)) for writer in range(4)]  # all make the store
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
    with place.store(tmp_path / "reader") as store:
        before = store.generation()
        for number, writer in enumerate(writers):
            tell(writer, jobs(number, 2))
        for writer in writers:
            _, errors = writer.communicate(timeout=500)
            assert writer.returncode == 0, errors
        assert store.generation() == before + 2 * 4 * DOCUMENTS
        check_content(store)
        for info in store.documents():
            versions = store.lineage(info.id)
            assert [v.version for v in versions] == list(range(1, info.version + 1))
            digests = ["", *(v.sha256 for v in versions)]
            assert [v.derived_from for v in versions] == digests[:-1]
            assert [v.replaced_at is None for v in versions] == [False] * (info.version - 1) + [
                True
            ]


def check_content(store: Neo4jStore) -> None:
    """The store is sound and holds what its documents' texts say: nothing else, nothing twice."""
    assert store.check().problems == ()
    texts = {c.id: c.text for c in store.chunks(store.chunk_ids().tolist())}
    sources = [document.source for document in store.documents()]
    assert sources == sorted(f"document {number}" for number in range(DOCUMENTS))
    assert len(texts) == DOCUMENTS
    aliases = store.aliases()
    keys = {alias.key for alias in aliases}
    assert len({alias.entity_id for alias in aliases}) == len(keys) == len(aliases)
    names = {alias.entity_id: alias.name for alias in aliases}
    mentions = [(chunk, names[entity]) for chunk, _, entity, _ in store.mention_rows().tolist()]
    assert len(mentions) == len(set(mentions)) == 3 * DOCUMENTS
    assert all(name in texts[chunk] for chunk, name in mentions)
    assert {name for _, name in mentions} == set(names.values())
    rows = store.relation_rows()
    assert sorted(rows.chunks.tolist()) == sorted(texts)
    for chunk, head, tail in np.column_stack([rows.chunks, rows.heads, rows.tails]).tolist():
        assert f"{names[head]} lives in {names[tail]}." in texts[chunk]


def test_a_killed_process_leaves_whole_documents(place: Place, tmp_path: Path) -> None:
    chance = random.Random(11)
    for attempt in range(2):
        writer = start(place, tmp_path / "killed")
        assert writer.stdout is not None
        tell(writer, jobs(attempt, 20))
        told = [writer.stdout.readline() for _ in range(3)]
        time.sleep(chance.uniform(0, 0.2))
        writer.kill()
        rest, _ = writer.communicate()
        saved = {json.loads(line)[0] for line in [*told, *rest.splitlines()] if line[0] == "["}
        with place.store(tmp_path / "reader") as store:
            assert store.check().problems == (), f"after kill {attempt}"
            documents = store.documents()
            assert {f"document {n}" for n in saved} <= {d.source for d in documents}
            assert len(store.chunk_ids()) == len(store.embeddings()[0]) == len(documents)
    with place.store(tmp_path / "reader") as store:
        for number in range(DOCUMENTS):
            store.save(document(number, 3))
        check_content(store)


# --- a lost connection -------------------------------------------------------------------


class Proxy:
    """Passes bytes on to a server until it is cut; then nobody answers at its address."""

    def __init__(self, address: str) -> None:
        host, _, port = address.partition("://")[2].partition(":")
        self._server = (host, int(port or 7687))
        self._port = 0
        self._sockets: list[socket.socket] = []
        self.mend()

    @property
    def address(self) -> str:
        return f"bolt://127.0.0.1:{self._port}"

    def mend(self) -> None:
        """Take connections, at the same port as before."""
        listener = socket.create_server(("127.0.0.1", self._port))
        self._port = listener.getsockname()[1]
        self._sockets = [listener]
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        """Drop all connections and take no more."""
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(self._server)
                self._sockets += [near, far]
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=_pump, args=ends, daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxied(place: Place) -> Iterator[tuple[Proxy, Place]]:
    proxy = Proxy(place.address)
    settings = place.settings.model_copy(update={"retry_seconds": 1.0, "connect_seconds": 1.0})
    try:
        yield proxy, Place(proxy.address, settings, place.namespace)
    finally:
        proxy.cut()


def test_a_lost_connection_is_named_and_saving_goes_on_when_the_server_is_back(
    place: Place, tmp_path: Path
) -> None:
    with proxied(place) as (proxy, through), through.store(tmp_path) as store:
        store.save(document(0, 0))
        proxy.cut()
        with pytest.raises(StoreUnavailableError, match="cannot be reached; start the server"):
            store.save(document(1, 0))
        with pytest.raises(StoreUnavailableError, match=proxy.address):
            store.documents()
        proxy.mend()
        with pytest.raises(StoreUnavailableError):
            save_and_cut(store, proxy)
        proxy.mend()
        assert [d.source for d in store.documents()] == ["document 0"]  # of the batch: nothing
        for number in range(DOCUMENTS):
            store.save(document(number, 1))
        check_content(store)


def save_and_cut(store: Neo4jStore, proxy: Proxy) -> None:
    """Lose the connection in the middle of a batch."""
    with store.batch():
        store.save(document(2, 0))
        proxy.cut()
        store.save(document(3, 0))


# --- Processes index a shard each, and one is killed: it is as one had done it.


LAUNCHER = Path(__file__).parents[2] / "examples" / "index_processes.py"
LETTERS, WORKERS = 27, 3
PEOPLE = ("Ada Morn", "Piet Oss", "Brida Kall", "Tobias Fenn", "Edda Rowe", "Muhammad Ali")
QUESTION = "What does GOL stand for?"
# A commit, and a word, after each document.
_WORKER = """
import sys, clew
import clew.indexing.pipeline as pipeline
from clew.testing.fakes import HashEmbedder

address, namespace, letters, number, of = sys.argv[1:]
pipeline.BATCH_CHUNKS = 1
with clew.open(address, namespace=namespace, embedder=HashEmbedder()) as engine:
    shard = (int(number), int(of))
    engine.index([letters], shard=shard, progress=lambda *done: print(*done, flush=True))
"""


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """Names that are spelled in two ways, some in brackets, and facts that several state."""
    folder, chance = tmp_path / "letters", random.Random(5)
    folder.mkdir()
    for number in range(LETTERS):
        first, second = chance.sample(PEOPLE, 2)
        spelled = second.replace("Muhammad", "Mohammad") if number % 2 else second
        guild = "the Guild of Lisse (GOL)" if number % 9 == 0 else "the Guild of Lisse"
        (folder / f"{number:02}.md").write_text(
            f"# Letter {number}\n\n{first} was taught by {spelled} in {1800 + number}. They met at"
            f" {guild}. {first} works for {guild}, and lives in Delft.\n",
            encoding="utf-8",
        )
    return folder


@pytest.fixture
def places(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[tuple[Place, Place]]:
    with (
        new_place(neo4j_address, neo4j_settings) as shared,
        new_place(neo4j_address, neo4j_settings) as whole,
    ):
        yield shared, whole


def settings_of(place: Place, folder: Path) -> dict[str, str]:
    return {
        "CLEW_NEO4J__USER": place.settings.user,
        "CLEW_NEO4J__PASSWORD": place.settings.password.get_secret_value(),
        "CLEW_NEO4J__LOCAL": str(folder),
    }


def test_the_launcher(places: tuple[Place, Place], letters: Path, tmp_path: Path) -> None:
    place, _ = places
    settings = settings_of(place, tmp_path / "one") | {"CLEW_NAMESPACE": place.namespace}
    command = [sys.executable, str(LAUNCHER), str(letters), "--into", place.address]
    done = subprocess.run(
        command,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    with place.database() as database:
        documents = "MATCH (d:ClewDocument {namespace: $namespace}) RETURN count(d)"
        assert database.value(documents) == LETTERS
        workers = database.rows("MATCH (w:ClewWorker {namespace: $namespace}) RETURN w.number")
        assert sorted(row[0] for row in workers) == [1, 2]


def start_shard(place: Place, folder: Path, letters: Path, number: int) -> subprocess.Popen[str]:
    what = (place.address, place.namespace, str(letters), str(number), str(WORKERS))
    return subprocess.Popen(
        [sys.executable, "-c", _WORKER, *what],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **settings_of(place, folder / str(number))},
    )


def state_of(engine: Clew) -> tuple[object, set[str]]:
    """What the store holds, and the letters that say what the guild is called."""
    assert isinstance(engine.store, Neo4jStore)
    found = engine.search(QUESTION, strategy="graph", limit=3)
    return content(engine.store), {Path(hit.chunk.source).stem for hit in found.hits}


def test_workers_of_which_one_is_killed_leave_what_one_index_leaves(
    places: tuple[Place, Place], letters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, whole = places
    for name, value in settings_of(whole, tmp_path / "one").items():
        monkeypatch.setenv(name, value)
    with clew.open(whole.address, namespace=whole.namespace, embedder=HashEmbedder()) as engine:
        engine.index([letters])
        expected = state_of(engine)
    assert expected[1] == {"00", "09", "18"}

    running = [start_shard(shared, tmp_path, letters, number) for number in range(1, WORKERS + 1)]
    killed = running[0]
    assert killed.stdout is not None
    assert all(killed.stdout.readline() for _ in range(3))
    killed.kill()
    killed.communicate(timeout=60)
    running[0] = start_shard(shared, tmp_path, letters, 1)
    for process in running:
        process.communicate(timeout=300)
        assert process.returncode == 0

    with clew.open(shared.address, namespace=shared.namespace, embedder=HashEmbedder()) as engine:
        assert state_of(engine) == expected
