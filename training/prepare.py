"""Turn BEIR folders into groups to learn from, by the very steps that `clew search` takes.

Each data set is asked three times over: as it is; merged with all the others into one large store,
with far more passages that mislead; and without names, so that the ranker learns what to go by
where the graph has nothing to say.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import clew
from clew.evaluation.beir import BeirDataset, is_beir, load_beir
from clew.models.onnx import OnnxEmbedder
from clew.search.options import Options
from clew.search.session import QuerySession
from clew.search.strategies import hybrid
from clew.sentences import sentences
from clew.settings import load_settings
from clew.types import Chunk, ChunkExtraction, Document, Extraction
from training.groups import Group, Shelf, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clew.engine import Engine
    from clew.evaluation.beir import Question
    from clew.ports import Embedder
    from clew.types import Ids, Vector, Vectors
    from training.groups import Kind, Passage

COPIES = 200
"""Questions of a family that are asked again of the merged and of the nameless store, at most."""


@dataclass(frozen=True, slots=True)
class Source:
    """A data set and its path below the folder of all of them."""

    name: str
    data: BeirDataset

    @property
    def family(self) -> str:
        """First part of the path: data sets of one kind."""
        return self.name.split("/", maxsplit=1)[0]


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


def read_sources(bench: Path) -> list[Source]:
    """Every BEIR folder below `bench`, by path."""
    folders = sorted(path for path in bench.rglob("*") if path.is_dir() and is_beir(path))
    return [Source(folder.relative_to(bench).as_posix(), load_beir(folder)) for folder in folders]


def prepare(
    sources: Sequence[Source],
    report: Callable[[str], None],
    *,
    copies: bool = True,
    embedder: Embedder | None = None,
) -> list[Group]:
    """Groups of all three kinds, or of the plain one alone, for the questions of every data set.

    `report` is told what has been done, a line a store. `embedder` replaces the settings' own.
    """
    remembering = Remembering(embedder or OnnxEmbedder(load_settings().embed))
    stores: list[tuple[Kind, Sequence[Source]]] = [("plain", [source]) for source in sources]
    if copies:
        again = list(_copies(sources))
        stores += [("merged", again), *(("nameless", [source]) for source in again)]
    groups: list[Group] = []
    for kind, held in stores:
        groups.extend(_ask(kind, held, remembering))
        report(f"{kind} {', '.join(one.name for one in held)}: {len(groups)} groups so far")
    return groups


def _copies(sources: Sequence[Source]) -> Iterator[Source]:
    """The data sets with the questions that are asked again."""
    for family in dict.fromkeys(source.family for source in sources):
        members = [source for source in sources if source.family == family]
        questions = [question for source in members for question in source.data.questions]
        kept = set(sorted(digest(question.text) for question in questions)[:COPIES])
        for source in members:
            again = tuple(q for q in source.data.questions if digest(q.text) in kept)
            yield replace(source, data=replace(source.data, questions=again))


def _ask(kind: Kind, held: Sequence[Source], embedder: Embedder) -> list[Group]:
    """Index the data sets into one new store, and ask it all their questions."""
    extractor = Nameless() if kind == "nameless" else None
    with (
        tempfile.TemporaryDirectory(prefix="clew-training-") as folder,
        clew.open(store=folder, embedder=embedder, extractor=extractor) as engine,
    ):
        for source in held:
            engine.add_documents(source.data.documents)
        ids = engine.state.snapshot.chunk_ids
        passages = _passages(engine, held, ids)
        shelf = Shelf(engine.state.snapshot, engine.state.vectors.vectors(ids).copy(), passages)
        return [
            _group(kind, source, question, engine, shelf)
            for source in held
            for question in source.data.questions
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


def _group(kind: Kind, source: Source, question: Question, engine: Engine, shelf: Shelf) -> Group:
    options = Options(strategy="graph", limit=10, max_tokens=1000, now=datetime.now(UTC))
    session = QuerySession.start(engine.state, question.text, options)
    rows = shelf.snapshot.rows(hybrid(session).ranking.ids)
    return Group(
        dataset=source.name,
        kind=kind,
        question=question.text,
        gold={
            (source.name, passage): grade
            for passage, grade in source.data.qrels[question.id].items()
            if grade > 0
        },
        shelf=shelf,
        evidence=session.gather(),
        hybrid=list(dict.fromkeys(shelf.passages[row] for row in rows.tolist())),
    )
