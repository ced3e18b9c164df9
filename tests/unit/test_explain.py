"""Threads over a small graph whose shortest ones are known by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import Snapshot, read_columns
from clew.ports import PassageRow
from clew.search.analysis.analyse import Analysis
from clew.search.answer.hits import ThreadStep, find_threads
from clew.search.retrieval.walk import Coverage

if TYPE_CHECKING:
    from clew.graph.snapshot import Ints


def _snapshot(mentions: dict[int, list[list[int]]]) -> Snapshot:
    """`mentions`: by chunk id, the entity ids of each sentence (each sentence is one word)."""
    rows = [
        PassageRow(
            chunk_id=chunk_id,
            document_id=f"{chunk_id:016x}",
            ordinal=0,
            text="x " * len(sentences),
            context="",
            sentences=tuple((2 * i, 2 * i + 1) for i in range(len(sentences))),
        )
        for chunk_id, sentences in mentions.items()
    ]
    flat = [
        (chunk_id, place, entity, 1)
        for chunk_id, sentences in mentions.items()
        for place, entities in enumerate(sentences)
        for entity in entities
    ]
    columns = read_columns(rows, np.array(flat, dtype=np.int64))
    return Snapshot(columns, generation=1, mentions_version=0)


def _threads(snapshot: Snapshot, seeds: list[int], hits: Ints) -> list[tuple[ThreadStep, ...]]:
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
    threads = _threads(snapshot, [0], np.array([0, 1, 2]))
    in_chunk = [
        [(step.entity, int(step.sentence - snapshot.sentence_starts[0])) for step in threads[0]],
    ]
    assert in_chunk == [[(0, 2)]]
    assert [step.entity for step in threads[1]] == [0, 1]
    assert [step.entity for step in threads[2]] == [0, 1, 2]
    first, second, third = threads[2]
    assert snapshot.sentence_chunk[first.sentence] == 0
    assert second.sentence == snapshot.sentence_starts[1] + 2, "the sentence with both entities"
    assert snapshot.sentence_chunk[third.sentence] == 2


def test_no_thread_where_nothing_ties() -> None:
    snapshot = _snapshot({1: [[10]], 2: [[11]]})
    assert _threads(snapshot, [0], np.array([1])) == [()]
    assert _threads(snapshot, [], np.array([0])) == [()]


def test_a_common_entity_ties_nothing_unless_it_is_asked_for() -> None:
    passages = {i: [[99, i]] for i in range(1, 21)}
    snapshot = _snapshot(passages)
    common = snapshot.entity_rows([99])[99]
    first = snapshot.entity_rows([1])[1]
    assert _threads(snapshot, [first], np.arange(20))[5] == ()
    assert [s.entity for s in _threads(snapshot, [common], np.arange(20))[5]] == [common]
