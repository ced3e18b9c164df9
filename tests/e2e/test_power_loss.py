"""The power fails at any moment: the store opens, is sound, and holds all that was acknowledged.

A real process works on a store and says after each call that it was acknowledged; what it did to
its files is written down, and cut off at many places.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from clew.engine.maintenance import copy
from clew.errors import StoreError
from clew.settings import load_settings
from clew.stores.sqlite.journal import SqliteJobs
from clew.stores.sqlite.store import SqliteStore
from clew.stores.vectors import VectorMatrix
from clew.testing.conformance import EMBEDDER, make_entry
from clew.text import entity_key
from tests.disk import Op, Unsynced, after_power_loss, recorded, restored

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recorded on Linux alone")

Told: TypeAlias = dict[str, str]

WORK = """
import json, os, sys
from pathlib import Path
import clew
from clew.stores.sqlite.journal import SqliteJobs
from clew.testing.fakes import HashEmbedder

stores, texts = map(Path, sys.argv[1:])
told = os.open(stores / "told", os.O_WRONLY | os.O_CREAT)

def tell(**what):
    os.write(told, (json.dumps(what) + "\\n").encode())

def text_of(name):
    return f"{name.title()} Vale learned from Ada Morn in Vienna. Clocks are mended by {name}."

with clew.open(stores, embedder=HashEmbedder()) as engine:
    for i in range(6):
        engine.add(text_of(f"one{i}"), source=f"one{i}")
        tell(source=f"one{i}")
    for name in ("some", "others"):
        (texts / name).mkdir(parents=True)
        for i in range(12):
            (texts / name / f"{i}.md").write_text(text_of(f"{name}{i}"))
        engine.index([texts / name])
        tell(indexed=str(texts / name))
    engine.search("Who learned from Ada Morn?")
    engine.state.entity_graph
    for i in range(4):
        name = f"Piet Oss {i}"
        entity = {"name": name, "entityType": "person", "observations": [f"He mends {i} clocks."]}
        engine.tools.call("create_entities", {"entities": [entity]})
        tell(entity=name)
    tell(asked_to_delete="one0")
    engine.delete(["one0"])
    tell(deleted="one0")
    job, _ = SqliteJobs(engine.store.database).submit("read", {"x": 1}, description="d", key="k")
    tell(job=job.id)
    engine.add(text_of("again"), source="one1")
    tell(source="one1", text=text_of("again"))
