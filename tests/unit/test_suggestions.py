"""Entities that may be one are listed with reasons, and a refusal is remembered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew.errors import InputError
from clew.indexing.suggestions import suggest_merges
from clew.testing.fakes import HashEmbedder
from clew.types import Document, KnownName

DOCUMENTS = [
    Document(source="1", text="We heard that Ada Keller said no."),
    Document(source="2", text="They met A. Keller there."),
]


def known(*names: tuple[str, str]) -> list[KnownName]:
    return [
        KnownName(name=name, entity_id=i, entity_type=kind, tier="extracted")
        for i, (name, kind) in enumerate(names, 1)
    ]


def pairs(*names: tuple[str, str]) -> set[tuple[str, str]]:
    return {(s.source, s.target) for s in suggest_merges(known(*names), {})}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([("Ada Keller", "person"), ("A. Keller", "person")], {("A. Keller", "Ada Keller")}),
        ([("Ada Keller", "person"), ("B. Keller", "person")], set()),
        ([("Ada Keller", "person"), ("Keller", "name")], {("Keller", "Ada Keller")}),
        ([("Ada Keller", "person"), ("Ada", "name")], {("Ada", "Ada Keller")}),
        ([("Ada Keller", "person"), ("Ada", "place")], set()),
        ([("Tidewater", "name"), ("Tidewater Corp", "name")], {("Tidewater", "Tidewater Corp")}),
        ([("Navegar", "name"), ("Navegar Lda", "name")], {("Navegar", "Navegar Lda")}),
        ([("Dekker", "name"), ("Dekker B.V.", "name")], {("Dekker", "Dekker B.V.")}),
        ([("Rossi", "name"), ("Rossi S.r.l.", "organisation")], {("Rossi", "Rossi S.r.l.")}),
        ([("Tidewater", "place"), ("Tidewater Corp", "organisation")], set()),
        ([("GTO", "name"), ("Great Tide Office", "name")], {("GTO", "Great Tide Office")}),
        ([("Net Harbour", "name"), ("Netharbour", "name")], {("Netharbour", "Net Harbour")}),
        ([("open_gate", "code"), ("open gate", "code")], set()),
    ],
)
def test_what_may_be_one(names: list[tuple[str, str]], expected: set[tuple[str, str]]) -> None:
    assert pairs(*names) == expected


def test_one_candidate_is_surer_than_two() -> None:
    (alone,) = suggest_merges(known(("Ada Keller", "person"), ("A. Keller", "person")), {})
    both = suggest_merges(
        known(("Ada Keller", "person"), ("Ann Keller", "person"), ("A. Keller", "person")), {}
    )

    assert {s.target for s in both} == {"Ada Keller", "Ann Keller"}
    assert all(0 < s.confidence < alone.confidence <= 1 and s.reason for s in both)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add_documents(DOCUMENTS)
        yield engine
        assert engine.maintenance.check().problems == ()


def test_a_refusal_is_remembered(engine: clew.Clew) -> None:
    (one,) = engine.entities.suggest()
    assert (one.source, one.target) == ("A. Keller", "Ada Keller")

    engine.entities.refuse("A. Keller", "Ada Keller")
    assert engine.entities.suggest() == []

    engine.documents.delete([document.source for document in DOCUMENTS])
    engine.add_documents(DOCUMENTS)
    assert engine.entities.suggest() == []
    assert engine.entities.get("A. Keller").id != engine.entities.get("Ada Keller").id


def test_a_pair_that_is_merged_is_suggested_no_more(engine: clew.Clew) -> None:
    engine.entities.merge("A. Keller", "Ada Keller")

    assert engine.entities.suggest() == []


def test_nothing_is_kept_apart_from_itself(engine: clew.Clew) -> None:
    with pytest.raises(InputError, match="one with itself"):
        engine.entities.refuse("Ada Keller", "Ada Keller")


def test_the_tools_list_and_refuse(engine: clew.Clew) -> None:
    (one,) = engine.tools.call("suggest_merges", {}).content["suggestions"]
    refused = engine.tools.call(
        "refuse_merge", {"entity_id": one["source_id"], "other_id": one["target_id"]}
    )

    assert not refused.is_error
    assert engine.tools.call("suggest_merges", {}).content["suggestions"] == []
