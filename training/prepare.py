"""Turn BEIR folders into groups to learn from, by the very steps that `clew search` takes.

Each data set is asked three times over: as it is; merged with all the others into one large store,
with far more passages that mislead; and without names, so that the ranker learns what to go by
where the graph has nothing to say. Some questions are asked of a store that does not answer them.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

import clew
from clew.models.onnx import OnnxEmbedder
from clew.search.options import Options
from clew.search.pipeline import hybrid
from clew.search.session import QuerySession
from clew.settings import load_settings
from clew.text import sentences
from clew.types import Chunk, ChunkExtraction, Document, Extraction
from training.groups import Group, Shelf
from training.sources import copies, of_others

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clew.engine import Engine
    from clew.plugins.evaluation.run import Record
    from clew.ports import Embedder
    from clew.types import Ids, Vector, Vectors
    from training.groups import Kind, Passage
    from training.sources import Source


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
    return groups


def _ask(
    kind: Kind,
    held: Sequence[Source],
    strangers: Sequence[tuple[Source, Record]],
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
        return groups_of(engine, kind, held, strangers)


def groups_of(
    engine: Engine,
    kind: Kind,
    held: Sequence[Source],
    strangers: Sequence[tuple[Source, Record]] = (),
) -> list[Group]:
    """All questions of the data sets that a store holds, and others', asked of it as it is."""
    snapshot = engine.state.snapshot.whole
    ids = snapshot.chunk_ids
    passages = _passages(engine, held, ids)
    shelf = Shelf(snapshot, engine.state.vectors.vectors(ids).copy(), passages)
    own = [(source, question) for source in held for question in source.data.questions]
    asked: list[tuple[Kind, Source, Record]] = [(kind, *one) for one in own]
    asked += [("foreign", *one) for one in strangers]
    return [
        ask(kind, source.name, question.text, _gold(kind, source, question), engine, shelf)
        for kind, source, question in asked
    ]


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


def ask(
    kind: Kind,
    dataset: str,
    question: str,
    gold: Mapping[Passage, int],
    engine: Engine,
    shelf: Shelf,
) -> Group:
    """A question, asked as `clew search` asks it."""
    options = Options(strategy="graph", limit=10, max_tokens=1000, now=datetime.now(UTC))
    session = QuerySession.start(engine.state, question, options)
    rows = shelf.snapshot.rows(hybrid(session).ranking.ids)
    return Group(
        dataset=dataset,
        kind=kind,
        question=question,
        gold=gold,
        shelf=shelf,
        evidence=session.gather(),
        snapshot=session.snapshot,
        hybrid=list(dict.fromkeys(shelf.passages[row] for row in rows.tolist())),
    )


def _gold(kind: Kind, source: Source, question: Record) -> dict[Passage, int]:
    if kind == "foreign":
        return {}
    grades = source.data.qrels[question.id]
    return {(source.name, passage): grade for passage, grade in grades.items() if grade > 0}
