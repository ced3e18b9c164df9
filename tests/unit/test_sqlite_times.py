from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clew.stores.sqlite.store import SqliteStore
from clew.stores.statements.documents import CHUNKS_WITHIN
from clew.testing.entries import EMBEDDER, make_entry
from clew.types import Period


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    yield store
    assert store.check().problems == ()
    store.close()


def test_a_fraction_of_a_second_counts_whole(store: SqliteStore) -> None:
    said = datetime(1969, 12, 31, 23, 59, 58, 700_000, tzinfo=UTC)
    store.save(make_entry("a", "Text.", created_at=said))
    (chunk,) = store.chunk_ids().tolist()
    assert store.published_at([chunk]) == {chunk: said.replace(microsecond=0)}
    (origin,) = store.provenance([chunk]).values()
    assert origin.written_at == said
    second = timedelta(seconds=1)
    whole = Period(start=said.replace(microsecond=0), end=said.replace(microsecond=0) + second)
    assert store.chunk_times([chunk]) == {chunk: (replace(whole, text="1969-12-31"),)}
    assert whole.start is not None
    assert whole.end is not None
    for start, end, found in [
        (whole.end - second / 1000, None, 1),
        (None, whole.start + second / 1000, 1),
        (whole.end, None, 0),
        (None, whole.start, 0),
    ]:
        assert len(store.chunks_within(Period(start=start, end=end))) == found


def test_periods_without_an_end_or_a_start_come_back_so(store: SqliteStore) -> None:
    store.save(make_entry("a", "Text."))
    with closing(sqlite3.connect(store.folder / "clew.db")) as connection:
        rows = [(1, 0, -(2**63), 0, "before 1970"), (1, 0, 0, 2**63 - 1, "since 1970")]
        connection.executemany("INSERT INTO chunk_times VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    before = Period(start=None, end=epoch, text="before 1970")
    since = Period(start=epoch, end=None, text="since 1970")
    assert store.chunk_times([1]) == {1: (before, since)}
    for year in (1, 1969, 1970, 9999):
        day = Period(start=datetime(year, 3, 1, tzinfo=UTC), end=datetime(year, 3, 2, tzinfo=UTC))
        assert store.chunks_within(day).tolist() == [1]


def test_a_period_is_looked_up_and_not_scanned_for(store: SqliteStore) -> None:
    with closing(sqlite3.connect(store.folder / "clew.db")) as connection:
        values = {"start": 0, "end": 1, "earliest": -1}
        plan = [
            row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {CHUNKS_WITHIN.sql}", values)
        ]
    assert [line for line in plan if "chunk_times" in line] == [
        "SEARCH chunk_times USING COVERING INDEX chunk_times_by_start (start>? AND start<?)",
        "SEARCH chunk_times USING COVERING INDEX chunk_times_long (start<?)",
    ]


def test_metadata_dates_are_read_as_they_are_written(store: SqliteStore) -> None:
    own = [{"timestamp": "1:56 pm on 8 May, 2023"}, {"date": "no date"}]
    store.save(make_entry("a", "One.", "Two.", chunk_metadata=own))
    first, second = store.chunk_ids().tolist()
    assert store.published_at([first, second]) == {first: datetime(2023, 5, 8, 13, 56, tzinfo=UTC)}
