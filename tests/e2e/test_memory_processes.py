"""Several processes that write by hand into one store at once: nothing is lost, nothing twice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import clew
from clew.testing.fakes import HashEmbedder
from clew.types import NewEntity

# Tells something new of one entity that all share, and makes an entity with a relation to it, then
# says that it did. Every fact is told twice, as a client does that got no answer the first time.
_WRITER = """
import sys
import clew
from clew.testing.fakes import HashEmbedder
from clew.types import NewEntity, NewRelation

folder, prefix, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with clew.open(folder, embedder=HashEmbedder()) as engine:
    memory = engine.entities.memory
    for i in range(count):
        (shared, _), (own, _) = memory.add_entities(
            [NewEntity(name="Harbour"), NewEntity(name=f"Ship {prefix}{i}")],
            [[], [f"Ship {prefix}{i} sails."]],
        )
        for _ in range(2):
            memory.add_observations([("Harbour", [f"Ship {prefix}{i} has come."])])
        memory.add_relations(
            [NewRelation(source_id=own, target_id=shared, relation_type="lies_in")]
        )
        print(i, flush=True)
"""


def start(folder: Path, prefix: str, count: int) -> subprocess.Popen[str]:
    command: Sequence[str] = [sys.executable, "-c", _WRITER, str(folder), prefix, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told(engine: clew.Clew) -> list[str]:
    """What was told of the harbour."""
    (harbour,) = engine.entities.memory.find(["Harbour"]).values()
    return [observation.text for observation in engine.store.observations([harbour])[harbour]]


def test_four_writers_lose_nothing_and_a_fifth_that_is_killed_spoils_nothing(
    tmp_path: Path,
) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.entities.memory.add_entities([NewEntity(name="Harbour")])
        writers = [start(tmp_path, prefix, 50) for prefix in "abcd"]
        doomed = start(tmp_path, "x", 100_000)
        assert doomed.stdout is not None
        for _ in range(5):
            doomed.stdout.readline()
        doomed.kill()
        done = 5 + len(doomed.communicate()[0].splitlines())
        while any(writer.poll() is None for writer in writers):
            engine.search("Which ship has come to the harbour?", strategy="hybrid")
        for writer in writers:
            _, errors = writer.communicate()
            assert (writer.returncode, errors) == (0, "")

        found = told(engine)
        assert len(found) == len(set(found))
        ours = [text for text in found if not text.startswith("Ship x")]
        assert set(ours) == {f"Ship {p}{i} has come." for p in "abcd" for i in range(50)}
        assert done <= len(found) - len(ours) <= done + 1  # one may have been told, not yet said

        ships = [f"Ship {p}{i}" for p in "abcd" for i in range(50)]
        ids = engine.entities.memory.find(ships)
        assert len(set(ids.values())) == len(ships)
        # An entity and what was told of it at its making came together or not at all.
        made = engine.store.made_by_hand()
        assert len(engine.store.observations(made)) == len(made)
        relations = engine.store.unstated_relations(list(ids.values()))
        assert sorted(r.from_entity_id for r in relations) == sorted(ids.values())
        assert engine.maintenance.check().problems == ()
