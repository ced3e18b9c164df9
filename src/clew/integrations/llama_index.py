"""LlamaIndex: a retriever, a vector store and a property graph store over a store of Clew.

from clew.integrations.llama_index import ClewRetriever, ClewVectorStore, open_store

store = open_store("notes.clew", embed_model)
index = VectorStoreIndex.from_vector_store(ClewVectorStore(store), embed_model)
RetrieverQueryEngine.from_args(ClewRetriever(store)).query("Who built the clock?")
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import clew

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
    from llama_index.core.vector_stores import types as vector
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
except ImportError as error:
    raise clew.errors.MissingExtraError("clew.integrations.llama_index", "llama-index") from error

__all__ = ["ClewRetriever", "ClewVectorStore", "open_store", "read_filters"]

_NODE = "_node_content"
"""Where the metadata hold the rest of a node, as LlamaIndex writes it."""
_STRATEGIES = {
    vector.VectorStoreQueryMode.DEFAULT: "vector",
    vector.VectorStoreQueryMode.SPARSE: "keyword",
    vector.VectorStoreQueryMode.TEXT_SEARCH: "keyword",
    vector.VectorStoreQueryMode.HYBRID: "hybrid",
    vector.VectorStoreQueryMode.SEMANTIC_HYBRID: "auto",
}


def open_store(
    store: str | Path,
    embed_model: BaseEmbedding,
    **options: Any,  # noqa: ANN401 - those of `clew.open`
) -> clew.Clew:
    """Open a store whose embeddings an embedding model of LlamaIndex makes.

    Args:
        store: The folder, made where there is none.
        embed_model: The same model as that of the indexes over this store.
        options: What else `clew.open` takes, such as `namespace`.

    Raises:
        StoreMismatchError: When the store is searched, where another model made its embeddings.

    Example:
        >>> from llama_index.core import MockEmbedding
        >>> open_store("notes.clew", MockEmbedding(8)).count()
        0
    """
    embedder = clew.FunctionEmbedder(
        embed_model.get_text_embedding_batch,
        query=lambda texts: [embed_model.get_query_embedding(text) for text in texts],
        name=f"{embed_model.class_name()} {embed_model.model_name}",
    )
    return clew.open(store, embedder=embedder, **options)


class ClewRetriever(BaseRetriever):
    """Retrieves what answers a question: nodes of a `ClewVectorStore`, and passages of other texts.

    `metadata["clew"]` tells where the passage stands in its text, how sure Clew is of it, and the
    path that led to it; language models are not shown it.

    Args:
        store: A store that is open.
        similarity_top_k: Nodes, at most.
        filters: Which texts to look at.
        options: What else `clew.Clew.search` takes, such as `strategy` or `since`.

    Example:
        >>> import clew
        >>> with clew.open("notes.clew") as store:
        ...     ClewRetriever(store, strategy="keyword").retrieve("Who built the clock?")
        []
    """

    def __init__(
        self,
        store: clew.Clew,
        *,
        similarity_top_k: int = 10,
        filters: vector.MetadataFilters | None = None,
        **options: Any,  # noqa: ANN401 - those of `search`
    ) -> None:
        self._store, self._limit, self._filters = store, similarity_top_k, filters
        self._options = options
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        asked = {
            "vector": query_bundle.embedding,
            "where": read_filters(self._filters),
            **self._options,
        }
        return _found(self._store, self._limit, query_bundle.query_str, **asked)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class ClewVectorStore(vector.BasePydanticVectorStore):
    """A vector store that keeps nodes with their texts, and ties them by what they name.

    Queries search by vectors, by words (`sparse`, `text_search`), by both (`hybrid`), or as Clew
    decides (`semantic_hybrid`).

    Args:
        store: A store that is open: `open_store` opens one with the index's embedding model.

    Example:
        >>> from llama_index.core import MockEmbedding
        >>> nodes = ClewVectorStore(open_store("notes.clew", MockEmbedding(8)))
        >>> nodes.get_nodes()
        []
    """

    stores_text: bool = True
    _store: clew.Clew = PrivateAttr()

    def __init__(self, store: clew.Clew) -> None:
        super().__init__(stores_text=True)
        self._store = store

    @property
    def client(self) -> clew.Clew:
        """The store."""
        return self._store

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:  # noqa: ANN401
        """Index nodes in place of those with the same ids; their ids.

        Once the others are written, raises `ValueError` for those without a text or beyond a limit.
        """
        skipped = self._store.add_documents(map(_document, nodes)).skipped
        if skipped:
            raise ValueError(f"not kept: {[(one.source, one.reason) for one in skipped]}")
        return [one.node_id for one in nodes]

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:  # noqa: ANN401
        """The same as `add`."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    def get_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: vector.MetadataFilters | None = None,
    ) -> list[BaseNode]:
        """The nodes of these ids that meet the filters; all of them where neither is given."""
        found = self._listed(node_ids, filters)
        return [_node(one.source, self._store.text(one.id), one.metadata) for one in found]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:  # noqa: ANN401
        """Delete the nodes of a document."""
        found = (d for d in self._store if d.metadata.get("ref_doc_id") == ref_doc_id)
        self._store.delete([one.id for one in found])

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: vector.MetadataFilters | None = None,
        **delete_kwargs: Any,  # noqa: ANN401
    ) -> None:
        """Delete the nodes of these ids that meet the filters; all of them without either."""
        self._store.delete([one.id for one in self._listed(node_ids, filters)])

    def clear(self) -> None:
        """Delete all nodes, and whatever else the store holds."""
        self._store.delete([one.id for one in self._store])

    def query(
        self,
        query: vector.VectorStoreQuery,
        **kwargs: Any,  # noqa: ANN401
    ) -> vector.VectorStoreQueryResult:
        """The nodes that answer best; raises `ValueError` for a mode that there is not here."""
        if query.mode not in _STRATEGIES:
            modes = ", ".join(mode.value for mode in _STRATEGIES)
            raise ValueError(f"mode {query.mode.value} cannot be; expected one of {modes}")
        limits = (("source", query.node_ids), ("meta.ref_doc_id", query.doc_ids))
        within = [_condition(name, "in", ids) for name, ids in limits if ids]
        strategy = _STRATEGIES[query.mode]
        is_weighed = strategy == "hybrid" and query.alpha is not None
        weights = {"fusion": "weighted", "alpha": query.alpha} if is_weighed else {}
        found = _found(
            self._store,
            query.similarity_top_k,
            "" if strategy == "vector" else query.query_str or "",
            vector=None if strategy == "keyword" else query.query_embedding,
            where=[*read_filters(query.filters), *within],
            strategy=strategy,
            per_document=1,
            **weights,
        )
        return vector.VectorStoreQueryResult(
            nodes=[one.node for one in found],
            similarities=[one.score or 0.0 for one in found],
            ids=[one.node.node_id for one in found],
        )

    async def aquery(
        self,
        query: vector.VectorStoreQuery,
        **kwargs: Any,  # noqa: ANN401
    ) -> vector.VectorStoreQueryResult:
        """The same as `query`."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    def _listed(
        self, node_ids: list[str] | None, filters: vector.MetadataFilters | None
    ) -> list[Any]:
        found = self._store.list(read_filters(filters))
        return found if node_ids is None else [one for one in found if one.source in {*node_ids}]


# Nodes and filters, as either side writes them.


def _document(node: BaseNode) -> clew.Document:
    return clew.Document(
        source=node.node_id,
        text=node.get_content(MetadataMode.NONE),
        title=str(node.metadata.get("title") or ""),
        metadata=node_to_metadata_dict(node, remove_text=True),
        vector=None if node.embedding is None else tuple(node.embedding),
    )


def _node(id_: str, text: str, metadata: Any) -> BaseNode:  # noqa: ANN401
    if _NODE in metadata:
        return metadata_dict_to_node(dict(metadata), text)
    return TextNode(id_=id_, text=text, metadata=dict(metadata))


def _found(store: clew.Clew, limit: int, question: str, **asked: Any) -> list[NodeWithScore]:  # noqa: ANN401
    """The nodes found, each once, and passages of texts that are no nodes."""
    hits = store.search(question, limit=limit, context=False, **asked).hits
    return [_scored(store, hit) for hit in hits]


def _scored(store: clew.Clew, hit: clew.Hit) -> NodeWithScore:
    chunk = hit.chunk
    is_node = _NODE in chunk.metadata
    text = store.text(chunk.source) if is_node else chunk.text
    node = _node(chunk.public_id, text, chunk.metadata)
    node.metadata["clew"] = {
        "source": chunk.source,
        "passage": [chunk.start, chunk.end],
        "confidence": hit.confidence,
        "path": [asdict(step) for step in hit.path],
    }
    node.excluded_llm_metadata_keys.append("clew")
    node.excluded_embed_metadata_keys.append("clew")
    return NodeWithScore(node=node, score=hit.score)


def read_filters(filters: vector.MetadataFilters | None) -> list[dict[str, Any]]:
    """Return filters as Clew's `where`, all of which must be met.

    In LlamaIndex `!=` and `nin` are met where there is no value, and `not` where no filter is met.

    Example:
        >>> from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
        >>> read_filters(MetadataFilters(filters=[MetadataFilter(key="year", value=1881)]))
        [{'field': 'meta.year', 'operator': '==', 'value': 1881}]
    """
    if filters is None or not filters.filters:
        return []
    read = [
        _joined("AND", read_filters(one))
        if isinstance(one, vector.MetadataFilters)
        else _compared(one)
        for one in filters.filters
    ]
    if filters.condition == vector.FilterCondition.OR:
        return [_joined("OR", read)]
    return [_not(_joined("OR", read))] if filters.condition == vector.FilterCondition.NOT else read


def _compared(given: vector.MetadataFilter) -> dict[str, Any]:
    name, sign, value = f"meta.{given.key}", given.operator.value, given.value
    several = value if isinstance(value, list) else [value]
    match sign:
        case "!=":
            return _not(_condition(name, "=", value))
        case "nin":
            return _not(_condition(name, "in", value))
        case "any" | "all":
            parts = [_condition(name, "contains", one) for one in several]
            return _joined("OR" if sign == "any" else "AND", parts)
        case "text_match" | "text_match_insensitive":
            return _condition(name, "contains", value)
        case "is_empty":
            return _not(_condition(name, "~", "?*"))
    return _condition(name, sign, value)


def _condition(name: str, sign: str, value: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"field": name, "operator": sign, "value": value}


def _joined(sign: str, conditions: list[dict[str, Any]]) -> dict[str, Any]:
    return {"operator": sign, "conditions": conditions}


def _not(condition: dict[str, Any]) -> dict[str, Any]:
    return _joined("NOT", [condition])
