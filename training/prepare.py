"""Turn BEIR folders into groups to learn from, by the very steps that `clew search` takes.

Each data set is asked three times over: as it is; merged with all the others into one large store,
with far more passages that mislead; and without names, so that the ranker learns what to go by
where the graph has nothing to say. Some questions are asked of a store that does not answer them.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

import clew
from clew.models.onnx import OnnxEmbedder
from clew.search.options import Options
from clew.search.session import QuerySession
from clew.search.strategies import hybrid
from clew.sentences import sentences
from clew.settings import load_settings
from clew.types import Chunk, ChunkExtraction, Document, Extraction
from training.groups import Group, Shelf, digest
from training.sources import copies, of_others

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from numpy.typing import NDArray

    from clew.engine import Engine
    from clew.evaluation.beir import Question
    from clew.graph.snapshot import Snapshot
    from clew.ports import Embedder
    from clew.search.analysis.analyse import Analysis
    from clew.types import Ids, Vector, Vectors
    from training.groups import Kind, Passage
    from training.sources import Source


SMALL, TOGETHER, BESIDE = 48, 6, 4
"""Questions of a data set that small stores are asked, those of a store, other passages of each."""
EMPTIED = 120
"""Questions that a store is asked again without what answers them, at most."""


class Remembering:
    """An embedder that embeds no text twice: the same passages go into several stores."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}

    @property
    def name(self) -> str:
        """The embedder's own."""
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """The embedder's own."""
        return self._embedder.dimension

    @property
    def max_tokens(self) -> int:
        """The embedder's own."""
        return self._embedder.max_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension), from memory where a text is known."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._embedder.embed_documents(new), strict=True))
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return np.stack([self._known[text] for text in texts])

    def embed_query(self, text: str) -> Vector:
        """The embedder's own."""
        return self._embedder.embed_query(text)

    def count_tokens(self, text: str) -> int:
        """The embedder's own."""
        return self._embedder.count_tokens(text)


class Nameless:
    """An extractor that finds sentences and no names."""

    name = "nameless"

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """Sentences alone."""
        found = (tuple(sentences(chunk.text)) for chunk in chunks)
        return Extraction(chunks=tuple(ChunkExtraction(sentences=ranges) for ranges in found))


def prepare(
    sources: Sequence[Source],
    report: Callable[[str], None],
    *,
    copied: bool = True,
    embedder: Embedder | None = None,
) -> list[Group]:
    """Groups of all kinds, or of the plain one alone, for the questions of every data set.

    `report` is told what has been done, a line a store. `embedder` replaces the settings' own.
    """
    remembering = Remembering(embedder or OnnxEmbedder(load_settings().embed))
    stores: list[tuple[Kind, Sequence[Source]]] = [("plain", [source]) for source in sources]
    if copied:
        again = list(copies(sources))
        stores += [("merged", again), *(("nameless", [source]) for source in again)]
    groups: list[Group] = []
    for kind, held in stores:
        strangers = of_others(held[0], sources) if copied and kind == "plain" else []
        groups.extend(_ask(kind, held, strangers, remembering))
        report(f"{kind} {', '.join(one.name for one in held)}: {len(groups)} groups so far")
    for source in sources if copied else ():
        asked = [g for g in groups if (g.kind, g.dataset) == ("plain", source.name)]
        groups.extend(small_stores(source, asked, remembering))
        report(f"small {source.name}: {len(groups)} groups so far")
    return groups


def _ask(
    kind: Kind,
    held: Sequence[Source],
    strangers: Sequence[tuple[Source, Question]],
    embedder: Embedder,
) -> list[Group]:
    """Index the data sets into one new store, and ask it all their questions, and others'."""
    extractor = Nameless() if kind == "nameless" else None
    with (
        tempfile.TemporaryDirectory(prefix="clew-training-") as folder,
        clew.open(store=folder, embedder=embedder, extractor=extractor) as engine,
    ):
        for source in held:
            engine.add_documents(source.data.documents)
        found = groups_of(engine, kind, held, strangers)
        again = [g for g in found if g.kind == "small" or (g.kind == "plain" and strangers)]
        first = sorted(again, key=lambda group: digest(group.question))[:EMPTIED]
        return found + [emptied(group, engine) for group in first]


