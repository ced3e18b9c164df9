"""What the tests of copying share: a store that holds something of everything."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from clew.ports import StoredDescription
from clew.stores.backend import SHAPES, Header, Table
from clew.stores.backend import WholeRow as Row
from clew.stores.communities import Communities, Descriptions
from clew.stores.extractions import Enrichments
from clew.stores.sqlite.backup import KEPT
from clew.stores.sqlite.store import SqliteStore, open_for_copying
from clew.stores.store import Store, StoreCopy
from clew.testing.conformance import EMBEDDER, FUNCTIONAL, make_entry, make_link
from clew.text import entity_key
from clew.types import (
    ChunkExtraction,
    ExtractedRelation,
    IndexedDocument,
    Mention,
    NewEntity,
    NewRelation,
)
from tests.contract.suites.communities import make_changes

Rows: TypeAlias = dict[Table, list[Row]]
# A letter beyond the first 65,536: back ends order it before or after what follows here.
BEYOND, BELOW = "𐐷eseret", "\ufa0eeseret"


def day(year: int, month: int = 1) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC)


@contextmanager
def sqlite_store(folder: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(folder, embedder=EMBEDDER, functional=FUNCTIONAL)) as store:
        yield store


@contextmanager
def sqlite_copy(folder: Path, *, make: bool = True) -> Iterator[StoreCopy]:
    with closing(StoreCopy(open_for_copying(folder, make=make))) as copy:
        yield copy


def fill(store: Store, keeper: Communities) -> None:
    """Write texts, let them change and go, mend by hand, tell, read, use, and describe."""
    _save_texts(store)
    _mend(store)
    _write_by_hand(store)
    _read(store)
    _forget(store)
    generation = store.generation()
    assert keeper.write(make_changes(generation=generation))


def _save_texts(store: Store) -> None:
    store.save(_diary("It rained."))
    for year, town in ((2021, "Delft"), (2022, "Gouda")):
        store.save(
            make_entry(
                f"letter {year}",
                f"Ada Morn lives in {town}. A.M. sends her love.",
                names=["Ada Morn", town, "A.M."],
                relations=[("Ada Morn", "lives_in", town)],
                links=[make_link("A.M.", "Ada Morn")],
                valid_from=day(year),
                valid_until=day(2023) if year == 2022 else None,
                origin="letters.zip",
            )
        )
    store.save(make_entry("東京.md", "東京は日本の首都です。😀", "", names={"東京": "place"}))
    store.save(make_entry("names", f"{BEYOND} saw {BELOW}.", names=[BEYOND, BELOW]))
    store.save(_diary("It snowed."))


def _diary(weather: str) -> IndexedDocument:
    return make_entry(
        "diary.md",
        f"Ada Morn lives in Lisse. {weather}",
        "Ada Morn met Piet Oss in 1820.",
        title="Diary",
        names={"Ada Morn": "person", "Piet Oss": "person", "Lisse": "place", "1820": "date"},
        about=[("Diary", "work")],
        relations=[("Ada Morn", "lives_in", "Lisse"), ("Ada Morn", "met", "Piet Oss")],
        metadata={"year": 2020, "tags": ["å", "b"], "ratio": 0.1},
        chunk_metadata=[{"page": 1}],
        created_at=day(2020),
        valid_from=day(2020),
    )


def _entity(store: Store, name: str) -> int:
    return store.resolve([entity_key(name)])[entity_key(name)]


def _mend(store: Store) -> None:
    store.merge(_entity(store, "Lisse"), _entity(store, "Delft"), "the same town")
    store.rename(_entity(store, "Piet Oss"), "Pieter Oß")
    store.split(_entity(store, "Ada Morn"), [entity_key("A.M.")])
    store.merge(_entity(store, BEYOND), _entity(store, BELOW), "alike")
    met = [r for r in store.relations([_entity(store, "Ada Morn")]) if r.relation_type == "met"]
    assert store.retract([r.id for r in met]) == 1


def _write_by_hand(store: Store) -> None:
    (guild, _), (mill, _) = store.add_entities(
        [NewEntity(name="Guild of Lisse", entity_type="body"), NewEntity(name="Mill", content="x")]
    )
    by_hand = NewRelation(
        source_id=guild,
        target_id=mill,
        relation_type="owns",
        weight=1.0,
        is_causal=True,
        context={"why": "told", "n": [1, None]},
        valid_from=day(2019),
        valid_until=day(2024),
    )
    other = NewRelation(source_id=mill, target_id=_entity(store, "Gouda"), relation_type="near")
    (_, _), (near, _) = store.add_relations([by_hand, other])
    store.retract([near.id])
    store.save(make_entry("memory/1", "The Mill burnt.", origin=f"memory:{entity_key('Mill')}"))


def _read(store: Store) -> None:
    chunks = store.chunk_ids().tolist()
    found = ChunkExtraction(
        mentions=(Mention(name="Ada Morn", entity_type="person", sentence=0, start=0, end=8),),
        relations=(
            ExtractedRelation(
                head="Ada Morn", tail="Mill", relation_type="likes", sentence=0, confidence=0.3
            ),
        ),
    )
    store.record_readings({chunks[0]: found, chunks[1]: ChunkExtraction()}, [], [])
    Enrichments(store.backend).record_extraction({chunks[1]: found})
    ada = StoredDescription(
        key=f"entity:{_entity(store, 'Ada Morn')}",
        name="person Ada Morn",
        text="She lives in Lisse. [1]",
        sources=("d#0",),
        documents=("d",),
        basis="b",
    )
    Descriptions(store.backend).describe([ada])
    store.log_reading({_entity(store, "Ada Morn"): 2, _entity(store, "Mill"): 0})
    store.record_use(chunks[:2], day(2024))
    store.record_use(chunks[:1], day(2024, 2))


def _forget(store: Store) -> None:
    """The last ids of everything are used and free again, and must not be given once more."""
    store.save(
        make_entry("gone", "Edda saw Finn.", names=["Edda"], relations=[("Edda", "saw", "Finn")])
    )
    assert store.delete([d.id for d in store.documents() if d.source == "gone"]) == 1


def rows_of(store: StoreCopy, *, limit: int = 3) -> Rows:
    """All rows, read in small batches, in an order of their own."""
    found: Rows = {}
    for table, shape in SHAPES.items():
        rows: list[Row] = []
        while page := store.backend.read_rows(
            table, shape.key_of(rows[-1]) if rows else None, limit
        ):
            rows += page
        assert len(rows) == store.backend.count_rows(table)
        found[table] = sorted(rows, key=repr)
    return found


def remembered(header: Header) -> tuple[object, ...]:
    """What of a header is the same in a copy."""
    return header.embedder, header.functional, dict(header.pruned), dict(header.next_ids)


def answers(store: Store, moments: Sequence[datetime | None]) -> dict[str, object]:
    """Whatever the ports can be asked of a store."""
    documents, ids, aliases = store.documents(), store.chunk_ids().tolist(), store.aliases()
    entities = sorted({alias.entity_id for alias in aliases})
    words = (["ada", "mill"], ["東京"])
    return {
        "documents": documents,
        "sections": [store.document_sections(document.id) for document in documents],
        "lineage": [store.lineage(document.id) for document in documents],
        "chunks": (ids, store.chunks(ids), store.provenance(ids), store.chunk_times(ids)),
        "use": (store.usage(ids), store.unread(0, 100)),
        "aliases": aliases,
        "entities": store.entities(entities),
        "observations": store.observations(entities),
        "made by hand": store.made_by_hand(),
        "rules": store.link_rules(),
        "relations": [store.relations(entities, as_of=moment) for moment in moments],
        "mentions": store.mention_rows().tolist(),
        "vectors": store.embeddings()[1].tobytes(),
        "found": [store.search_keywords(terms, 5)[0].tolist() for terms in words],
    }


def assert_same_answers(old: Store, new: Store) -> None:
    moments = (None, day(2020, 6), day(2022, 6), datetime.now(UTC))
    assert answers(new, moments) == answers(old, moments)


def tables_of(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table of the database file, but what a copy is not to bring along."""
    ours = ("meta", *KEPT)
    with closing(sqlite3.connect(folder / "clew.db")) as connection:
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
            " AND name NOT GLOB 'keywords_*' AND name NOT GLOB 'sqlite_stat*'"
        )
        found = {
            name: connection.execute(f"SELECT * FROM {name}").fetchall()
            for (name,) in names.fetchall()
            if name not in ours
        }
        found["keywords"] = connection.execute("SELECT rowid, terms FROM keywords").fetchall()
    found["partition_state"] = [row for row in found["partition_state"] if row[0] != "built"]
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


class Interrupted(Exception):
    """What a test raises in the middle of a copy."""


def interrupt_at(rows: int) -> Callable[[str, int, int | None], None]:
    """A progress function that raises once so many rows were copied."""

    def progress(step: str, done: int, total: int | None) -> None:
        if step == "copy" and done >= rows:
            raise Interrupted

    return progress
