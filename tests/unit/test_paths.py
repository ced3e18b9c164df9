"""Paths, threads and subgraphs."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from itertools import combinations, pairwise, permutations
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import clew
from clew.engine import Engine
from clew.errors import InputError
from clew.graph.entity_graph import EntityGraph, current, entity_ranks
from clew.graph.export import NamedGraph, as_graphml, as_text, read_subgraph
from clew.graph.paths import (
    Budget,
    Path,
    Subgraph,
    Tree,
    all_paths,
    edge_costs,
    neighbourhood,
    prize_collecting_tree,
    shortest_path,
    steiner_tree,
    strongest_path,
    subgraph_around,
)
from clew.graph.snapshot import Snapshot
from clew.search.answer.hits import ThreadStep, find_threads
from clew.search.around import QuestionSubgraph
from clew.search.question import Analysis
from clew.search.walk import Coverage
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import EMBEDDER, make_entry
from clew.testing.fakes import HashEmbedder
from tests.unit.asked import engine_of
from tests.unit.graphs import edges_of, graph_of, graphs, snapshot_with

# --- Paths and neighbourhoods, against all paths that there are.


STAR = graph_of(8, [(0, leaf, leaf) for leaf in range(1, 8)])


def cost_of(graph: EntityGraph, path: Path) -> float:
    return -math.log(strength_of(graph, path))


def strength_of(graph: EntityGraph, path: Path) -> float:
    """The product of its edges' strengths, of which more than 1 counts as 1."""
    return math.prod(min(float(graph.strengths[edge]), 1.0) for edge in path.edges)


def every_path(graph: EntityGraph, start: int, end: int, max_hops: int) -> list[Path]:
    """All of them, by trying every order of the other entities; fewest hops, then cheapest."""
    numbers = {pair: number for number, pair in enumerate(edges_of(graph))}
    others = [row for row in range(len(graph.entity_ids)) if row not in (start, end)]
    found = []
    for between in range(min(max_hops, len(others) + 1)):
        for middle in permutations(others, between):
            way = (start, *middle, end)
            steps = [(min(step), max(step)) for step in pairwise(way)]
            if all(step in numbers for step in steps):
                found.append(Path(way, tuple(numbers[step] for step in steps)))
    return sorted(found, key=lambda p: (len(p.edges), cost_of(graph, p), p.entities))


@given(graphs(), st.integers(1, 5))
def test_all_paths_are_found_in_order(graph: EntityGraph, max_hops: int) -> None:
    expected = every_path(graph, 0, 1, max_hops)
    found = all_paths(graph, 0, 1, max_hops, limit=1000)
    assert {(p.entities, p.edges) for p in found.paths} == {(p.entities, p.edges) for p in expected}
    ranks = [(len(p.edges), round(cost_of(graph, p), 9)) for p in found.paths]
    assert ranks == sorted(ranks)
    assert found.limits_hit == ()
    assert all_paths(graph, 0, 1, max_hops, limit=2).paths == found.paths[:2]
    shortest = shortest_path(graph, 0, 1, max_hops).paths
    for path in shortest:
        assert (len(path.edges), round(cost_of(graph, path), 9)) == ranks[0]
    assert bool(shortest) == bool(expected)


@given(graphs(strengths=(0.1, 0.3, 0.5, 0.7, 0.9, 1, 4)), st.integers(1, 5))
def test_the_strongest_path_has_the_greatest_product(graph: EntityGraph, max_hops: int) -> None:
    every = every_path(graph, 0, 1, max_hops)
    found = strongest_path(graph, 0, 1, max_hops)
    assert bool(every) == bool(found.paths)
    if every:
        most = max(strength_of(graph, path) for path in every)
        assert strength_of(graph, found.paths[0]) == pytest.approx(most)
        equal = [path for path in every if strength_of(graph, path) == pytest.approx(most)]
        assert len(found.paths[0].edges) == min(len(path.edges) for path in equal)
        assert len(found.paths[0].edges) <= max_hops


def distances(graph: EntityGraph, seeds: list[int]) -> NDArray[np.float64]:
    """(seeds, E) hops, by scipy."""
    matrix = np.zeros((len(graph.entity_ids),) * 2)
    for one, other in edges_of(graph):
        matrix[one, other] = matrix[other, one] = 1
    return dijkstra(csr_array(matrix), indices=seeds, unweighted=True)


def test_an_entity_is_no_way_from_itself() -> None:
    for search in (shortest_path, all_paths, strongest_path):
        assert search(STAR, 3, 3).paths == (Path((3,), ()),)


