"""What a language model is shown of the best passages: their texts, and what leads to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clew.search.answer.explain import find_threads
from clew.search.ranking.set_filter import Candidate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.search.session import QuerySession
    from clew.types import Ids


def read_candidates(session: QuerySession, chunk_ids: Ids) -> list[Candidate]:
    """The passages in this order, up to the first that has been deleted since."""
    chunks = {chunk.id: chunk for chunk in session.resources.store.chunks(chunk_ids.tolist())}
    bridges = _bridges(session, chunk_ids)
    found = []
    for id_ in chunk_ids.tolist():
        if id_ not in chunks:
            break
        chunk = chunks[id_]
        found.append(
            Candidate(
                document_id=chunk.document_id,
                title=chunk.title,
                text=chunk.text,
                bridge=bridges.get(id_, ()),
            )
        )
    return found


def _bridges(session: QuerySession, chunk_ids: Ids) -> Mapping[int, tuple[str, ...]]:
    """Sentences of other passages on the thread to each chunk, from the question on."""
    # Made apart: the hits show evidence only where the strategy went by it.
    evidence = session.evidence or replace(session, evidence=None).gather()
    snapshot = session.snapshot
    hits = snapshot.rows(chunk_ids[snapshot.known(chunk_ids)])
    others = snapshot.sentence_chunk[evidence.bridges.sentences]
    seeds = [seed.row for seed in evidence.analysis.seeds]
    threads = find_threads(snapshot, evidence.coverage, seeds, hits, others)
    steps = {
        int(snapshot.chunk_ids[hit]): [
            (row, step.sentence - int(snapshot.sentence_starts[row]) - 1)
            for step in thread
            if (row := int(snapshot.sentence_chunk[step.sentence])) != hit
        ]
        for hit, thread in zip(hits.tolist(), threads, strict=True)
    }
    rows = sorted({row for found in steps.values() for row, _ in found})
    ids = {row: int(snapshot.chunk_ids[row]) for row in rows}
    texts = session.resources.store.sentences(list(ids.values()))
    return {
        id_: tuple(
            texts[ids[row]][place]
            for row, place in found
            if 0 <= place < len(texts.get(ids[row], ()))
        )
        for id_, found in steps.items()
    }
