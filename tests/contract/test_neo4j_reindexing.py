"""What copies and indexing again do with a store on a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

import clew
from clew.engine import Engine
from clew.errors import InputError
from clew.jobs.runner import make_runner
from clew.settings import Neo4jSettings
from clew.testing.fakes import HashEmbedder
from tests.contract.neo4j_stores import Place, new_place

Open: TypeAlias = Callable[..., Engine]


@pytest.fixture
def place(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Place]:
    with new_place(neo4j_address, neo4j_settings) as place:
        yield place


@pytest.fixture
def opened(place: Place, tmp_path: Path) -> Iterator[Open]:
    engines: list[Engine] = []

    def open(dimension: int = 64, **split: int) -> Engine:
        login = {**place.settings.model_dump(), "local": tmp_path / "local"}
        settings = clew.load_settings(
            store=place.address, namespace=place.namespace, neo4j=login, split=split
        )
        engines.append(clew.open(settings=settings, embedder=HashEmbedder(dimension)))
        return engines[-1]

    yield open
    for engine in engines:
        engine.close()


def test_a_store_on_a_server_is_indexed_again_document_by_document(opened: Open) -> None:
    engine = opened()
    for number in range(3):
        engine.add("Ada Morn was taught by Piet Oss in Delft. " * 10, source=f"{number}")
    assert engine.maintenance.outdated() == []
    smaller = opened(chunk_tokens=20, section_tokens=40)
    assert smaller.maintenance.outdated() == ["0", "1", "2"]
    smaller.maintenance.reprocess(["1"])
    assert smaller.maintenance.outdated() == ["0", "2"]

    steps: list[tuple[str, int, int | None]] = []
    report = smaller.maintenance.reindex(progress=lambda *step: steps.append(step))

    assert report.changed == 2
    assert steps == [("reindex", done, 2) for done in range(3)]
    assert smaller.maintenance.outdated() == []
    assert (
        len(smaller.documents.chunks("0"))
        == len(smaller.documents.chunks("1"))
        > len(engine.documents.text("0")) // 200
    )
    assert smaller.search("Who taught Ada Morn?", strategy="vector").hits
    job = make_runner(smaller).submit("reindex", {}, description="", at_once=True)
    assert (job.status, job.total) == ("completed", 0)


def test_what_a_store_on_a_server_cannot_do_says_what_to_do(opened: Open, tmp_path: Path) -> None:
    engine = opened()
    engine.add("Ada Morn was taught by Piet Oss.", source="a")
    for copy in (engine.maintenance.backup, engine.maintenance.restore):
        with pytest.raises(
            InputError, match=r"(bolt|neo4j)://.* server's own backup, or `clew copy`"
        ):
            copy(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
    with pytest.raises(InputError, match=r"'hash-128' .*'hash-64'.*another namespace"):
        opened(128).maintenance.reindex()