@given(graphs(most=12), st.integers(1, 3), st.integers(1, 12))
def test_a_neighbourhood_holds_the_nearest(graph: EntityGraph, hops: int, limit: int) -> None:
    far = distances(graph, [0, 1]).min(axis=0)
    within = [d for d in sorted(far) if 1 <= d <= hops]
    found = neighbourhood(graph, [0, 1], hops, limit)
    assert list(found.hops) == within[:limit]
    assert [far[row] for row in found.entities] == list(found.hops)
    assert len(set(found.entities)) == len(found.entities)
    for row, parent, edge in zip(found.entities, found.parents, found.edges, strict=True):
        assert edges_of(graph)[edge] == (min(row, parent), max(row, parent))
        assert far[parent] == far[row] - 1
    if len(found.limits_hit):
        assert len(within) >= limit


def test_each_search_follows_the_strongest_and_says_which_limit_it_met() -> None:
    few = Budget(entities=3)
    limits: list[tuple[dict[str, Any], str]] = [
        ({"limit": 3}, "the neighbourhood holds its nearest 3 entities only"),
        ({"hops": 2, "budget": few}, "the neighbourhood stopped after 3 entities"),
    ]
    for bounds, said in limits:
        kept = neighbourhood(STAR, [0], **bounds)
        assert (kept.entities, kept.limits_hit) == ((7, 6, 5), (said,))
    chain = graph_of(30, [(i, i + 1, 1.0) for i in range(29)])
    assert all_paths(chain, 0, 5, max_hops=5, budget=few).limits_hit
    for search in (shortest_path, strongest_path):
        for budget, said in ((few, "3 entities"), (Budget(seconds=-1), "-1 seconds")):
            found = search(chain, 0, 29, max_hops=29, budget=budget)
            assert found.paths == ()
            assert found.limits_hit == (f"the search for paths stopped after {said}",)


# --- Subgraphs, against the best tree that there is.


