"""LangChain: a retriever, a vector store, and graph documents in and out.

from clew.integrations.langchain import ClewRetriever

retriever = ClewRetriever(store="notes.clew", k=4)
documents = retriever.invoke("Who taught the maker of the tower's clock?")
"""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import clew

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.load.serializable import Serializable
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance
    from pydantic import Field, field_validator
except ModuleNotFoundError as error:
    raise clew.errors.MissingExtraError("clew.integrations.langchain", "langchain") from error

if TYPE_CHECKING:
    from clew import Clew, Hit

__all__ = [
    "ClewRetriever",
    "ClewVectorStore",
    "GraphDocument",
    "Node",
    "Relationship",
    "add_graph_documents",
    "clew_embedder",
    "graph_documents",
]


class ClewRetriever(BaseRetriever):
    """Finds the passages that answer a question, and says how it came to each.

    The metadata of a document are those of Clew's, and beside them `source`, `title`, `score`,
    `confidence` (0 to 1, or None) and `path`: the entities and sentences that led to it, a line
    each.

    Args:
        store: An open store, or the path of one, which is opened; `retriever.store.close()` closes
            it.
        k: Passages, at most.
        strategy: How they are found; None: Clew chooses.
        where: Filters on metadata; see docs/filters.md.

    Raises:
        ClewError: As `clew.open` and `Clew.search` do.

    Example:
        >>> retriever = ClewRetriever(store="notes.clew", k=3, where="year < 1900")
        >>> _ = retriever.store.add("Ada Morn built the clock.", metadata={"year": 1820})
        >>> [found.page_content for found in retriever.invoke("Who built the clock?")]
        ['Ada Morn built the clock.']
    """

    store: Any = Field(exclude=True)
    k: int = 4
    strategy: str | None = None
    where: Any = ()

    @field_validator("store", mode="after")
    @classmethod
    def _opened(cls, store: Clew | str | Path) -> Clew:
        return clew.open(store) if isinstance(store, str | Path) else store

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        strategy: str | None = None,
        where: object = None,
    ) -> list[Document]:
        found = self.store.search(
            query,
            limit=self.k if k is None else k,
            strategy=strategy or self.strategy,
            where=self.where if where is None else where,
        )
        return [_passage(hit) for hit in found]


def _passage(hit: Hit) -> Document:
    steps = [f"{step.entity}: {step.sentence} ({step.document})" for step in hit.path]
    told = {
        "source": hit.chunk.source,
        "title": hit.chunk.title,
        "score": hit.score,
        "confidence": hit.confidence,
        "path": "\n".join(steps),
    }
    return Document(
        id=hit.chunk.public_id, page_content=hit.chunk.text, metadata={**hit.chunk.metadata, **told}
    )


def clew_embedder(embeddings: Embeddings) -> clew.FunctionEmbedder:
    """Make an embedder for `clew.open` of LangChain's embeddings.

    Args:
        embeddings: What embeds documents and questions. A store remembers it by its class and
            model, and takes vectors of no other.

    Returns:
        The embedder.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> clew_embedder(DeterministicFakeEmbedding(size=6)).name
        'langchain:DeterministicFakeEmbedding'
    """
    model = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", None)
    return clew.FunctionEmbedder(
        lambda texts: embeddings.embed_documents(list(texts)),
        query=lambda texts: [embeddings.embed_query(text) for text in texts],
        name=":".join(filter(None, ("langchain", type(embeddings).__name__, model))),
    )


