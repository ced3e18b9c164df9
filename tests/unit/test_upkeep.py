"""Communities and topics follow the store: what a change touches is made anew, and no more."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.errors import StoreError
from clew.graph.communities import MIN_SIZE, Changed, refresh_communities
from clew.ports import CommunityChanges
from clew.stores.communities import Communities
from clew.testing.entries import make_entry
from tests.unit.community_stores import Library, players, save_band

BANDS = 12


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = Library.open(tmp_path)
    for number in range(BANDS):
        save_band(library, number)
    yield library
    assert library.store.check().problems == ()
    library.store.close()


def rows(library: Library) -> dict[int, tuple[Any, ...]]:
    """Every column of every community, by id."""
    with library.store.database.read() as connection:
        found = connection.execute("SELECT * FROM communities").fetchall()
    return {row[0]: tuple(row[1:]) for row in found}


def community_of(library: Library, number: int) -> int:
    """The community of a band's members."""
    (entity,) = library.store.resolve([players(number)[0].lower()]).values()
    (community,) = {c for e, _, c in library.communities.members().tolist() if e == entity}
    return int(community)


def test_the_first_time_everything_is_made(library: Library) -> None:
    changed = library.update()
    assert (changed.communities, changed.reports) == (BANDS, BANDS)
    assert library.communities.generation() == library.store.generation()
    assert sorted(c.size for c in library.communities.communities()) == [5] * BANDS
    assert library.update() == Changed()


def test_a_new_document_touches_its_community_and_no_other(library: Library) -> None:
    library.update()
    before, own = rows(library), community_of(library, 3)
    text = "Zora plays with {}.".format(" and ".join(players(3)))
    library.store.save(make_entry("new", text, names=["Zora", *players(3)]))
    changed = library.update()
    after = rows(library)
    new = community_of(library, 3)
    assert set(before) - set(after) == {own}
    assert set(after) - set(before) == {new}
    assert {id_: row for id_, row in before.items() if id_ != own}.items() <= after.items()
    assert (changed.communities, changed.reports) == (1, 1)
    (report,) = library.communities.communities(ids=[new])
    assert report.size == 6
    assert "Zora" in report.entities


def test_what_a_deleted_document_held_is_gone_from_reports(library: Library) -> None:
    library.update()
    before, gone = rows(library), community_of(library, 5)
    library.store.delete([d.id for d in library.store.documents() if d.source == "band 5"])
    changed = library.update()
    assert (changed.communities, changed.reports) == (0, 0)
    del before[gone]
    assert rows(library) == before


def test_a_document_saved_again_has_its_report_made_again(library: Library) -> None:
    """Same ties, other chunks: the community stays, its sources do not."""
    library.update()
    before, own = rows(library), community_of(library, 2)
    save_band(library, 2)
    changed = library.update()
    after = rows(library)
    assert (changed.communities, changed.reports) == (0, 1)
    assert {id_ for id_ in before if before[id_] != after[id_]} == {own}
    (report,) = library.communities.communities(ids=[own])
    assert len(library.store.chunks(report.sources)) == len(report.sources) > 0


def test_a_renamed_entity_is_shown_under_its_new_name(library: Library) -> None:
    library.update()
    before, own = rows(library), community_of(library, 1)
    (entity,) = library.store.resolve([players(1)[0].lower()]).values()
    library.store.rename(entity, "Zuleika")
    changed = library.update()
    after = rows(library)
    assert (changed.communities, changed.reports) == (0, 1)
    assert {id_ for id_ in before if before[id_] != after[id_]} == {own}
    assert "Zuleika" in library.communities.communities(ids=[own])[0].entities


def test_small_communities_have_no_report_and_are_not_shown(library: Library) -> None:
    library.store.save(make_entry("pair", "Uma met Vito.", names=["Uma", "Vito"]))
    library.update()
    assert {c.size for c in library.communities.communities()} == {5}
    kept = library.communities.partition()
    assert kept is not None
    assert len(kept.ids) == BANDS + 1
    assert MIN_SIZE == 3


def test_an_empty_store_has_none(tmp_path: Path) -> None:
    library = Library.open(tmp_path / "empty")
    assert library.update() == Changed()
    assert library.communities.generation() == library.store.generation() == 0
    assert library.communities.communities() == []
    assert library.communities.topics() == []
    library.store.close()


def test_step_names_are_told(library: Library) -> None:
    told: list[str] = []
    parts = library.store, library.communities, library.snapshot(), library.graph()
    refresh_communities(*parts, library.vectors, told.append)
    assert told == ["communities", "reports", "topics", "save"]


def test_work_for_an_older_state_is_done_again_later(library: Library) -> None:
    """Chunks that went between the snapshot and the work are in no report."""
    snapshot, graph = library.snapshot(), library.graph()
    library.store.delete([d.id for d in library.store.documents() if d.source == "band 0"])
    refresh_communities(library.store, library.communities, snapshot, graph, library.vectors)
    assert library.communities.generation() == snapshot.generation < library.store.generation()
    shown = [source for c in library.communities.communities() for source in c.sources]
    assert len(library.store.chunks(shown)) == len(shown)
    library.update()
    assert len(library.communities.communities()) == BANDS - 1


def test_a_fault_in_the_middle_leaves_the_old_ones(library: Library) -> None:
    library.update()
    before = rows(library), library.communities.topics(), library.communities.generation()
    with library.store.database.write() as connection:
        connection.execute(
            "CREATE TRIGGER fault BEFORE INSERT ON topics BEGIN SELECT raise(ABORT, 'fault'); END"
        )
    library.store.save(make_entry("new", "Zora met Ugo. Zora met Ugo.", names=["Zora", "Ugo"]))
    library.store.save(make_entry("newer", "Zora met Ugo.", names=["Zora", "Ugo"]))
    with pytest.raises(StoreError, match="fault"):
        library.update()
    assert (rows(library), library.communities.topics(), library.communities.generation()) == before
    with library.store.database.write() as connection:
        connection.execute("DROP TRIGGER fault")
    library.update()
    assert library.communities.generation() == library.store.generation()


_UPDATE = """
import sys
from pathlib import Path
from tests.unit.community_stores import Library

library = Library.open(Path(sys.argv[1]))
snapshot, graph = library.snapshot(), library.graph()
print("ready", flush=True)
sys.stdin.readline()
print(library.update(), flush=True)
library.store.close()
"""


def test_two_processes_at_once_double_nothing(library: Library) -> None:
    command = [sys.executable, "-c", _UPDATE, str(library.store.folder)]
    pipe = subprocess.PIPE
    workers = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(2)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        _, errors = worker.communicate(timeout=60)
        assert (worker.returncode, errors) == (0, "")
    assert len(library.communities.communities()) == BANDS
    assert len(rows(library)) == BANDS
    assert library.communities.generation() == library.store.generation()
    assert library.update() == Changed()


def test_who_comes_second_takes_the_work_of_the_first(library: Library) -> None:
    """The other's write comes between this one's reading and writing."""

    class Late(Communities):
        """A keeper before whose first write another process has written."""

        writes = 0

        def write(self, changes: CommunityChanges) -> bool:
            self.writes += 1
            if self.writes == 1:
                library.update()
            return super().write(changes)

    late = Late(library.store.backend)
    parts = library.snapshot(), library.graph(), library.vectors
    assert refresh_communities(library.store, late, *parts) == Changed()
    assert late.writes == 1
    assert len(rows(library)) == BANDS
