"""What evidence makes of the weight of a relation, and what is taken back stays so."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import clew
from clew.errors import NotFoundError
from clew.stores.relations import (
    CONTRADICTED,
    Evidence,
    belief_in,
    changed_weights,
    read_evidence,
)
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER, make_entry, make_link
from clew.testing.fakes import HashEmbedder
from clew.types import Relation

FACT = "Zorblax Corporation uses Quuxer."


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        yield engine
        assert engine.maintenance.check().problems == ()


def stated(engine: clew.Clew) -> list[Relation]:
    found = engine.store.relations([e.id for e in engine.store.find_entities("Quuxer")])
    return [relation for relation in found if relation.relation_type == "uses"]


def weights(engine: clew.Clew) -> list[float]:
    return [relation.weight for relation in stated(engine)]


# --- weights


def test_each_document_that_says_so_adds_to_the_weight(engine: clew.Clew) -> None:
    engine.add(FACT, source="a")
    assert weights(engine) == [0.5]
    engine.add(f"{FACT} {FACT}", source="a")
    assert set(weights(engine)) == {0.5}
    engine.add(f"Today {FACT}", source="b")
    engine.add(f"Again {FACT}", source="c")
    assert set(weights(engine)) == {0.875}
    engine.delete(["b"])
    assert set(weights(engine)) == {0.75}
    engine.add("Nothing is told here of anybody.", source="c")
    assert set(weights(engine)) == {0.5}


def test_merged_names_join_their_evidence(engine: clew.Clew) -> None:
    engine.add(FACT, source="a")
    engine.add("Zorby Industries uses Quuxer.", source="b")
    assert weights(engine) == [0.5, 0.5]
    engine.entities.merge("Zorby Industries", "Zorblax Corporation")
    assert weights(engine) == [0.75, 0.75]
    engine.entities.split("Zorblax Corporation", ["Zorby Industries"])
    assert weights(engine) == [0.5, 0.5]


def test_what_is_retracted_is_no_evidence(engine: clew.Clew) -> None:
    engine.add(FACT, source="a")
    engine.add(f"Today {FACT}", source="b")
    engine.entities.retract([stated(engine)[0].id])
    assert weights(engine) == [0.5]


def test_the_weight_that_was_given_by_hand_stays(engine: clew.Clew) -> None:
    engine.add(FACT, source="a")
    (first,) = stated(engine)
    made = engine.entities.add_relation(
        first.from_entity_id, first.to_entity_id, "uses", weight=0.1
    )
    engine.add(f"Today {FACT}", source="b")
    by_hand = {relation.id: relation.weight for relation in stated(engine)}
    assert by_hand.pop(made.id) == 0.1
    assert set(by_hand.values()) == {0.75}


def evidence(document: str, confidence: float, *, contradicted: bool = False) -> Evidence:
    return Evidence(1, 1, "uses", 2, document, confidence, "pattern", 0.0, contradicted)


def test_belief_is_noisy_or_over_documents() -> None:
    assert belief_in([]) == 0
    assert belief_in([evidence("a", 0.9), evidence("a", 0.2)]) == 0.5
    assert belief_in([evidence("a", 0.4), evidence("b", 0.2)]) == pytest.approx(0.52)
    read = evidence("a", 0.9)._replace(extractor="assistant")
    assert belief_in([read]) == pytest.approx(0.9)


def test_a_contradiction_takes_weight_away() -> None:
    ((_, weight),) = changed_weights([evidence("a", 0.8, contradicted=True)])
    assert weight == 0.5 * CONTRADICTED


def test_weights_after_any_saves_are_those_of_all_evidence(tmp_path: Path) -> None:
    """However a save came by them: names may be new, known, or linked to another meanwhile."""
    chance = random.Random(5)
    names = ["Ann", "Bo", "Cy", "Dee"]
    with closing(SqliteStore(tmp_path, embedder=EMBEDDER)) as store:
        for step in range(150):
            head, tail, alias = chance.sample([*names, f"X{step // 2}"], 3)
            entry = make_entry(
                f"document {chance.randrange(6)}",
                f"{head} met {tail}, {alias}: {step}.",
                names=[head, tail, alias],
                relations=[(head, "met", tail), (tail, "met", alias)][: chance.randrange(3)],
                links=[make_link(alias, head)] if chance.random() < 0.5 else [],
            )
            store.save(entry)
            if step % 40 == 39:
                store.delete([store.documents()[0].id])
            every = range(1, 400)
            facts = {
                (r.from_entity_id, r.relation_type, r.to_entity_id) for r in store.relations(every)
            }
            assert facts or step < 9
            assert not list(changed_weights(read_evidence(store.backend, facts))), step


def test_a_new_name_of_a_known_entity_finds_what_is_known_of_it(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path, embedder=EMBEDDER)) as store:
        store.save(make_entry("a", "Ann met Bo.", relations=[("Ann", "met", "Bo")]))
        link = [make_link("B", "Bo")]
        told = make_entry("b", "Ann met B.", relations=[("Ann", "met", "B")], links=link)
        store.save(told)
        assert [relation.weight for relation in store.relations([1, 2, 3])] == [0.75, 0.75]


# --- taken back by hand


def test_a_deleted_relation_stays_deleted_whatever_states_it(engine: clew.Clew) -> None:
    engine.add(FACT, source="a")
    engine.add(f"Today {FACT}", source="b")
    assert engine.graph.delete_relation(stated(engine)[0].id) == 2
    assert stated(engine) == []
    engine.add(f"Now {FACT}", source="a")
    assert stated(engine) == []
    engine.add(f"And so {FACT}", source="d")
    assert stated(engine) == []
    # What else the text states is there.
    assert engine.store.find_entities("Quuxer")


def test_a_relation_by_hand_is_deleted_for_good(engine: clew.Clew) -> None:
    engine.add(FACT, source="a")
    (first,) = stated(engine)
    made = engine.entities.add_relation(first.to_entity_id, first.from_entity_id, "serves")
    assert engine.graph.delete_relation(made.id) == 1
    assert engine.store.relations_by_id([made.id]) == []
    assert len(stated(engine)) == 1


def test_an_unknown_relation_is_no_relation(engine: clew.Clew) -> None:
    with pytest.raises(NotFoundError, match="99"):
        engine.graph.delete_relation(99)


# --- pruned


def test_prune_shows_first_and_never_takes_what_was_stated_by_hand(engine: clew.Clew) -> None:
    engine.add(FACT, source="a")
    engine.add("Foobaria uses Barfood.", source="b")
    engine.add("Today Foobaria uses Barfood.", source="c")
    (first,) = stated(engine)
    made = engine.entities.add_relation(
        first.to_entity_id, first.from_entity_id, "serves", weight=0.1
    )
    report = engine.graph.prune(below=0.6)
    assert not report.applied
    assert [(p.relation.head, p.relation.tail) for p in report.relations] == [
        ("Zorblax Corporation", "Quuxer")
    ]
    assert "weight 0.50: 1 document" in report.relations[0].reason
    assert len(stated(engine)) == 1
    assert engine.graph.prune(below=0.6, dry_run=False).applied
    assert stated(engine) == []
    assert engine.store.relations_by_id([made.id]) != []
    assert engine.graph.prune(below=0.6).relations == ()
    engine.add(f"Now {FACT}", source="a")
    assert stated(engine) == []


def test_a_prune_is_taken_back_but_not_what_was_deleted_by_hand(engine: clew.Clew) -> None:
    engine.add(FACT, source="a")
    (pruned,) = stated(engine)
    engine.add("Foobaria uses Barfood.", source="b")
    rows = engine.store.relation_rows()
    (wrong,) = [int(i) for i in rows.ids if int(i) != pruned.id]
    engine.graph.delete_relation(wrong)
    engine.graph.prune(below=0.6, dry_run=False)
    assert engine.store.relations_by_id([wrong, pruned.id]) == []
    done = engine.tools.call("restore_pruned_relations", {}).content
    assert done["restored"] == 1
    assert engine.store.relations_by_id([wrong, pruned.id]) == [pruned]


def test_what_was_pruned_can_still_be_deleted_by_hand(engine: clew.Clew) -> None:
    engine.add(FACT, source="a")
    (pruned,) = stated(engine)
    engine.graph.prune(below=0.6, dry_run=False)
    assert engine.graph.delete_relation(pruned.id) == 1
    assert engine.graph.restore_pruned() == 0
    assert stated(engine) == []
    with pytest.raises(NotFoundError):
        engine.graph.delete_relation(pruned.id)


def test_the_tools_ask_first(engine: clew.Clew) -> None:
    engine.add(FACT, source="a")
    (relation,) = stated(engine)
    listed = engine.tools.call("prune_graph", {"below": 0.6}).content
    assert (listed["dry_run"], listed["total"]) == (True, 1)
    assert listed["relations"][0]["relation_id"] == relation.id
    refused = engine.tools.call("prune_graph", {"below": 0.6, "dry_run": False})
    assert refused.is_error
    assert "confirm=true" in refused.text
    refused = engine.tools.call("delete_relation", {"relation_id": relation.id})
    assert refused.is_error
    assert "confirm=true" in refused.text
    assert stated(engine) == [relation]
    done = engine.tools.call("delete_relation", {"relation_id": relation.id, "confirm": True})
    assert done.content["deleted"] == 1
    assert stated(engine) == []