def groups_of(
    engine: Engine,
    kind: Kind,
    held: Sequence[Source],
    strangers: Sequence[tuple[Source, Question]] = (),
) -> list[Group]:
    """All questions of the data sets that a store holds, and others', asked of it as it is."""
    snapshot = engine.state.snapshot.whole
    ids = snapshot.chunk_ids
    passages = _passages(engine, held, ids)
    shelf = Shelf(snapshot, engine.state.vectors.vectors(ids).copy(), passages)
    own = [(source, question) for source in held for question in source.data.questions]
    asked: list[tuple[Kind, Source, Question]] = [(kind, *one) for one in own]
    asked += [("foreign", *one) for one in strangers]
    return [
        ask(kind, source.name, question.text, _gold(kind, source, question), engine, shelf)
        for kind, source, question in asked
    ]


def small_stores(source: Source, asked: Sequence[Group], embedder: Embedder) -> list[Group]:
    """Questions of a data set again, each few of stores that hold little beside what answers them.

    What they hold beside is what came nearest to the questions, which speaks of the same names.
    """
    chosen = sorted(asked, key=lambda group: digest(group.question))[:SMALL]
    found: list[Group] = []
    for start in range(0, len(chosen), TOGETHER):
        some = chosen[start : start + TOGETHER]
        near = {p for g in some for p in [q for q in g.hybrid if q not in g.gold][:BESIDE]}
        held = {id_ for _, id_ in near.union(*(group.gold for group in some))}
        found += _ask("small", [_part(source, held, {g.question for g in some})], [], embedder)
    return found


def _part(source: Source, passages: Container[str], questions: Container[str]) -> Source:
    """The documents that hold some passages, and some questions."""
    data = source.data
    documents = [
        document
        for document in data.documents
        if any(data.passage_of(document.source, key) in passages for key in _keys(document))
    ]
    kept = tuple(question for question in data.questions if question.text in questions)
    return replace(source, data=replace(data, documents=tuple(documents), questions=kept))


def _keys(document: Document) -> list[str | None]:
    return [piece.key for piece in document.pieces] or [None]


def _passages(engine: Engine, held: Sequence[Source], ids: Ids) -> list[Passage]:
    """The passage that each chunk belongs to."""
    owners = {document.source: one for one in held for document in one.data.documents}
    found: list[Passage] = []
    for chunk in engine.store.chunks(ids.tolist()):
        owner = owners[chunk.source]
        passage = owner.data.passage_of(chunk.source, chunk.key)
        assert passage is not None, f"{chunk.source} belongs to no passage"
        found.append((owner.name, passage))
    return found


def emptied(group: Group, engine: Engine) -> Group:
    """The question again, of the store without the passages that answer it.

    Words and names that stand nowhere else are unknown then.
    """
    shelf = group.shelf
    answers = np.array([passage in group.gold for passage in shelf.passages])
    session = _session(engine, group.question).filtered(shelf.snapshot.chunk_ids[~answers])
    session.found_analysis = _analysis_of(session.analysis, shelf.snapshot, ~answers)
    return replace(group, kind="emptied", gold={}, evidence=session.gather())


def _analysis_of(analysis: Analysis, snapshot: Snapshot, kept: NDArray[np.bool_]) -> Analysis:
    """As the passages `kept` (C,) alone would have it."""
    held = [
        bool(kept[snapshot.sentence_chunk[snapshot.postings.row(row)]].any())
        for row in analysis.term_rows.tolist()
    ]
    seeds = (s for s in analysis.seeds if kept[snapshot.entity_passages.row(s.row)].any())
    return replace(
        analysis,
        term_rows=analysis.term_rows[held],
        term_idf=analysis.term_idf[held],
        unknown=analysis.unknown + held.count(False),
        seeds=tuple(seeds),
    )


def _session(engine: Engine, question: str) -> QuerySession:
    options = Options(strategy="graph", limit=10, max_tokens=1000, now=datetime.now(UTC))
    return QuerySession.start(engine.state, question, options)


def ask(
    kind: Kind,
    dataset: str,
    question: str,
    gold: Mapping[Passage, int],
    engine: Engine,
    shelf: Shelf,
) -> Group:
    """A question, asked as `clew search` asks it."""
    session = _session(engine, question)
    rows = shelf.snapshot.rows(hybrid(session).ranking.ids)
    return Group(
        dataset=dataset,
        kind=kind,
        question=question,
        gold=gold,
        shelf=shelf,
        evidence=session.gather(),
        hybrid=list(dict.fromkeys(shelf.passages[row] for row in rows.tolist())),
    )


def _gold(kind: Kind, source: Source, question: Question) -> dict[Passage, int]:
    if kind == "foreign":
        return {}
    grades = source.data.qrels[question.id]
    return {(source.name, passage): grade for passage, grade in grades.items() if grade > 0}
