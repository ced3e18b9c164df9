"""The graph of entities: its ties against plain Python, and its file against damage and change."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.graph.entity_graph import (
    ABOUT_SHARE,
    CROWD,
    EntityGraph,
    EntityRanks,
    _shared_out,
    build_entity_graph,
    current_entity_graph,
    current_entity_ranks,
    entity_ranks,
)
from clew.graph.snapshot import Snapshot, read_columns
from clew.ports import PassageRow, RelationRows
from clew.testing.fakes import HashEmbedder
from tests.unit.graphs import edges_of

Chunk = tuple[set[int], list[set[int]]]
"""What it is about, and the entities of each of its sentences; ids from 1."""
Stated = tuple[int, int, float, int]
"""Head, tail, weight, chunk (from 1; 0 for none; always its first sentence)."""
NONE: list[Stated] = []


def snapshot_of(chunks: list[Chunk]) -> Snapshot:
    rows = [
        PassageRow(
            chunk_id=number,
            document_id=f"{number:016x}",
            ordinal=0,
            text="x" * len(said),
            context="",
            sentences=tuple((i, i + 1) for i in range(len(said))),
        )
        for number, (_, said) in enumerate(chunks, 1)
    ]
    mentions = [
        (number, ordinal, entity, 1)
        for number, (about, said) in enumerate(chunks, 1)
        for ordinal, named in enumerate([about, *said], -1)
        for entity in sorted(named)
    ]
    columns = read_columns(rows, np.array(mentions, dtype=np.int64).reshape(-1, 4))
    return Snapshot(columns, generation=3, mentions_version=0)


def rows_of(stated: list[Stated]) -> RelationRows:
    return RelationRows(
        ids=np.arange(1, len(stated) + 1),
        heads=np.array([head for head, *_ in stated], dtype=np.int64),
        tails=np.array([tail for _, tail, *_ in stated], dtype=np.int64),
        weights=np.array([weight for _, _, weight, _ in stated], dtype=np.float32),
        chunks=np.array([chunk for *_, chunk in stated], dtype=np.int64),
        sentences=np.array([0 if chunk else -1 for *_, chunk in stated], dtype=np.int64),
    )


def built(
    chunks: list[Chunk], stated: list[Stated] = NONE, left_out: set[int] | None = None
) -> EntityGraph:
    dropped = None if left_out is None else np.array(sorted(left_out), dtype=np.int64)
    return build_entity_graph(snapshot_of(chunks), rows_of(stated), dropped)


@dataclass
class Added:
    """What adds to a tie."""

    amount: float
    relation: int = 0
    chunk: int = 0
    sentence: int = -1


def rarities(chunks: list[Chunk]) -> dict[int, float]:
    """By entity: idf relative to that of an entity of one chunk."""
    within = Counter(e for about, said in chunks for e in set().union(about, *said))
    most = math.log1p(len(chunks))
    return {entity: math.log1p(len(chunks) / count) / most for entity, count in within.items()}


def counted(
    chunks: list[Chunk], stated: list[Stated], left_out: set[int]
) -> dict[tuple[int, int], list[Added]]:
    """What adds to each tie, by pairs of ids, in plain Python."""
    rarity = rarities(chunks)
    found: dict[tuple[int, int], list[Added]] = {}

    def add(one: int, other: int, added: Added) -> None:
        if one != other and added.amount > 0:
            found.setdefault((min(one, other), max(one, other)), []).append(added)

    for number, (about, said) in enumerate(chunks, 1):
        for ordinal, every in enumerate(said):
            named = every - left_out
            for one, other in combinations(sorted(named), 2):
                share = math.sqrt(rarity[one] * rarity[other]) / (len(named) - 1)
                add(one, other, Added(share, chunk=number, sentence=ordinal))
            for subject in about - left_out - named:
                for entity in named:
                    share = math.sqrt(rarity[subject] * rarity[entity]) * ABOUT_SHARE / len(named)
                    add(subject, entity, Added(share, chunk=number, sentence=ordinal))
    for number, (head, tail, weight, chunk) in enumerate(stated, 1):
        if not {head, tail} & left_out:
            add(head, tail, Added(weight, number, chunk, 0 if chunk else -1))
    return found


entities = st.sets(st.integers(1, 6), max_size=4)
chunk_lists = st.lists(
    st.tuples(st.sets(st.integers(1, 6), max_size=2), st.lists(entities, max_size=3)), max_size=5
)
stated_lists = st.lists(
    st.tuples(
        st.integers(1, 8), st.integers(1, 8), st.sampled_from([0, 0.5, 1]), st.integers(0, 3)
    ),
    max_size=6,
)


@given(chunk_lists, stated_lists, st.sets(st.integers(1, 8), max_size=2))
def test_ties_are_what_relations_and_sentences_add_up_to(
    chunks: list[Chunk], stated: list[Stated], left_out: set[int]
) -> None:
    graph = built(chunks, stated, left_out)
    expected = counted(chunks, stated, left_out)
    ids = graph.entity_ids.tolist()
    named = {e for about, said in chunks for some in [about, *said] for e in some}
    assert ids == sorted((named | {end for s in stated for end in s[:2]}) - left_out)
    found = [(ids[one], ids[other]) for one, other in edges_of(graph)]
    assert found == sorted(expected)
    for edge, pair in enumerate(found):
        parts = expected[pair]
        assert graph.strengths[edge] == pytest.approx(sum(p.amount for p in parts), rel=1e-5)
        relations = sorted((p for p in parts if p.relation), key=lambda p: (-p.amount, p.relation))
        assert graph.relations[edge] == (relations[0].relation if relations else 0)
        shown = int(graph.chunks[edge]), int(graph.sentences[edge])
        texts = [p for p in relations if p.chunk] or [p for p in parts if p.chunk] or relations
        best = max(p.amount for p in texts)
        assert shown in {(p.chunk, p.sentence) for p in texts if p.amount == pytest.approx(best)}


@given(chunk_lists, stated_lists)
def test_each_tie_stands_in_both_rows(chunks: list[Chunk], stated: list[Stated]) -> None:
    graph = built(chunks, stated)
    seen: dict[int, list[tuple[int, int]]] = {}
    for row in range(len(graph.entity_ids)):
        neighbours, edges = (part.tolist() for part in graph.row(row))
        assert neighbours == sorted(set(neighbours) - {row})
        for neighbour, edge in zip(neighbours, edges, strict=True):
            seen.setdefault(edge, []).append((row, neighbour))
    assert sorted(seen) == list(range(len(graph.strengths)))
    assert all(one == other[::-1] for one, other in seen.values())


def test_a_crowd_ties_nobody() -> None:
    crowd = set(range(1, CROWD + 2))
    assert len(built([(set(), [crowd])]).strengths) == 0
    assert len(built([(set(), [crowd])], left_out={1}).strengths) == CROWD * (CROWD - 1) / 2
    assert len(built([({99}, [crowd])]).strengths) == 0


def test_what_is_named_everywhere_ties_little() -> None:
    hub, one, other, third = 1, 2, 3, 4
    everywhere: list[Chunk] = [(set(), [{hub}])] * 50
    graph = built([(set(), [{one, other}]), (set(), [{hub, third}]), *everywhere])
    by_rare, by_hub = (graph.strengths[graph.row(row)[1][0]] for row in (one - 1, hub - 1))
    assert by_rare > 2 * by_hub > 0


def test_the_subject_of_a_passage_is_tied_to_what_it_names_less_than_by_name() -> None:
    subject, friend = 1, 2
    by_name = built([({subject}, [{subject, friend}])])
    unnamed = built([({subject}, [{friend}])])
    assert len(by_name.strengths) == len(unnamed.strengths) == 1
    assert unnamed.strengths[0] == pytest.approx(ABOUT_SHARE * by_name.strengths[0])
    assert len(built([({subject, friend}, [set()])]).strengths) == 0, "titles alone tie nothing"


# --- on disk -----------------------------------------------------------------------------


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add("Ada Morn met Piet Oss in Vienna on 4 May 1990.", source="a", title="Ada Morn")
        engine.add("Piet Oss taught Brida Kall in Vienna in May 1990.", source="b")
        yield engine


def same(one: EntityGraph | EntityRanks, other: EntityGraph | EntityRanks) -> bool:
    return type(one) is type(other) and all(
        np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)
    )


def graph_file(engine: clew.Clew) -> Path:
    [file] = engine.store.folder.glob("entities-*.arrays")
    return file


def anew(engine: clew.Clew) -> EntityGraph:
    dates = engine.store.entities_of_type("date")
    return build_entity_graph(engine.state.snapshot.whole, engine.store.relation_rows(), dates)


def test_the_graph_is_kept_and_read_again(engine: clew.Clew) -> None:
    store = engine.store
    first = current_entity_graph(store, engine.state.snapshot, store.folder)
    assert len(first.strengths) > 0
    assert graph_file(engine).name == f"entities-{store.generation()}.arrays"
    assert same(first, anew(engine))
    changed = graph_file(engine).stat().st_mtime_ns
    assert same(current_entity_graph(store, None, store.folder), first)
    assert same(current_entity_ranks(store, None, store.folder), entity_ranks(first))
    assert graph_file(engine).stat().st_mtime_ns == changed
    assert current_entity_graph(store, None, store.folder, first) is first
    ranks = current_entity_ranks(store, None, store.folder)
    assert current_entity_ranks(store, None, store.folder, ranks) is ranks


def test_dates_tie_nothing(engine: clew.Clew) -> None:
    graph = current_entity_graph(engine.store, None, engine.store.folder)
    types = {entity.entity_type for entity in engine.store.entities(graph.entity_ids.tolist())}
    assert len(engine.store.entities_of_type("date"))
    assert "date" not in types


def test_a_graph_of_another_generation_is_built_anew(engine: clew.Clew) -> None:
    store = engine.store
    before = current_entity_graph(store, engine.state.snapshot, store.folder)
    old_snapshot = engine.state.snapshot
    engine.add("Brida Kall met Ada Morn.", source="c")
    after = current_entity_graph(store, old_snapshot, store.folder, before)
    assert after.generation == store.generation() > before.generation
    assert same(after, anew(engine))
    assert graph_file(engine).name == f"entities-{after.generation}.arrays", "the old file is gone"


@pytest.mark.parametrize("damage", [b"", b"no archive", None], ids=["empty", "text", "cut"])
def test_a_damaged_file_is_built_anew(engine: clew.Clew, damage: bytes | None) -> None:
    store = engine.store
    ranks = current_entity_ranks(store, engine.state.snapshot, store.folder)
    file = graph_file(engine)
    whole = file.read_bytes()
    file.write_bytes(whole[:-200] if damage is None else damage)
    assert same(current_entity_ranks(store, None, store.folder), ranks)
    assert len(file.read_bytes()) == len(whole), "it is whole again"


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(
    engine: clew.Clew, tmp_path: Path
) -> None:
    graph = current_entity_graph(engine.store, engine.state.snapshot, tmp_path / "nowhere")
    assert same(graph, anew(engine))
    assert not (tmp_path / "nowhere").exists()


def test_an_empty_store_has_an_empty_graph(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        graph = current_entity_graph(engine.store, engine.state.snapshot, engine.store.folder)
        assert len(graph.entity_ids) == len(graph.strengths) == 0
        assert graph.starts.tolist() == [0]


def test_what_texts_say_of_a_crowd_is_shared_among_it() -> None:
    size = 4 * CROWD
    several = np.arange(2, size + 2)
    rows = RelationRows(
        ids=several,
        heads=several,
        tails=np.ones(size, dtype=np.int64),
        weights=np.full(size, 0.8, dtype=np.float32),
        chunks=np.append(np.ones(size - 1, dtype=np.int64), 0),
        sentences=np.zeros(size, dtype=np.int64),
    )
    shared = _shared_out(rows)
    assert np.allclose(shared[:-1], 0.2)
    assert np.isclose(shared[-1], 0.8)  # stated by hand