Problem = tuple[list[float], list[tuple[int, int]], list[float]]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    size = draw(st.integers(1, 7))
    pairs = [(one, other) for one in range(size) for other in range(one)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    values = st.sampled_from([0.1, 0.25, 0.3, 0.5, 0.7, 1.0, 1.3])
    prizes = draw(st.lists(values | st.just(0.0), min_size=size, max_size=size))
    return prizes, edges, draw(st.lists(values, min_size=len(edges), max_size=len(edges)))


def is_tree(nodes: set[int], edges: list[tuple[int, int]]) -> bool:
    reached = {next(iter(nodes))}
    for _ in nodes:
        reached |= {end for edge in edges if reached & set(edge) for end in edge}
    return reached == nodes and len(edges) == len(nodes) - 1


def least(prizes: list[float], edges: list[tuple[int, int]], costs: list[float]) -> float:
    """Costs and prizes left out of the best tree, by trying every one."""
    best = sum(prizes) - max(prizes)
    for count in range(1, len(prizes)):
        for chosen in combinations(range(len(edges)), count):
            taken = [edges[e] for e in chosen]
            nodes = {end for edge in taken for end in edge}
            if is_tree(nodes, taken):
                left = sum(p for node, p in enumerate(prizes) if node not in nodes)
                best = min(best, left + sum(costs[e] for e in chosen))
    return best


def objective(problem: Problem, tree: Tree) -> float:
    prizes, _, costs = problem
    left = sum(p for node, p in enumerate(prizes) if node not in tree.nodes)
    return left + sum(costs[edge] for edge in tree.edges)


@given(problems())
def test_a_tree_is_at_most_twice_as_dear_as_the_best(problem: Problem) -> None:
    prizes, edges, _ = problem
    tree = prize_collecting_tree(*problem)
    assert is_tree(set(tree.nodes), [edges[e] for e in tree.edges])
    assert len(set(tree.nodes)) == len(tree.nodes)
    assert tree.worth == pytest.approx(sum(prizes) - objective(problem, tree))
    assert objective(problem, tree) <= 2 * least(*problem) + 1e-9


def test_trees_of_many_entities_are_found_without_recursion() -> None:
    size = 3000
    tree = prize_collecting_tree(
        [1.0] * size, [(i, i + 1) for i in range(size - 1)], [0.5] * (size - 1)
    )
    assert len(tree.nodes) == size


# --- on the graph of entities ------------------------------------------------------------


@given(graphs(most=7), st.data())
def test_a_tree_of_the_graph_is_bounded_by_the_best_too(
    graph: EntityGraph, data: st.DataObject
) -> None:
    size = len(graph.entity_ids)
    rows = data.draw(st.lists(st.integers(0, size - 1), min_size=1, unique=True))
    prizes = {row: data.draw(st.sampled_from([0.2, 0.6, 1.0])) for row in rows}
    tree = steiner_tree(graph, prizes)
    edges = [edges_of(graph)[edge] for edge in tree.edges]
    assert is_tree(set(tree.entities), edges)
    costs = (0.5 * edge_costs(graph, np.arange(len(graph.strengths)))).tolist()
    spent = sum(costs[edge] for edge in tree.edges)
    spent += sum(prize for row, prize in prizes.items() if row not in tree.entities)
    every = least([prizes.get(row, 0.0) for row in range(size)], edges_of(graph), costs)
    assert spent <= 2 * every + 1e-9
    assert tree.notes == ()


def chain(length: int) -> EntityGraph:
    """A chain whose first entity has many strong ties to others."""
    edges = [(i, i + 1, 1.0) for i in range(length - 1)]
    return graph_of(length + 50, [*edges, *((0, length + i, 9.0) for i in range(50))])


def test_far_prizes_are_tied_though_much_else_is_nearer() -> None:
    tree = steiner_tree(chain(5), {0: 1.0, 4: 1.0}, cost=0.1, max_entities=10)
    assert sorted(tree.entities) == [0, 1, 2, 3, 4]
    assert tree.entities[:2] == (0, 4), "prizes first"
    assert tree.notes == (
        "only the 10 entities nearest to what the question is about were looked at",
    )


def test_no_prize_is_no_tree() -> None:
    assert steiner_tree(chain(3), {}) == Subgraph(entities=(), edges=())
    assert steiner_tree(chain(3), {1: 0.0}).entities == ()


def test_limits_are_said() -> None:
    tree = steiner_tree(chain(9), {0: 1.0, 8: 1.0}, budget=Budget(entities=20))
    assert tree.notes[0] == "the search for a tree stopped after 20 entities"
    around = subgraph_around(chain(9), [0], hops=2, limit=5)
    assert around.notes == ("the neighbourhood holds its nearest 5 entities only",)


def test_a_subgraph_holds_all_ties_among_its_entities() -> None:
    graph = graph_of(5, [(0, 1, 1.0), (0, 2, 2.0), (1, 2, 3.0), (2, 3, 4.0), (3, 4, 5.0)])
    around = subgraph_around(graph, [0])
    assert around.entities == (0, 2, 1), "the seed, then the strongest"
    assert [edges_of(graph)[edge] for edge in around.edges] == [(1, 2), (0, 2), (0, 1)]
    assert around.prizes == {0: 1.0}


@pytest.mark.parametrize(
    ("search", "match"),
    [
        (lambda: shortest_path(STAR, 0, 8), "no entity in row 8 of the graph; it has 8 rows"),
        (lambda: all_paths(STAR, -1, 0), "no entity in row -1"),
        (lambda: all_paths(STAR, 0, 1, max_hops=6), "max_hops 6 cannot be; expected 1 to 5"),
        (lambda: all_paths(STAR, 0, 1, limit=0), "limit 0 cannot be; expected at least 1"),
        (lambda: shortest_path(STAR, 0, 1, max_hops=-1), "max_hops -1 cannot be"),
        (lambda: neighbourhood(STAR, [0], hops=4), "hops 4 cannot be; expected 1 to 3"),
        (lambda: neighbourhood(STAR, [9]), "no entity in row 9"),
        (lambda: steiner_tree(chain(3), {99: 1.0}), "no entity in row 99 of the graph"),
        (lambda: steiner_tree(chain(3), {0: -1.0}), "prize -1.0 of row 0 cannot be"),
        (lambda: steiner_tree(chain(3), {0: float("nan")}), "prize nan of row 0"),
        (lambda: steiner_tree(chain(3), {0: 1.0}, cost=0), "cost 0 cannot be; expected a number"),
    ],
)
def test_what_cannot_be_searched_is_refused(search: Callable[[], object], match: str) -> None:
    with pytest.raises(InputError, match=match):
        search()


# --- Subgraphs as text, JSON and GraphML, of a real store.


FIRST = "The Danube & its boats pass Vienna. Vienna adores Mozart."
SECOND = "The Danube flows through Vienna."


def words(text: str) -> int:
    return len(text.split())


@pytest.fixture(scope="module")
def rivers(tmp_path_factory: pytest.TempPathFactory) -> NamedGraph:
    """What lies around Vienna: the Danube by two relations, Mozart by a sentence alone."""
    folder = tmp_path_factory.mktemp("store")
    names = {"Danube": "place", "Vienna": "place", "Mozart": "person"}
    relations = [("Danube", "flows_through", "Vienna"), ("Vienna", "lies_on", "Danube")]
    with closing(SqliteStore(folder, embedder=EMBEDDER)) as store:
        store.save(make_entry("a", FIRST, names=names))
        store.save(make_entry("b", SECOND, names=names, relations=relations))
        graph = current(EntityGraph, store, None, folder)
        seed = graph.entity_ids.tolist().index(store.resolve(["vienna"])["vienna"])
        return read_subgraph(store, graph, subgraph_around(graph, [seed]), entity_ranks(graph))


def test_a_subgraph_is_read_with_its_relations_and_sentences(rivers: NamedGraph) -> None:
    names = {node.id: node.name for node in rivers.nodes}
    assert list(names.values()) == ["Vienna", "Danube", "Mozart"]
    assert (rivers.nodes[0].tier, rivers.nodes[0].salience_score) == ("core", 1.0)
    assert 0 < rivers.nodes[2].salience_score < 1
    *found, (*ends, evidence) = [
        (names[e.from_entity_id], e.relation_type, names[e.to_entity_id], e.evidence)
        for e in rivers.edges
    ]
    assert found == [
        ("Danube", "flows_through", "Vienna", SECOND),
        ("Vienna", "lies_on", "Danube", SECOND),
    ]
    assert set(ends) == {"Vienna", "Mozart", "co_occurs_with"}
    assert evidence == "Vienna adores Mozart."
    assert rivers.edges[2].id is None
    assert 0 < rivers.edges[2].weight < 1


def test_graphml_names_every_node_and_edge(rivers: NamedGraph) -> None:
    root = ElementTree.fromstring("".join(as_graphml(rivers)))
    space = {"g": "http://graphml.graphdrawing.org/xmlns"}
    nodes = {node.get("id") for node in root.iterfind(".//g:node", space)}
    edges = root.findall(".//g:edge", space)
    assert len(nodes) == len(edges) == len({edge.get("id") for edge in edges}) == 3
    assert all(edge.get(end) in nodes for edge in edges for end in ("source", "target"))
    types = root.iterfind(".//g:data[@key='edge_relation_type']", space)
    assert [data.text for data in types] == ["flows_through", "lies_on", "co_occurs_with"]


def test_text_says_who_and_what_ties_them(rivers: NamedGraph) -> None:
    context = as_text(rivers, max_tokens=100, count_tokens=words, tokenizer="words")
    first, *lines = context.text.split("\n")
    assert first == "Entities: Vienna (place); Danube (place); Mozart (person)"
    assert lines[0] == f"- Danube — flows_through → Vienna: “{SECOND}”"
    assert ("Mozart" in lines[2], "→" in lines[2]) == (True, False)
    told = context.tokens, context.left_out, context.tokenizer
    assert told == (words(context.text), 0, "words")


@given(max_tokens=st.integers(0, 60), per_letter=st.booleans())
def test_text_fits_any_budget(rivers: NamedGraph, max_tokens: int, per_letter: bool) -> None:
    context = as_text(rivers, max_tokens=max_tokens, count_tokens=len if per_letter else words)
    assert context.tokens <= max_tokens
    whole = as_text(rivers, max_tokens=10_000, count_tokens=words).text.split("\n")
    lines = context.text.split("\n")[1:]
    assert [line for line in lines if line not in whole] == []
    assert len(rivers.edges) - len(lines) <= context.left_out


# --- Threads over a small graph whose shortest ones are known by hand.


def _snapshot(mentions: dict[int, list[list[int]]]) -> Snapshot:
    """`mentions`: by chunk id, from 1, the entity ids of each sentence."""
    flat = [
        (chunk_id, place, entity, 1)
        for chunk_id, sentences in mentions.items()
        for place, entities in enumerate(sentences)
        for entity in entities
    ]
    return snapshot_with([len(sentences) for sentences in mentions.values()], flat)


def _threads(
    snapshot: Snapshot, seeds: list[int], hits: NDArray[np.int64]
) -> list[tuple[ThreadStep, ...]]:
    nothing = np.zeros(0, dtype=np.int64)
    analysis = Analysis(
        text="",
        terms=(),
        term_rows=nothing,
        term_idf=np.zeros(0, dtype=np.float32),
        seeds=(),
        vector=np.zeros(2, dtype=np.float32),
    )
    return find_threads(snapshot, Coverage(analysis, snapshot), seeds, hits, nothing)


def test_a_thread_leads_from_the_seed_through_sentences_to_the_passage() -> None:
    # entity rows: 0 seed, 1 bridge, 2 only in the last passage
    snapshot = _snapshot({1: [[], [10, 11]], 2: [[12], [11, 12]], 3: [[12]]})
    # Rows of sentences, of which a passage's first is what the whole is about.
    own, bridge, last = (int(snapshot.sentence_starts[i]) + n for i, n in ((0, 2), (1, 2), (2, 1)))
    assert [
        [(step.entity, int(step.sentence)) for step in thread]
        for thread in _threads(snapshot, [0], np.array([0, 1, 2]))
    ] == [[(0, own)], [(0, own), (1, bridge)], [(0, own), (1, bridge), (2, last)]]


def test_a_common_entity_ties_nothing_unless_it_is_asked_for() -> None:
    passages = {i: [[99, i]] for i in range(1, 21)}
    snapshot = _snapshot(passages)
    common = snapshot.entity_rows([99])[99]
    first = snapshot.entity_rows([1])[1]
    assert _threads(snapshot, [first], np.arange(20))[5] == ()
    assert [s.entity for s in _threads(snapshot, [common], np.arange(20))[5]] == [common]


# --- The part of the graph that matters to a question, and what the engine says of entities.


CHAIN = ["Ada Morn", "Vell Abbey", "Piet Sorrel", "Tarn Mill", "Jo Quill"]
TEXTS = {
    "a": "Ada Morn built the clock of Vell Abbey.",
    "b": "Vell Abbey was sold to Piet Sorrel.",
    "c": "Piet Sorrel ground his corn at Tarn Mill.",
    "d": "Tarn Mill belonged to Jo Quill.",
    "e": "Lena Hart swam with Otto Berg.",
}


engine = engine_of(TEXTS)


def names(found: QuestionSubgraph) -> set[str]:
    return {node.name for node in found.graph.nodes}


def test_the_tree_ties_the_ends_that_are_named(engine: Engine) -> None:
    found = engine.graph.subgraph("How is Ada Morn tied to Jo Quill?")

    assert names(found) == set(CHAIN)
    assert len(found.graph.edges) == len(CHAIN) - 1
    assert {edge.evidence for edge in found.graph.edges} == set(TEXTS.values()) - {TEXTS["e"]}
    assert found.notes == ()


@pytest.mark.parametrize(("hops", "reached"), [(1, 2), (2, 3), (3, 4)])
def test_hops_take_all_that_lies_so_near(engine: Engine, hops: int, reached: int) -> None:
    found = engine.graph.subgraph("Ada Morn", hops=hops)

    assert set(CHAIN[:reached]) <= names(found)
    assert "Lena Hart" not in names(found)


@given(limit=st.integers(2, 8), hops=st.none() | st.integers(1, 3), budget=st.integers(1, 80))
def test_it_is_always_bounded_and_whole(
    engine: Engine, limit: int, hops: int | None, budget: int
) -> None:
    found = engine.graph.subgraph(
        "Ada Morn, Jo Quill and Otto Berg", hops=hops, limit=limit, max_tokens=budget
    )

    ids = {node.id for node in found.graph.nodes}
    assert 1 <= len(ids) <= limit
    assert all({e.from_entity_id, e.to_entity_id} <= ids for e in found.graph.edges)
    assert engine.state.embedder.count_tokens(found.context.text) == found.context.tokens <= budget
    assert any("did not fit" in remark for remark in found.notes) == bool(found.context.left_out)


def test_an_empty_store_has_none(tmp_path_factory: pytest.TempPathFactory) -> None:
    with clew.open(tmp_path_factory.mktemp("empty"), embedder=HashEmbedder()) as empty:
        found = empty.graph.subgraph("Ada Morn")

    assert (found.graph.nodes, found.context.text) == ((), "")
    assert found.notes == ("no entity of the graph is near the question",)


@pytest.mark.parametrize(
    ("question", "given", "said"),
    [
        (" ", {}, "entity_ids"),
        ("Ada Morn", {"limit": 1}, "limit 1 cannot be; a graph takes at least 2"),
        ("Ada Morn", {"hops": 4}, "hops 4 cannot be; expected 1 to 3"),
    ],
)
def test_bounds_that_cannot_be(
    engine: Engine, question: str, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        engine.graph.subgraph(question, **given)
