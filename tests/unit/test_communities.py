"""Communities: what is planted is found, and a change touches what it must and no more."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph import partition as clustering
from clew.graph.entity_graph import EntityGraph
from clew.graph.partition import MAX_SIZE, changed_entities, partition, touched, weighted
from clew.ports import Partition
from tests.unit.graphs import Edge, graph_of, modularity

Sets = dict[int, frozenset[int]]


def planted(groups: int, size: int, *, seed: int = 0, across: float = 0.5) -> list[Edge]:
    """Ties within groups of entities, some eight each, and a few across."""
    rng = np.random.default_rng(seed)
    total = groups * size
    heads = rng.integers(0, total, 4 * total)
    tails = heads // size * size + rng.integers(0, size, len(heads))
    strays = rng.integers(0, total, (int(across * total), 2))
    pairs = {(min(p), max(p)) for p in [*zip(heads, tails, strict=True), *strays] if p[0] != p[1]}
    return [(int(a), int(b), 1.0) for a, b in sorted(pairs)]


def sets_of(found: Partition) -> Sets:
    members: dict[int, set[int]] = defaultdict(set)
    for community, entity in found.members.tolist():
        members[community].add(entity)
    return {community: frozenset(held) for community, held in members.items()}


def labels_of(found: Partition, level: int = 0) -> np.ndarray:
    """The community of each entity at a level, as far down as it goes."""
    labels = np.zeros(len(found.entity_ids), dtype=np.int64)
    for place in np.argsort(found.levels, kind="stable"):
        if found.levels[place] <= level:
            held = found.members[found.members[:, 0] == found.ids[place], 1]
            labels[np.searchsorted(found.entity_ids, held)] = found.ids[place]
    return labels


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """Normalised mutual information, 0 to 1."""

    def entropy(labels: np.ndarray) -> float:
        shares = np.unique(labels, return_counts=True)[1] / len(labels)
        return float(-(shares * np.log(shares)).sum())

    joint = entropy(one * (other.max() + 1) + other)
    return 2 * (entropy(one) + entropy(other) - joint) / (entropy(one) + entropy(other))


def assert_hierarchy(found: Partition, graph: EntityGraph) -> None:
    """Level 0 parts the entities that have ties; the parts of a community part it."""
    sets, tied = sets_of(found), graph.entity_ids[np.diff(graph.starts) > 0].tolist()
    assert found.ids.tolist() == sorted(sets)
    assert len(set(sets.values())) == len(sets)
    assert found.entity_ids.tolist() == tied
    assert (found.ids < found.next_id).all()
    assert found.members.tolist() == sorted(map(list, found.members.tolist()))
    parts: dict[int, list[int]] = defaultdict(list)
    level = dict(zip(found.ids.tolist(), found.levels.tolist(), strict=True))
    for community, parent in zip(found.ids.tolist(), found.parents.tolist(), strict=True):
        parts[parent].append(community)
        assert level[community] == (level[parent] + 1 if parent else 0)
    for parent, children in parts.items():
        held = [entity for child in children for entity in sets[child]]
        assert sorted(held) == (sorted(sets[parent]) if parent else tied)
        assert len(children) > 1 or not parent


def test_planted_communities_are_found() -> None:
    found = partition(graph_of(200, planted(10, 20)))
    assert labels_of(found).tolist() == np.repeat(labels_of(found)[::20], 20).tolist()
    assert found.levels.tolist() == [0] * 10


def test_large_communities_have_parts() -> None:
    """Forty small groups, ten to a region: regions first, then groups."""
    within = planted(40, 12)
    rng = np.random.default_rng(1)
    near = [
        (int(a), int(a // 120 * 120 + b), 0.5)
        for a, b in zip(rng.integers(0, 480, 3000), rng.integers(0, 120, 3000), strict=True)
    ]
    graph = graph_of(480, [*within, *near])
    found = partition(graph)
    assert_hierarchy(found, graph)
    sizes = {community: len(held) for community, held in sets_of(found).items()}
    divided = set(found.parents.tolist()) - {0}
    assert divided
    assert all(sizes[community] > MAX_SIZE for community in divided)
    region, group = (labels_of(found, level) for level in (0, 9))
    assert agreement(region, np.arange(480) // 120) > 0.9
    assert agreement(group, np.arange(480) // 12) > 0.9


def test_the_same_graph_gives_the_same_partition() -> None:
    graph = graph_of(200, planted(10, 20, across=2))
    one, other = partition(graph), partition(graph)
    for name in (field.name for field in fields(Partition)):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_entities_without_ties_are_in_none() -> None:
    assert len(partition(graph_of(3, [])).ids) == 0
    found = partition(graph_of(5, [(0, 1, 1.0)]))
    assert found.members.tolist() == [[1, 1], [1, 2]]
    left = partition(graph_of(5, []), found)
    assert (len(left.ids), left.next_id) == (0, 2)


def test_an_unchanged_graph_changes_nothing() -> None:
    graph = graph_of(200, planted(10, 20, across=2))
    before = partition(graph)
    after = partition(graph, before)
    assert changed_entities(graph, before).tolist() == []
    for name in ("ids", "levels", "parents", "members", "moved"):
        assert np.array_equal(getattr(before, name), getattr(after, name))


def test_a_tie_touches_the_communities_of_its_ends_and_no_others() -> None:
    edges = planted(20, 20)
    before = partition(graph_of(400, edges))
    graph = graph_of(401, [*edges, (0, 400, 1.0), (1, 399, 1.0)])
    after = partition(graph, before)
    assert changed_entities(graph, before).tolist() == [1, 2, 400, 401]
    first, last = (labels_of(before)[row] for row in (0, 399))
    assert before.ids[touched(before, np.array([1, 2, 400, 401]))].tolist() == [first, last]
    was, now = sets_of(before), sets_of(after)
    assert {community for community in was if was[community] != now.get(community)} == {first}
    assert now[int(labels_of(after)[400])] == was[int(first)] | {401}
    assert after.moved == 4


def test_a_small_drift_of_all_strengths_touches_nothing() -> None:
    edges = planted(10, 20)
    rng = np.random.default_rng(0)
    before = partition(graph_of(200, edges))
    drifted = graph_of(200, [(a, b, 3 * rng.uniform(0.9, 1.1)) for a, b, _ in edges])
    assert changed_entities(drifted, before).tolist() == []
    assert partition(drifted, before).ids.tolist() == before.ids.tolist()


def test_many_small_changes_of_one_entity_count_as_one_large_one() -> None:
    edges = planted(10, 20)
    found = partition(graph_of(200, edges))
    factor, steps = 1.0, 0
    while not len(changed_entities(graph_of(200, stronger(edges, factor)), found)):
        found = partition(graph_of(200, stronger(edges, factor)), found)
        factor, steps = factor * 1.1, steps + 1
    assert steps == 3  # 1.1² is within a quarter, 1.1³ is not


def stronger(edges: list[Edge], factor: float) -> list[Edge]:
    return [(a, b, factor if 0 in (a, b) else 1.0) for a, b, _ in edges]


def test_all_are_placed_anew_once_a_third_has_changed() -> None:
    edges = planted(10, 20)
    found, moved = partition(graph_of(200, edges)), []
    for step in range(9):
        edges = [t for t in edges if not 20 * step <= t[0] < 20 * step + 4]
        found = partition(graph_of(200, edges), found)
        moved.append(found.moved)
    assert 0 in moved[1:]
    assert max(moved) <= 200 / 3


def test_communities_that_stay_the_same_keep_their_id_when_all_are_placed_anew() -> None:
    edges = planted(10, 20, across=0)
    before = partition(graph_of(200, edges))
    after = partition(graph_of(200, [t for t in edges if t[0] >= 100]), before)
    assert after.moved == 0
    was, now = sets_of(before), sets_of(after)
    assert all(now[community] == held for community, held in was.items() if min(held) > 100)


@pytest.mark.parametrize("across", [0.5, 3.0])
def test_piece_by_piece_is_as_good_as_all_at_once(across: float) -> None:
    """Modularity within 0.02 of a full run's; the two agree as far as communities are distinct."""
    edges = planted(30, 20, across=across)
    rng = np.random.default_rng(2)
    found = partition(graph_of(600, edges))
    for _ in range(10):
        drop = set(rng.choice(len(edges), 6, replace=False).tolist())
        edges = [t for i, t in enumerate(edges) if i not in drop]
        edges += [(int(a), int(b), 1.0) for a, b in rng.integers(0, 600, (3, 2)) if a != b]
        graph = graph_of(600, edges)
        found = partition(graph, found)
        assert_hierarchy(found, graph)
    assert found.moved > 0
    full = partition(graph)
    mine, theirs = (modularity(weighted(graph), labels_of(p)) for p in (found, full))
    assert mine == pytest.approx(theirs, abs=0.02)
    assert agreement(labels_of(found), labels_of(full)) > (0.95 if across < 1 else 0.7)


