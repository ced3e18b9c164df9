"""A graph that Clew did not make, asked through a mapping; nothing is ever written to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from clew.attach.answer import GraphAnswer, make_hit, rank_rows
from clew.attach.queries import LIMITS, graph_query, hybrid_query, make_patterns
from clew.attach.schema import read_names, shown_names
from clew.attach.wording import Span, lucene_phrases, lucene_words, spans
from clew.errors import InputError, ModelError
from clew.search.retrieval.channels import RRF_K

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clew.attach.mapping import GraphMapping
    from clew.attach.schema import IndexInfo, IndexKind, Names
    from clew.ports import Embedder
    from clew.stores.neo4j.connection import Neo4jDatabase

STRATEGIES = ("hybrid", "local", "multi_hop")
MAX_HOPS = 3
"""Relationships from entity to entity, at most."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question is asked with."""

    vectors: IndexInfo | None
    words: IndexInfo | None
    entity_index: IndexInfo | None
    spans: Sequence[Span]
    parameters: Mapping[str, object]


class AttachedGraph:
    """Somebody else's graph, searched where it is."""

    def __init__(
        self, database: Neo4jDatabase, mapping: GraphMapping, make_embedder: Callable[[], Embedder]
    ) -> None:
        """Nothing is read yet; the embedder is made where there is a vector index to ask."""
        self._database = database
        self._mapping = mapping
        self._make_embedder = make_embedder

    @cached_property
    def _names(self) -> Names:
        return read_names(self._database)

    @cached_property
    def _embedder(self) -> Embedder:
        return self._make_embedder()

    def ask(
        self,
        question: str,
        *,
        strategy: str = "hybrid",
        limit: int = 10,
        max_hops: int = 2,
    ) -> GraphAnswer:
        """The passages that answer a question; one query.

        `hybrid` fuses what vectors and words find. `local` goes on to the passages of the entities
        that the question names or that the best passages found are tied to, `multi_hop` also to
        those of entities up to `max_hops` (1 to 3) relationships away. Raises `InputError` where
        the mapping names what the database does not have.
        """
        _check(strategy, limit, max_hops)
        notes: list[str] = []
        asked = self._prepare(question, notes)
        query = self._query(asked, strategy, max_hops, notes)
        rows = self._database.rows(query, rrf_k=RRF_K, **LIMITS, **asked.parameters)
        ranked = rank_rows(rows)
        seeds = tuple(str(name) for name in ranked[0][0].seeds) if ranked else ()
        if strategy != "hybrid" and not seeds:
            notes.append("no entity was found to start from; vectors and words alone answer")
        named = frozenset(span.folded for span in asked.spans)
        similarity = asked.vectors.similarity if asked.vectors else ""
        return GraphAnswer(
            question=question,
            strategy=strategy,
            hits=tuple(make_hit(*found, named, similarity) for found in ranked[:limit]),
            seeds=seeds,
            notes=tuple(notes),
        )

    def _query(self, asked: _Asked, strategy: str, max_hops: int, notes: list[str]) -> str:
        patterns = make_patterns(self._mapping, self._names, asked.vectors)
        vectors, words = asked.vectors is not None, asked.words is not None
        if strategy == "hybrid":
            return hybrid_query(patterns, vectors=vectors, words=words)
        if not patterns.mention_types:
            raise InputError(
                f"strategy {strategy!r} needs entities: add [entities] and [mentions] to the"
                " mapping, or ask with the strategy 'hybrid'"
            )
        if strategy == "multi_hop" and not patterns.relations:
            notes.append("the mapping names no relations between entities; none were followed")
        return graph_query(
            patterns,
            hops=max_hops if strategy == "multi_hop" else 0,
            vectors=vectors,
            words=words,
            entity_index=asked.entity_index is not None,
        )

    def _prepare(self, question: str, notes: list[str]) -> _Asked:
        passages, entities = self._mapping.passages, self._mapping.entities
        text = lucene_words(question)
        found = spans(question)
        words = self._index(passages.fulltext_index, "fulltext", notes) if text else None
        vectors = self._index(passages.vector_index, "vector", notes)
        vector = self._embed(question, vectors, notes) if vectors else None
        if words is None and vector is None:
            raise InputError("; ".join(["the question cannot be asked of this graph", *notes]))
        by_name = entities.fulltext_index if entities else None
        entity_index = self._index(by_name, "fulltext", notes) if by_name and found else None
        return _Asked(
            vectors=None if vector is None else vectors,
            words=words,
            entity_index=entity_index,
            spans=found,
            parameters={
                "vector": vector,
                "vector_index": passages.vector_index,
                "words": text,
                "fulltext_index": passages.fulltext_index,
                "spans": [span.as_parameter() for span in found],
                "phrases": lucene_phrases(span.text for span in found),
                "entity_index": by_name,
            },
        )

    def _index(self, name: str | None, kind: IndexKind, notes: list[str]) -> IndexInfo | None:
        """An index that can be asked; None, and a note, where there is none."""
        index = self._names.index(name, kind)
        if name is None:
            notes.append(f"the mapping names no {kind} index of the passages")
        elif index is None:
            others = shown_names([i.name for i in self._names.indexes if i.kind == kind])
            notes.append(f"the database has no {kind} index {name!r}; it has {others}")
        elif not index.online:
            notes.append(f"the {kind} index {name!r} is not online; it was left out")
        return index if index is not None and index.online else None

    def _embed(self, question: str, index: IndexInfo, notes: list[str]) -> list[float] | None:
        """The question's vector; None, and a note, where the index holds those of another model."""
        try:
            dimension = self._embedder.dimension
            if index.dimension in (None, dimension):
                return [float(value) for value in self._embedder.embed_query(question)]
            notes.append(
                f"vectors were left out: the index {index.name!r} has {index.dimension} dimensions,"
                f" the embedder {self._embedder.name!r} {dimension}; set embed.model to the model"
                " that the graph's vectors were made with"
            )
        except ModelError as error:
            notes.append(f"vectors were left out: {error}")
        return None


def _check(strategy: str, limit: int, max_hops: int) -> None:
    if strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise InputError(f"unknown strategy {strategy!r}; expected one of {known}")
    if limit < 1:
        raise InputError(f"limit {limit!r} cannot be; expected at least 1")
    if not 1 <= max_hops <= MAX_HOPS:
        raise InputError(f"max_hops {max_hops!r} cannot be; expected 1 to {MAX_HOPS}")
