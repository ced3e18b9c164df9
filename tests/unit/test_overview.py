"""The graph at a glance, of a real store, against looking for each thing the plain way."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from clew.graph.entity_graph import current_entity_graph
from clew.graph.statistics import GraphOverview, overview
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER, make_entry

TIES = ["Ab Cd", "Cd Ef", "Ab Ef", "Ef Gh", "Gh Ij"]
"""A triangle, from which a chain hangs at Ef."""
NAMES = ["Ab", "Cd", "Ef", "Gh", "Ij", "Kl"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path_factory.mktemp("store"), embedder=EMBEDDER)
    for number, tie in enumerate([*TIES, "Kl"]):
        store.save(make_entry(str(number), f"{tie} were there.", names=NAMES))
    yield store
    store.close()


@pytest.fixture(scope="module")
def seen(store: SqliteStore) -> GraphOverview:
    return overview(store, current_entity_graph(store, None, store.folder))


def parts(names: list[str], ties: list[str]) -> list[int]:
    """Sizes of the connected parts, smallest first."""
    part = {name: {name} for name in names}
    for one, other in (tie.split() for tie in ties):
        joined = part[one] | part[other]
        for name in joined:
            part[name] = joined
    return sorted(len(p) for p in {frozenset(p) for p in part.values()})


def test_statistics_count_what_was_saved(seen: GraphOverview) -> None:
    statistics = seen.statistics

    assert (statistics.entities, statistics.ties, statistics.isolated) == (6, 5, 1)
    assert (statistics.components, statistics.largest_component) == (2, 5)
    assert statistics.highest_degree == 3


def test_hubs_and_what_lies_between(seen: GraphOverview) -> None:
    names = [hub.entity.name for hub in seen.hubs]

    assert set(names) == {"Ab", "Cd", "Ef", "Gh", "Ij"}
    assert all(one.pagerank >= other.pagerank for one, other in pairwise(seen.hubs))
    assert {hub.entity.name: hub.degree for hub in seen.hubs}["Ef"] == 3
    assert seen.hubs[0].entity.tier == "core"
    # Of the 10 pairs of others, Ef is passed by Ab and Cd towards Gh and Ij, Gh by all to Ij.
    passed = {entry.entity.name: entry.betweenness for entry in seen.between}
    assert passed == pytest.approx({"Ef": 4 / 10, "Gh": 3 / 10})


def test_cut_entities_are_those_whose_loss_tears_the_graph(seen: GraphOverview) -> None:
    torn = {}
    for name in NAMES[:5]:
        left = parts([n for n in NAMES[:5] if n != name], [t for t in TIES if name not in t])
        if len(left) > 1:
            torn[name] = sum(left[:-1])

    assert {cut.name: cut.severed for cut in seen.cut_entities} == torn


def test_bridges_are_ties_whose_loss_tears_the_graph(seen: GraphOverview) -> None:
    torn = {}
    for tie in TIES:
        left = parts(NAMES[:5], [other for other in TIES if other != tie])
        if len(left) > 1:
            torn[frozenset(tie.split())] = left[0]

    assert {frozenset(b.ends): b.severed for b in seen.bridges} == torn


def test_every_list_is_bounded(store: SqliteStore) -> None:
    seen = overview(store, current_entity_graph(store, None, store.folder), limit=1)

    assert [len(found) for found in (seen.hubs, seen.between, seen.cut_entities, seen.bridges)] == (
        [1] * 4
    )
    assert seen.statistics.entities == 6


def test_an_empty_store_has_nothing_to_show(tmp_path_factory: pytest.TempPathFactory) -> None:
    store = SqliteStore(tmp_path_factory.mktemp("empty"), embedder=EMBEDDER)

    seen = overview(store, current_entity_graph(store, None, store.folder))
    store.close()

    assert (seen.statistics.entities, seen.hubs, seen.between, seen.bridges) == (0, (), (), ())