pairs = st.tuples(st.integers(0, 17), st.integers(0, 17)).filter(lambda p: p[0] < p[1])


@settings(max_examples=60)
@given(st.data())
def test_whatever_changes_what_is_untouched_stays(data: st.DataObject) -> None:
    """With communities so small that there are several levels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering, "MAX_SIZE", 3)
        edges = data.draw(st.sets(pairs, min_size=12, max_size=50))
        found = partition(graph_of(18, [(a, b, 1.0) for a, b in edges]))
        for _ in range(3):
            edges = edges ^ data.draw(st.sets(pairs, max_size=3))
            graph = graph_of(18, [(a, b, 1.0) for a, b in edges])
            changed = changed_entities(graph, found)
            before, found = found, partition(graph, found)
            assert_hierarchy(found, graph)
            if found.moved:
                assert_untouched_stay(before, found, set(changed.tolist()))


def assert_untouched_stay(before: Partition, after: Partition, changed: set[int]) -> None:
    was, now = sets_of(before), sets_of(after)
    untouched = {community for community, held in was.items() if not held & changed}
    assert {community: was[community] for community in untouched}.items() <= now.items()
    parents = dict(zip(before.ids.tolist(), before.parents.tolist(), strict=True))
    still = dict(zip(after.ids.tolist(), after.parents.tolist(), strict=True))
    assert all(still[c] == parents[c] for c in untouched if parents[c] in untouched)


def test_an_untouched_part_rises_where_the_rest_of_its_whole_goes_elsewhere() -> None:
    """Two triangles are one community, until one of them is tied to a third."""
    triangles = [
        (3 * i + a, 3 * i + b, 1.0) for i in range(60) for a, b in ((0, 1), (1, 2), (0, 2))
    ]
    edges = [*triangles, (2, 3, 0.5)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering, "MAX_SIZE", 3)
        before = partition(graph_of(180, edges))
        after = partition(
            graph_of(180, [*edges, *((a, b, 2.0) for a in (3, 4, 5) for b in (6, 7, 8))]), before
        )
    (part,) = (community for community, held in sets_of(before).items() if held == {1, 2, 3})
    place = np.searchsorted(before.ids, part)
    assert (before.levels[place], before.parents[place] > 0) == (1, True)
    assert sets_of(after)[part] == {1, 2, 3}
    place = np.searchsorted(after.ids, part)
    assert (after.levels[place], after.parents[place]) == (0, 0)