class ClewVectorStore(VectorStore):
    """A vector store that also knows words and entities.

    Documents come back whole, under ids of one's own. By default the nearest are found by their
    vectors alone; `strategy="auto"`, here or in a search, follows entities, too. In filters, a name
    of metadata that Clew has for itself takes `meta.` in front: `meta.source = "notes.txt"`.

    Args:
        store: An open store, or the path of one, which is opened.
        embedding: What embeds documents and questions, where `store` is a path. None: Clew's own
            model.
        strategy: How documents are found where a search does not say.
        options: Those of `clew.open`, such as `namespace`, where `store` is a path.

    Raises:
        ClewError: As `clew.open` does; InputError where an embedding comes with an open store,
            which has its own.

    Example:
        >>> store = ClewVectorStore("notes.clew")
        >>> store.add_texts(["Ada built the clock."], [{"year": 1820}], ids=["a"])
        ['a']
        >>> [found.id for found in store.similarity_search("clock", filter="year = 1820")]
        ['a']
        >>> store.get_by_ids(["a"])[0].page_content, store.delete(["a"]), store.get_by_ids(["a"])
        ('Ada built the clock.', True, [])
    """

    def __init__(
        self,
        store: Clew | str | Path,
        embedding: Embeddings | None = None,
        *,
        strategy: str = "vector",
        **options: Any,  # noqa: ANN401 - those of `clew.open`
    ) -> None:
        self._embedding, self._strategy = embedding, strategy
        if isinstance(store, str | Path):
            if embedding is not None:
                options["embedder"] = clew_embedder(embedding)
            self.store = clew.open(store, **options)
        elif embedding is not None or options:
            raise clew.errors.InputError(
                "the store is open and has its own embedder; give its path with the embedding, or"
                " clew.open(path, embedder=clew_embedder(embedding))"
            )
        else:
            self.store = store

    @property
    def embeddings(self) -> Embeddings | None:
        """What was given as `embedding`."""
        return self._embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        store: Clew | str | Path = ".clew",
        **options: Any,  # noqa: ANN401 - those of the class
    ) -> Self:
        """Make a vector store of texts.

        Args:
            texts: One for each document.
            embedding: As for the class.
            metadatas: Those of each document.
            ids: Those of each document; without them, they are made.
            store: As for the class.
            options: Those of the class.

        Returns:
            The vector store.

        Raises:
            ClewError: As the class and `add_documents` do.
        """
        made = cls(store, embedding, **options)
        made.add_texts(texts, metadatas, ids=ids)
        return made

    def add_documents(
        self,
        documents: list[Document],
        ids: Sequence[str | None] | None = None,
        **options: Any,  # noqa: ANN401 - of the base class; there are none
    ) -> list[str]:
        """Add documents in place of those with the same ids.

        Args:
            documents: Each with a text; one that is blank cannot be found, and is refused.
            ids: In place of the documents' own; where there is none, one is made.
            options: None has an effect.

        Returns:
            The ids.

        Raises:
            InputError: A text is blank, or there are more or fewer ids than documents.
        """
        if ids is not None and len(ids) != len(documents):
            raise clew.errors.InputError(
                f"{len(ids)} ids were given for {len(documents)} documents"
            )
        named = [
            given or one.id or str(uuid.uuid4())
            for given, one in zip(ids or [None] * len(documents), documents, strict=True)
        ]
        blank = [
            name for name, one in zip(named, documents, strict=True) if not one.page_content.strip()
        ]
        if blank:
            raise clew.errors.InputError(f"the documents {blank} are blank; nothing was added")
        self.store.add_documents(
            clew.Document(source=name, text=one.page_content, metadata=one.metadata)
            for name, one in zip(named, documents, strict=True)
        )
        return named

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Read documents by id.

        Args:
            ids: Unknown ones are left out.

        Returns:
            The documents, in the order of their ids.
        """
        known = {one.source: one for one in self._infos(ids)}
        return [
            self._document(one.id, one.source, one.metadata)
            for one in map(known.get, dict.fromkeys(ids))
            if one is not None
        ]

    def delete(
        self,
        ids: Sequence[str] | None = None,
        **options: Any,  # noqa: ANN401 - of the base class; there are none
    ) -> bool:
        """Delete documents.

        Args:
            ids: Unknown ones are left out. None: all documents of the store.
            options: None has an effect.

        Returns:
            True.
        """
        found = self.store.list() if ids is None else self._infos(ids)
        self.store.delete([one.id for one in found])
        return True

    def _infos(self, ids: Sequence[str]) -> list[Any]:
        return (
            self.store.list({"field": "source", "operator": "in", "value": list(ids)})
            if ids
            else []
        )

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        filter: object = None,  # LangChain's word
        **options: Any,  # noqa: ANN401 - those of `Clew.search`
    ) -> list[Document]:
        """Find the documents that are nearest to a question.

        Args:
            query: The question.
            k: Documents, at most.
            filter: Filters on metadata, as text or data; see docs/filters.md.
            options: Those of `Clew.search`, such as `strategy`.

        Returns:
            The documents, best first.

        Raises:
            ClewError: As `Clew.search` does.
        """
        return [one for one, _ in self.similarity_search_with_score(query, k, filter, **options)]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: object = None,  # LangChain's word
        **options: Any,  # noqa: ANN401 - those of `Clew.search`
    ) -> list[tuple[Document, float]]:
        """Find the documents that are nearest to a question, each with its score.

        Args and errors: as `similarity_search`.

        Returns:
            The documents, best first. A score is the cosine of the vectors, unless the strategy is
            another one: then it compares within one result alone.
        """
        options.setdefault("strategy", self._strategy)
        return self._found(k, filter, question=query, **options)

    def similarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        filter: object = None,  # LangChain's word
        **options: Any,  # noqa: ANN401 - those of `Clew.search`
    ) -> list[Document]:
        """Find the documents whose vectors are nearest to one that is given.

        Args, returns and errors: as `similarity_search`.
        """
        return [one for one, _ in self._found(k, filter, vector=embedding, **options)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **options: Any,  # noqa: ANN401 - those of `similarity_search`
    ) -> list[Document]:
        """Find documents that are near to a question and far from each other.

        Args:
            query: The question.
            k: Documents, at most.
            fetch_k: Nearest documents among which they are chosen.
            lambda_mult: 0: as different as can be, to 1: as near as can be.
            options: Those of `similarity_search`.

        Returns:
            The documents.

        Raises:
            ClewError: As `Clew.search` does.
        """
        vector = (self._embedding or self.store.state.embedder).embed_query(query)
        return self.max_marginal_relevance_search_by_vector(
            list(vector), k, fetch_k, lambda_mult, question=query, **options
        )

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **options: Any,  # noqa: ANN401 - those of `similarity_search`
    ) -> list[Document]:
        """Find documents that are near to a vector and far from each other.

        Args, returns and errors: as `max_marginal_relevance_search`.
        """
        options = {"filter": None, "strategy": self._strategy, **options}
        found = [one for one, _ in self._found(fetch_k, vector=embedding, **options)]
        vectors = self.store.vectors([str(one.id) for one in found])
        chosen = maximal_marginal_relevance(
            np.asarray(embedding), [list(of_one[0]) for of_one in vectors], lambda_mult, k
        )
        return [found[i] for i in chosen]

    def _found(
        self,
        k: int,
        filter: Any,  # noqa: ANN401 - what `Clew.search` takes as `where`
        **options: Any,  # noqa: ANN401 - those of `Clew.search`
    ) -> list[tuple[Document, float]]:
        options = {"limit": k, "per_document": 1, "where": filter or (), **options}
        return [
            (self._document(chunk.document_id, chunk.source, chunk.metadata), hit.score)
            for hit in self.store.search(**options)
            for chunk in (hit.chunk,)
        ]

    def _document(self, name: str, source: str, metadata: Mapping[str, Any]) -> Document:
        return Document(id=source, page_content=self.store.text(name), metadata=dict(metadata))

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        """From a cosine to 0 to 1; what other strategies give is within it, or cut to it."""
        return lambda score: min(1.0, max(0.0, score))


# Graphs, in the shape that LangChain's graph transformers give and its graph stores take.


class Node(Serializable):
    """A node of a graph: an entity.

    Example:
        >>> Node(id="Ada Morn", type="Person").id
        'Ada Morn'
    """

    id: str | int
    type: str = "Node"
    properties: dict[str, Any] = Field(default_factory=dict)


class Relationship(Serializable):
    """A relation between two nodes.

    Example:
        >>> Relationship(source=Node(id="Ada"), target=Node(id="Piet"), type="KNOWS").type
        'KNOWS'
    """

    source: Node
    target: Node
    type: str
    properties: dict[str, Any] = Field(default_factory=dict)


class GraphDocument(Serializable):
    """What one document says, as a graph.

    Example:
        >>> GraphDocument(nodes=[Node(id="Ada Morn")], relationships=[]).nodes[0].type
        'Node'
    """

    nodes: list[Node]
    relationships: list[Relationship]
    source: Document | None = None


def add_graph_documents(store: Clew, documents: Iterable[Any]) -> None:
    """Add graphs to a store, and the documents that they were read from.

    Args:
        store: An open store.
        documents: Graph documents of any package: they have `nodes` (`id`, `type`, `properties`),
            `relationships` (`source`, `target`, `type`, `properties`) and a `source`, a document
            that is added as well, under its id or one made of its text, or None.

    Raises:
        InputError: A node has a name without letters and digits, or a source is blank.

    Example:
        >>> store = clew.open("notes.clew")
        >>> ada, clock = Node(id="Ada Morn", type="Person"), Node(id="Great Clock")
        >>> made = Relationship(source=ada, target=clock, type="BUILT")
        >>> add_graph_documents(store, [GraphDocument(nodes=[ada, clock], relationships=[made])])
        >>> [fact.relation for fact in store.graph.relations("Great Clock")]
        ['built']
    """
    given = list(documents)
    sources = [one.source for one in given if one.source is not None]
    # The same text again is the same document.
    ids = [one.id or str(uuid.uuid5(uuid.NAMESPACE_OID, one.page_content)) for one in sources]
    ClewVectorStore(store).add_documents(sources, ids)
    ends = [end for one in given for tie in one.relationships for end in (tie.source, tie.target)]
    nodes = {str(node.id): node for node in (*ends, *(n for one in given for n in one.nodes))}
    made = store.entities.memory.create(
        [
            clew.NewEntity(name=name, entity_type=_word(node.type), metadata=node.properties)
            for name, node in nodes.items()
        ]
    )
    known = {name: one.entity_id for name, one in zip(nodes, made, strict=True)}
    for tie in (tie for one in given for tie in one.relationships):
        store.entities.add_relation(
            known[str(tie.source.id)],
            known[str(tie.target.id)],
            _word(tie.type),
            context=tie.properties,
        )


def _word(name: str) -> str:
    """A type as Clew writes it: `LIVES_IN` and `lives in` are `lives_in`."""
    return re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).strip("_").lower()


def graph_documents(store: Clew) -> list[GraphDocument]:
    """Return what a store's documents state, as a graph each.

    Args:
        store: An open store.

    Returns:
        A graph document for each document that states a relation, and one without a source for
        what was added by hand, with the properties that were given. A relation that several
        documents state is in one of them, with the sentence as its `evidence` and the number of
        `statements`.

    Example:
        >>> store = clew.open("notes.clew")
        >>> _ = store.add("Ada Morn came from Lisse.", source="ada")
        >>> [(one.source.id, one.relationships[0].type) for one in graph_documents(store)]
        [('ada', 'came_from')]
    """
    entities = list(store.entities)
    cards = store.list({"field": "source", "operator": "~", "value": "entity:*"})
    told = {one.source: dict(one.metadata) for one in cards}
    nodes = {
        one.name: Node(
            id=one.name, type=one.entity_type, properties=told.get(f"entity:{one.key}", {})
        )
        for one in entities
    }
    ids = {one.name: one.id for one in entities}
    found: dict[str, list[Relationship]] = {}
    for entity in entities:
        edges = store.graph.edges([entity], limit=sys.maxsize)
        given = {(one.relation_type, one.to_entity_id): one.context for one in edges if one.context}
        for fact in store.graph.relations(entity, limit=sys.maxsize):
            if fact.head != entity.name and fact.head in nodes:
                continue  # it is one of that entity's
            tie = Relationship(
                source=nodes.get(fact.head) or Node(id=fact.head),
                target=nodes.get(fact.tail) or Node(id=fact.tail),
                type=fact.relation,
                properties={
                    **given.get((fact.relation, ids.get(fact.tail, 0)), {}),
                    "evidence": fact.evidence,
                    "statements": fact.statements,
                },
            )
            found.setdefault(fact.provenance.source if fact.provenance else "", []).append(tie)
    sources = {one.id: one for one in ClewVectorStore(store).get_by_ids(list(found))}
    return [
        GraphDocument(
            nodes=list({end.id: end for tie in ties for end in (tie.source, tie.target)}.values()),
            relationships=ties,
            source=sources.get(source),
        )
        for source, ties in found.items()
    ]
