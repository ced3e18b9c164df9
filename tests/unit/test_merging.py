"""Stores that were built apart are merged: what comes out is one index over all."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import clew
from clew import Clew
from clew.errors import InputError, StoreMismatchError
from clew.testing.fakes import HashEmbedder
from clew.types import NewEntity, NewRelation
from tests.content import content

if TYPE_CHECKING:
    from clew.types import Vectors

QUESTIONS = (
    "Who taught Ada Morn?",
    "Who founded the Guild of Lisse?",
    "Where did the teacher of Piet Oss work?",
    "What does GOL stand for?",
    "Muhammad Ali in Delft",
)
RETRACTED = """
SELECT c.document_id, c.ordinal, h.key, r.relation_type, t.key
FROM relations r JOIN chunks c ON c.id = r.chunk_id
JOIN aliases h ON h.id = r.from_alias_id JOIN aliases t ON t.id = r.to_alias_id
WHERE r.retracted_at IS NOT NULL ORDER BY 1, 2
"""
PEOPLE = ("Ada Morn", "Piet Oss", "Brida Kall", "Tobias Fenn", "Edda Rowe", "Muhammad Ali")


class NeverEmbeds(HashEmbedder):
    """Embeds questions alone."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        raise AssertionError(f"{len(texts)} texts were embedded again")


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """Names that are spelled in two ways, defined in one letter and used in others; records."""
    folder, chance = tmp_path / "letters", random.Random(3)
    for number in range(24):
        first, second = chance.sample(PEOPLE, 2)
        spelled = second.replace("Muhammad", "Mohammad") if number % 2 else second
        guild = "the Guild of Lisse (GOL)" if number % 7 == 0 else "the Guild of Lisse"
        path = folder / f"{number % 4}" / f"{chance.randrange(10**6):06}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"# Letter {number}\n\n{first} was taught by {spelled} in {1800 + number}. They met at"
            f" {guild} and at GOL. {first} works for {guild}.\n\n## Answer\n\n{second} wrote back"
            f" from Delft. [Next](../{number % 4}/index.md)\n"
        )
    (folder / "1" / "records.jsonl").write_text(
        "\n".join(
            f'{{"id": "r{n}", "text": "{PEOPLE[n % 6]} founded Fenn {n}."}}' for n in range(9)
        )
    )
    return folder


def open_store(
    place: Path, *, embedder: HashEmbedder | None = None, packs: Sequence[str] = ()
) -> Clew:
    settings = clew.load_settings(store=place, limits={"isolation": "none"})
    return clew.open(settings=settings, embedder=embedder or HashEmbedder(), packs=packs)


def build_shards(root: Path, letters: Path, count: int) -> list[Path]:
    places = [root / f"shard-{number}" for number in range(1, count + 1)]
    for number, place in enumerate(places, 1):
        with open_store(place) as engine:
            engine.index([letters], shard=(number, count))
    return places


def merged(place: Path, shards: Sequence[Path]) -> Path:
    with open_store(place, embedder=NeverEmbeds()) as engine:
        engine.maintenance.merge(shards)
        assert engine.maintenance.check().problems == ()
    return place


def held(place: Path) -> dict[str, list[object]]:
    return content(place / "default" / "clew.db")


def retracted(place: Path) -> list[object]:
    """Passages and facts of the relations that were taken back."""
    with closing(sqlite3.connect(place / "default" / "clew.db")) as connection:
        return connection.execute(RETRACTED).fetchall()


def rankings(place: Path) -> list[list[tuple[str, float]]]:
    with open_store(place) as engine:
        return [
            [(hit.chunk.public_id, round(hit.score, 9)) for hit in engine.search(q).hits]
            for q in QUESTIONS
        ]


def test_merged_shards_are_one_index_over_all(tmp_path: Path, letters: Path) -> None:
    with open_store(tmp_path / "whole") as engine:
        engine.index([letters])
    shards = build_shards(tmp_path, letters, 3)
    before = [held(shard) for shard in shards]

    there = merged(tmp_path / "merged", shards)

    assert held(there) == held(tmp_path / "whole")
    assert rankings(there) == rankings(tmp_path / "whole")
    assert held(merged(tmp_path / "other", shards[::-1])) == held(there)
    assert [held(shard) for shard in shards] == before
    with open_store(there) as engine:
        again = engine.maintenance.merge(shards)
        assert (again.documents, again.chunks) == (0, 0)
        assert again.unchanged == len(engine.documents.list())
        assert engine.index([letters]).unchanged == again.unchanged


def test_every_file_is_in_one_shard(tmp_path: Path, letters: Path) -> None:
    with open_store(tmp_path / "store") as engine:
        whole = engine.documents.preview([letters]).new
        parts = [engine.documents.preview([letters], shard=(n, 3)).new for n in (1, 2, 3)]
        with pytest.raises(InputError, match="no shard 4/3"):
            engine.index([letters], shard=(4, 3))

    assert all(parts)
    assert sorted(source for part in parts for source in part) == sorted(whole)


