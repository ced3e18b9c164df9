from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import clew
from clew.settings import load_settings
from clew.stores.keywords import DerivedKeywords
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import EMBEDDER, make_entry
from clew.testing.fakes import HashEmbedder

WORDS = [f"w{i}" for i in range(200)]
QUESTIONS = [["w1"], ["w0", "w7", "w150"], ["w3 w4", "w2"], ["w199"], ["unheard", "w5"]]
FEW = 8


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(opened(tmp_path)) as store:
        add(store, 0, 120)
        yield store


def opened(folder: Path) -> SqliteStore:
    store = SqliteStore(folder, embedder=EMBEDDER)
    store.keyword_index = DerivedKeywords(store, folder, least=100, few=FEW)
    return store


def add(store: SqliteStore, start: int, end: int, kind: str = "") -> None:
    """Texts of few frequent and many rare words, of 5 to 100 words."""
    with store.batch():
        for i in range(start, end):
            drawn = random.Random(f"{kind} {i}")
            weights = [1 / (1 + rank) for rank in range(len(WORDS))]
            text = " ".join(drawn.choices(WORDS, weights, k=drawn.randint(5, 100)))
            store.save(make_entry(f"{i:03}", text))


def drop(store: SqliteStore, *numbers: int) -> None:
    store.delete([make_entry(f"{i:03}", "").document.id for i in numbers])


def same(store: SqliteStore, limit: int = 15) -> bool:
    """Whether the index answers, and as the table does."""
    ids = store.chunk_ids()
    assert store.keyword_index is not None
    for terms in QUESTIONS:
        for allowed in (None, ids[::2], ids[:5], ids[:0]):
            found = store.keyword_index.search(terms, limit, allowed)
            expected = store._search_table(terms, limit, allowed)
            if found is None:
                return False
            assert np.array_equal(found[0], expected[0]), (terms, allowed)
            assert found[1] == pytest.approx(expected[1], rel=1e-5)
    return True


def soon(condition: Callable[[], bool]) -> bool:
    """Whether it holds once a thread has read the folder."""
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def test_the_table_answers_until_the_index_is_written(store: SqliteStore) -> None:
    assert not same(store)
    assert len(store.search_keywords(["w1"], 5)[0]) == 5
    store.write_indexes()
    assert same(store)
    assert same(store, limit=60)
    drop(store, *range(30))  # a small store has none
    store.write_indexes()
    assert list(store.folder.glob("keywords-*.arrays")) == []
    assert not same(store)


def test_few_changes_are_taken_in_and_many_wait_for_the_next_writing(store: SqliteStore) -> None:
    store.write_indexes()
    with closing(opened(store.folder)) as other:
        drop(store, 3, 5, 8)
        add(store, 120, 125)
        assert same(store)
        store.write_indexes()  # not worth it
        assert len(list(store.folder.glob("keywords-*"))) == 1
        add(store, 125, 130)
        assert not same(store)
        store.write_indexes()
        assert same(store)
        assert soon(lambda: same(other))  # which reads the folder before it asks it
    for start in range(130, 190, 10):  # changed, so that old segments are merged
        add(store, start, start + 10)
        drop(store, *range(start - 130, start - 125))
        store.write_indexes()
        assert same(store)


def test_a_check_reads_the_folder_and_says_what_it_examines(store: SqliteStore) -> None:
    store.write_indexes()
    told: list[tuple[str, int, int | None]] = []
    report = store.check(progress=lambda *said: told.append(said))
    assert report.problems == ()
    names, count = report.checked, len(report.checked)
    assert told == [(f"checking {name}", at, count) for at, name in enumerate(names)]
    path = max((store.folder / "keywords").glob("*.idx"), key=lambda file: file.stat().st_size)
    path.write_bytes(path.read_bytes()[:-1])
    (problem,) = store.check().problems
    assert problem.invariant == "derived files"
    assert f"keywords/{path.name} is damaged" in problem.detail
    assert store.check(repair=True).problems == ()
    store.write_indexes()
    assert same(store)


@pytest.mark.parametrize(
    "kind", [".fast", ".fieldnorm", ".idx", ".json", ".pos", ".store", ".term"]
)
def test_a_damaged_folder_never_changes_an_answer_and_is_made_again(
    store: SqliteStore, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    store.write_indexes()
    [path] = store.folder.glob("keywords-*.arrays")
    damaged = next(f for f in (store.folder / "keywords").glob(f"*{kind}") if f.name[0] != ".")
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 0xFF
    damaged.write_bytes(data)
    with closing(opened(store.folder)) as other:
        assert soon(lambda: not same(other) and not path.exists())
        assert len(other.search_keywords(["w1"], 5)[0]) == 5
        other.write_indexes()
        assert same(other)
    assert "is damaged" in caplog.text


def test_a_folder_of_another_state_of_the_store_is_made_again(
    store: SqliteStore, tmp_path: Path
) -> None:
    store.write_indexes()
    beside = tmp_path / "beside"
    shutil.copytree(
        store.folder, beside, ignore=lambda _, names: [n for n in names if n.startswith("clew.db")]
    )
    files = {path: path.read_bytes() for path in beside.glob("*.arrays")}
    for path in files:
        path.unlink()
    with closing(opened(beside)) as other:
        add(other, 0, 120, "other")  # the same ids, other texts
        for path, data in files.items():
            path.write_bytes(data)
        time.sleep(0.2)
        assert not same(other)
        other.write_indexes()
        assert same(other)


def test_an_engine_writes_and_asks_it_where_the_settings_say_so(tmp_path: Path) -> None:
    for wanted, files in (("always", 1), ("never", 0)):
        settings = load_settings(store=tmp_path / wanted, large={"keywords": wanted})
        with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
            engine.add("Ada Morn wrote to Piet Oss about lenses.", title="Letter")
            assert len(list(engine.store.folder.glob("keywords-*.arrays"))) == files
            assert len(engine.search("lenses", strategy="keyword").hits) == 1


KILLED = """
import sys, os, signal
from pathlib import Path
from clew.stores import keywords as derived, large as tantivy_folder
import clew
from clew.stores.keywords import DerivedKeywords
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import EMBEDDER

def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)

{kill}
store = SqliteStore(Path(sys.argv[1]), embedder=EMBEDDER)
DerivedKeywords(store, store.folder, least=100, few=8).persist()
"""


@pytest.mark.parametrize(
    "kill",
    [
        "derived.write_arrays = die",  # committed, and the file does not say so
        "tantivy_folder.content_of = die",
        "tantivy_folder.Document = die",  # in the middle of adding
    ],
)
@pytest.mark.parametrize("before", [True, False])
def test_killed_while_it_is_written(store: SqliteStore, kill: str, before: bool) -> None:
    if before:
        store.write_indexes()
        drop(store, 2, 3)
        add(store, 120, 140)
    code = KILLED.format(kill=kill)
    done = subprocess.run([sys.executable, "-c", code, str(store.folder)], check=False)
    assert done.returncode == -9
    with closing(opened(store.folder)) as other:
        assert len(other.search_keywords(["w1"], 5)[0]) == 5
        other.write_indexes()
        assert same(other)
        assert other.check().problems == ()
