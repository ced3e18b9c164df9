"""What people are shown of the graph: facts, each once, and why an entity is listed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.graph.knowledge import distinct_facts
from clew.types import TERM, Relation

NOW = datetime(2026, 1, 1, tzinfo=UTC)
YEARS = st.none() | st.integers(2000, 2020).map(lambda year: datetime(year, 1, 1, tzinfo=UTC))
RELATION = Relation(
    id=1,
    from_entity_id=1,
    to_entity_id=2,
    relation_type="lives_in",
    weight=1.0,
    is_causal=False,
    confidence=1.0,
    context={},
    valid_from=None,
    valid_until=None,
    recorded_at=NOW,
    retracted_at=None,
    chunk_id=None,
    sentence=None,
    extractor="pattern",
)
STATEMENT = st.builds(
    lambda tail, since, until, who: replace(
        RELATION, to_entity_id=tail, valid_from=since, valid_until=until, extractor=who
    ),
    st.integers(2, 3),
    YEARS,
    YEARS,
    st.sampled_from(("pattern", "pattern", "manual")),
)


@given(st.lists(STATEMENT, max_size=12))
def test_each_fact_stands_once_a_period_with_all_that_states_it(said: list[Relation]) -> None:
    said = [replace(one, id=n) for n, one in enumerate(said)]
    found = distinct_facts(said, NOW)

    assert sum(count for _, count in found) == len(said)
    periods = [(one.fact, one.valid_from, one.valid_until) for one, _ in found]
    assert len(set(periods)) == len(periods)
    standing = [one.standing(NOW).state != "current" for one, _ in found]
    assert standing == sorted(standing)
    shown = sorted((one for one, _ in found), key=lambda one: one.fact)
    for fact, same in groupby(shown, key=lambda one: one.fact):
        told = [one for one in said if one.fact == fact]
        if any(one.extractor == "manual" for one in told):
            assert all(one.extractor == "manual" for one in same)
        else:
            dated = {(one.valid_from, one.valid_until) for one in told} - {(None, None)}
            assert dated <= {(one.valid_from, one.valid_until) for one in same}


def test_terms_tie_passages_and_are_not_listed(engine: clew.Clew) -> None:
    text = "My sister Annis Orme lives in Whitby. Annis Orme was here."
    engine.add(text, source="family.md", title="Family")
    terms = engine.store.entity_names(engine.store.entities_of_type(TERM).tolist()).values()
    around = engine.tools.call("get_entity_neighbors", {"entity_id": "Annis Orme"}).content
    graphs = ["".join(engine.maintenance.export("graphml", mentions=m)) for m in (False, True)]

    assert "Family" in terms
    assert {one["neighbor_name"] for one in around["neighbors"]}.isdisjoint(terms)
    assert [">Family<" in graph for graph in graphs] == [False, True]
    assert (
        engine.entities.support("Family").confidence < engine.entities.support("Whitby").confidence
    )