tell(closed="")
"""


@dataclass(frozen=True)
class Recorded:
    """What a process did."""

    root: Path
    ops: Sequence[Op]

    def told(self, ops: Sequence[Op]) -> list[Told]:
        """What had been acknowledged by then."""
        own = str(self.root / "told")
        lines = b"".join(op.data for op in ops if op.kind == "w" and op.path == own)
        return [json.loads(line) for line in lines.splitlines()]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("power")
    root = folder / "stores"
    root.mkdir()
    found = Recorded(root, recorded(folder, root, WORK, root, folder / "texts"))
    assert found.told(found.ops)[-1] == {"closed": ""}
    assert {"w", "s", "r", "u"} <= {op.kind for op in found.ops}
    return found


@pytest.mark.parametrize("unsynced", ["none", "all", "some"])
def test_what_was_acknowledged_is_there_after_the_power_failed(
    work: Recorded, unsynced: Unsynced, tmp_path: Path
) -> None:
    chance = random.Random(unsynced)
    acknowledged = [i + 1 for i, op in enumerate(work.ops) if op.path.endswith("/told")]
    for place in sorted({*acknowledged, *chance.sample(range(len(work.ops)), 40)}):
        before = work.ops[:place]
        files = after_power_loss(before, unsynced, chance)
        folder = restored(files, work.root / "default", tmp_path / str(place))
        wrong = list(wrong_in(folder, work.told(before)))
        assert wrong == [], f"after {place} of {len(work.ops)} operations"


def test_a_disk_that_does_not_sync_loses_what_was_acknowledged(
    work: Recorded, tmp_path: Path
) -> None:
    """The test above can fail: what it rests on are the syncs of the log."""
    ops = [op for op in work.ops if not (op.kind == "s" and op.path.endswith("-wal"))]
    ops = ops[: 1 + max(place for place, op in enumerate(ops) if b'"job"' in op.data)]
    files = after_power_loss(ops, "none", random.Random(0))
    folder = restored(files, work.root / "default", tmp_path / "lost")
    wrong = list(wrong_in(folder, work.told(ops)))
    assert "Piet Oss 3" in wrong


def wrong_in(folder: Path, told: Sequence[Told]) -> Iterator[str]:
    """What is broken in a store, and what it lacks; derived files were not synced."""
    with closing(SqliteStore(folder)) as store:
        for problem in store.check().problems:
            if problem.invariant != "derived files":
                yield problem.detail
        ids, vectors = store.embeddings()
        for query in vectors[:1]:
            cosine = (vectors.astype(np.float64) * query).sum(axis=1).astype(np.float32)
            found, _ = VectorMatrix(store, folder).search_vector(query, 1000)
            if found.tolist() != ids[np.lexsort((ids, -cosine))].tolist():
                yield "an answer"
        yield from missing_in(store, told)


def missing_in(store: SqliteStore, told: Sequence[Told]) -> Iterator[str]:
    """What was acknowledged and is not so."""
    sources = [document.source for document in store.documents()]
    perhaps = {one.get("asked_to_delete") for one in told}
    holds: dict[str, Callable[[Told], bool]] = {
        "source": lambda one: one["source"] in {*sources, *perhaps},
        "deleted": lambda one: one["deleted"] not in sources,
        "indexed": lambda one: sum(source.startswith(one["indexed"]) for source in sources) == 12,
        "entity": lambda one: store.resolve([entity_key(one["entity"])]) != {},
        "job": lambda one: SqliteJobs(store.database).job(one["job"]) is not None,
        "text": lambda one: any(
            chunk.text == one["text"]
            for document in store.documents()
            for chunk in store.document_chunks(document.id)
        ),
    }
    for one in told:
        for name, is_there in holds.items():
            if name in one and not is_there(one):
                yield one[name]


# --- A copy that is killed leaves nothing, a target that says that it is unfinished, or all of it.


COPY = """
import sys
import clew.engine.maintenance as copying
from clew.settings import load_settings

copying._ROWS = copying._ROWS_WITH_VECTORS = 3
copying.copy(load_settings(store=sys.argv[1]), load_settings(store=sys.argv[2]))
"""


def test_a_killed_copy_is_never_taken_for_a_whole_store(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with closing(SqliteStore(source / "default", embedder=EMBEDDER)) as store:
        for name in "abcde":
            store.save(make_entry(name, f"Text {name}.", names=["Text"]))
    ops = recorded(tmp_path, target, COPY, source, target)
    outcomes = []
    for place in range(len(ops) + 1):
        left = after_power_loss(ops[:place], "all")
        folder = restored(left, target / "default", tmp_path / "left" / f"{place}" / "default")
        outcomes.append(outcome(folder))
    assert list(dict.fromkeys(outcomes)) == ["nothing", "not begun", "unfinished", "whole"]
    for told in ("nothing", "not begun", "unfinished"):
        last = len(outcomes) - 1 - outcomes[::-1].index(told)
        there = tmp_path / "left" / f"{last}"
        copy(load_settings(store=source), load_settings(store=there))
        assert outcome(there / "default") == "whole"


def outcome(folder: Path) -> str:
    """What whoever opens the target is told."""
    if not (folder / "clew.db").exists():
        return "nothing"
    try:
        store = SqliteStore(folder)
    except StoreError as error:
        return "not begun" if "interrupted before it began" in str(error) else "unfinished"
    with closing(store):
        assert store.check().problems == ()
        assert len(store.documents()) == 5
        return "whole"
