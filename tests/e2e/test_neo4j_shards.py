"""Processes index a shard each into one namespace, and one is killed: it is as one had done it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew import Clew
from clew.plugins.neo4j.store import Neo4jStore
from clew.settings import Neo4jSettings
from clew.testing.fakes import HashEmbedder
from tests.contract.neo4j_stores import Place, new_place
from tests.contract.test_neo4j_workers import content

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


def start(place: Place, folder: Path, letters: Path, number: int) -> subprocess.Popen[str]:
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

    running = [start(shared, tmp_path, letters, number) for number in range(1, WORKERS + 1)]
    killed = running[0]
    assert killed.stdout is not None
    assert all(killed.stdout.readline() for _ in range(3))
    killed.kill()
    killed.communicate(timeout=60)
    running[0] = start(shared, tmp_path, letters, 1)
    for process in running:
        process.communicate(timeout=300)
        assert process.returncode == 0

    with clew.open(shared.address, namespace=shared.namespace, embedder=HashEmbedder()) as engine:
        assert state_of(engine) == expected