def test_what_people_said_is_kept(tmp_path: Path, letters: Path) -> None:
    first, second = build_shards(tmp_path, letters, 2)
    with open_store(first) as engine:
        ada, piet = (engine.entities.get(name) for name in ("Ada Morn", "Piet Oss"))
        engine.store.merge(piet.id, ada.id, "the same")
        ((ghost, _),) = engine.store.add_entities([NewEntity(name="Ghost Ship", content="sails")])
        engine.store.add_relations(
            [NewRelation(source_id=ada.id, target_id=ghost, relation_type="haunts", weight=0.7)]
        )
        taught = next(r for r in engine.store.relations([ada.id]) if r.chunk_id is not None)
        engine.store.retract([taught.id])
    with open_store(second) as engine:
        engine.store.prune_entities([engine.entities.get("Delft").id])
        engine.store.rename(engine.entities.get("Brida Kall").id, "Brida of Delft")
        engine.store.update_entity(engine.entities.get("Edda Rowe").id, content="a clockmaker")

    there = merged(tmp_path / "merged", [first, second])

    with open_store(there) as engine:
        ada = engine.entities.get("Ada Morn")
        assert engine.entities.get("Piet Oss").id == ada.id
        assert "delft" in engine.store.pruned_names()
        assert engine.store.resolve(["delft"]) == {}
        assert engine.entities.get("Brida Kall").name == "Brida of Delft"
        assert engine.entities.get("Edda Rowe").content == "a clockmaker"
        assert engine.entities.get("Ghost Ship").content == "sails"
        (haunts,) = [r for r in engine.store.relations([ada.id]) if r.relation_type == "haunts"]
        assert (haunts.weight, haunts.chunk_id) == (0.7, None)
    assert held(merged(tmp_path / "other", [second, first])) == held(there)
    assert retracted(there) == retracted(first)
    assert len(retracted(there)) == 1


def test_contradictions_are_told(tmp_path: Path) -> None:
    shards = [tmp_path / name for name in "abc"]
    with open_store(shards[0]) as engine:
        engine.add("Tobias Fenn wrote to Ada Morn.", source="same")
        engine.store.prune_entities([engine.entities.get("Tobias Fenn").id])
    for place, kind in zip(shards[1:], ("place", "person"), strict=True):
        with open_store(place) as engine:
            engine.add("Two.", source="same")
            engine.store.add_entities([NewEntity(name="Tobias Fenn", entity_type=kind)])

    with open_store(tmp_path / "merged") as engine:
        told = engine.maintenance.merge(shards).contradictions
        assert engine.documents.text("same") == "Two."
        assert engine.entities.get("Tobias Fenn").entity_type == "person"
    assert told == (
        "'same' has 2 texts; the one written last was taken",
        "entity made by hand 'tobias fenn': 'Tobias Fenn' (person) was taken,"
        " not 'Tobias Fenn' (place)",
        "'Tobias Fenn' was pruned and made by hand; it stays as made by hand",
    )


def test_stores_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    good, other = tmp_path / "good", tmp_path / "other"
    with open_store(good) as engine:
        engine.add("Ada Morn.", source="one")
    with open_store(other, embedder=HashEmbedder(64)) as engine:
        engine.add("Piet Oss.", source="two")
    with open_store(tmp_path / "packed", packs=["papers"]) as engine:
        engine.add("Edda Rowe.", source="three")
    smaller = clew.load_settings(store=tmp_path / "smaller", split={"chunk_tokens": 20})
    with clew.open(settings=smaller, embedder=HashEmbedder()) as engine:
        engine.add("Brida Kall.", source="four")
    refused = {
        "other": (StoreMismatchError, "its embedder is"),
        "packed": (StoreMismatchError, "its packs is"),
        "smaller": (StoreMismatchError, "its way of indexing is"),
        "nowhere": (InputError, "there is no store"),
        "good": (InputError, "each store once"),
        "merged": (InputError, "as the one merged into"),
    }
    with open_store(tmp_path / "merged") as engine:
        for name, (kind, reason) in refused.items():
            with pytest.raises(kind, match=reason) as raised:
                engine.maintenance.merge([good, tmp_path / name])
            assert "\n" not in str(raised.value)
        assert engine.documents.list() == []
    assert not (tmp_path / "nowhere").exists()


def test_a_quota_is_kept(tmp_path: Path) -> None:
    with open_store(tmp_path / "shard") as engine:
        for source in ("one", "two"):
            engine.add(f"Ada Morn wrote letter {source}.", source=source)
    settings = clew.load_settings(store=tmp_path / "merged", quota={"documents": 1})
    with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
        with pytest.raises(InputError, match="may have 1 documents"):
            engine.maintenance.merge([tmp_path / "shard"])
        assert engine.documents.list() == []
