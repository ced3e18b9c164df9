"""Haystack: a document store, and a component that retrieves from it.

from haystack import Document
from clew.integrations.haystack import ClewDocumentStore, ClewRetriever

documents = ClewDocumentStore("notes.clew")
documents.write_documents([Document(content="Ada Marsh built the clock of Ostrava.")])
ClewRetriever(documents).run("Who built the clock?")["documents"]
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

import clew

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.document_stores.errors import DocumentStoreError, DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy, FilterPolicy, apply_filter_policy
    from haystack.errors import FilterError
except ImportError as error:
    raise clew.errors.MissingExtraError("clew.integrations.haystack", "haystack") from error

__all__ = ["ClewDocumentStore", "ClewRetriever"]

Filters = dict[str, Any]
P = ParamSpec("P")
R = TypeVar("R")

_OWN = ("blob", "sparse_embedding")
"""What a document may hold beside a text, its metadata and its embedding."""
_KEPT = "_haystack"
"""Where it is kept among the metadata."""
_KINDS = {bool: "boolean", int: "int", float: "float"}
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].*)?")


def _awaited(method: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return the method for programs that await: it runs in a thread."""

    @wraps(method)
    async def awaited(*args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, *args, **kwargs)

    return awaited


class ClewDocumentStore:
    """A document store of Haystack whose documents are tied together by what they name.

    A document needs a text. Where it brings its embedding, that is searched; set `embedding_dim`
    then, so that no model is loaded for those without one.

    Args:
        store: The folder, made where there is none, or a store that `clew.open` opened.
        namespace: The tenant, user or project within it; not of a store that is open.
        embedding_dim: Length of the embeddings that documents bring; None: the store's own model
            makes them.
        return_embedding: Whether documents come back with their embeddings, scaled to length 1.

    Example:
        >>> from haystack import Document
        >>> documents = ClewDocumentStore("notes.clew", embedding_dim=2)
        >>> documents.write_documents([Document(content="A clock.", embedding=[0.1, 0.9])])
        1
    """

    def __init__(
        self,
        store: str | Path | clew.Clew = ".clew",
        *,
        namespace: str = "default",
        embedding_dim: int | None = None,
        return_embedding: bool = False,
    ) -> None:
        settings = store.settings if isinstance(store, clew.Clew) else None
        self._place = str(settings.store if settings else store)
        self._namespace = settings.namespace if settings else namespace
        self._given, self._dimension, self._returns = store, embedding_dim, return_embedding

    @cached_property
    def client(self) -> clew.Clew:
        """The store, opened when it is first asked for."""
        if isinstance(self._given, clew.Clew):
            return self._given
        embedder = clew.OwnVectors(self._dimension) if self._dimension else None
        return clew.open(self._given, namespace=self._namespace, embedder=embedder)

    def close(self) -> None:
        """Let go of files."""
        self.client.close()

    def to_dict(self) -> dict[str, Any]:
        """What the store is opened by again; models that a program gave are not in it."""
        return default_to_dict(
            self,
            store=self._place,
            namespace=self._namespace,
            embedding_dim=self._dimension,
            return_embedding=self._returns,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The store of what `to_dict` told."""
        return default_from_dict(cls, data)

    # --- documents

    def count_documents(self) -> int:
        """How many documents there are."""
        return self.client.count()

    def filter_documents(self, filters: Filters | None = None) -> list[Document]:
        """The documents that meet the filters, by id; raises `FilterError`."""
        return self.read([(one.source, one.metadata) for one in self._listed(filters)])

    def read(self, found: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Document]:
        """The documents of these ids, with their metadata as Clew holds them."""
        ids = [id_ for id_, _ in found]
        vectors: Sequence[Any] = self.client.vectors(ids) if self._returns else [()] * len(ids)
        return [
            Document.from_dict(
                {
                    **metadata.get(_KEPT, {}),
                    "id": id_,
                    "content": self.client.text(id_),
                    "meta": {name: v for name, v in metadata.items() if name != _KEPT},
                    "embedding": rows[0].tolist() if len(rows) and rows[0].any() else None,
                }
            )
            for (id_, metadata), rows in zip(found, vectors, strict=True)
        ]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Index documents; how many were.

        Without a policy, as with `FAIL`, nothing is written where an id is there already. Raises
        `ValueError` for what are no documents, `DuplicateDocumentError`, and, once the others
        are written, `DocumentStoreError` for documents without a text or beyond a limit.
        """
        if not isinstance(documents, list) or not all(isinstance(d, Document) for d in documents):
            raise ValueError("write_documents takes a list of Haystack's documents")
        given = {one.id: one for one in documents}
        if policy != DuplicatePolicy.OVERWRITE:
            there = {id_ for id_ in given if id_ in self.client}
            if policy != DuplicatePolicy.SKIP and (there or len(given) < len(documents)):
                raise DuplicateDocumentError(f"there are documents of these ids: {sorted(there)}")
            given = {id_: one for id_, one in given.items() if id_ not in there}
        skipped = self.client.add_documents(map(_clew_document, given.values())).skipped
        if skipped:
            raise DocumentStoreError(f"not kept: {[(one.source, one.reason) for one in skipped]}")
        return len(documents) if policy == DuplicatePolicy.OVERWRITE else len(given)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete the documents of these ids; those that are not there are left out."""
        self.client.delete([id_ for id_ in dict.fromkeys(document_ids) if id_ in self.client])

    def delete_all_documents(self) -> None:
        """Delete all documents."""
        self.client.delete([one.id for one in self.client])

    def delete_by_filter(self, filters: Filters) -> int:
        """Delete the documents that meet the filters; how many; raises `FilterError`."""
        return self.client.delete([one.id for one in self._listed(filters)])

    def update_by_filter(self, filters: Filters, meta: dict[str, Any]) -> int:
        """Lay metadata over those of the documents that meet the filters; how many they are."""
        return len([self.client.update(d.id, metadata=meta) for d in self._listed(filters)])

    # --- metadata

    def count_documents_by_filter(self, filters: Filters) -> int:
        """How many documents meet the filters."""
        return len(self._listed(filters))

    def count_unique_metadata_by_filter(
        self, filters: Filters, metadata_fields: list[str]
    ) -> dict[str, int]:
        """How many values each field has among the documents that meet the filters."""
        names = (name.removeprefix("meta.") for name in metadata_fields)
        return {name: len(self._values(name, filters)) for name in names}

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """The type of each field: keyword, int, float or boolean."""
        metas = [one.metadata.items() for one in self.client]
        fields = {n: v for meta in metas for n, v in meta if n != _KEPT and v is not None}
        return {name: {"type": _KINDS.get(type(v), "keyword")} for name, v in fields.items()}

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """The least and the greatest number of a field, else text, as `min` and `max`; or None."""
        values = self._values(metadata_field).values()
        numbers: list[Any] = [one for one in values if isinstance(one, (int, float))]
        known = numbers or [one for one in values if isinstance(one, str)]
        return {"min": min(known, default=None), "max": max(known, default=None)}

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: Filters | None = None,
    ) -> tuple[list[Any], int]:
        """A page of the values of a field that hold a term, in order; how many there are."""
        values = self._values(metadata_field, filters).values()
        found = [v for v in values if (search_term or "").casefold() in str(v).casefold()]
        found.sort(key=lambda value: (str(value), type(value).__name__))
        return found[from_ : from_ + size], len(found)

    count_documents_async = _awaited(count_documents)
    filter_documents_async = _awaited(filter_documents)
    write_documents_async = _awaited(write_documents)
    delete_documents_async = _awaited(delete_documents)
    delete_all_documents_async = _awaited(delete_all_documents)
    delete_by_filter_async = _awaited(delete_by_filter)
    update_by_filter_async = _awaited(update_by_filter)
    count_documents_by_filter_async = _awaited(count_documents_by_filter)
    count_unique_metadata_by_filter_async = _awaited(count_unique_metadata_by_filter)
    get_metadata_fields_info_async = _awaited(get_metadata_fields_info)
    get_metadata_field_min_max_async = _awaited(get_metadata_field_min_max)
    get_metadata_field_unique_values_async = _awaited(get_metadata_field_unique_values)

    def _listed(self, filters: Filters | None) -> list[Any]:
        try:
            return self.client.list(_where(filters))
        except clew.errors.InputError as error:
            raise FilterError(str(error)) from error

    def _values(self, name: str, filters: Filters | None = None) -> dict[tuple[str, str], Any]:
        """The values of a field, each once, by its type and how it is written."""
        values = [d.metadata.get(name.removeprefix("meta.")) for d in self._listed(filters)]
        return {
            (type(v).__name__, json.dumps(v, sort_keys=True)): v for v in values if v is not None
        }


@component
class ClewRetriever:
    """Retrieves the documents that answer a question, by words, meaning and what ties them.

    Each comes whole, once, with the score of its best passage; `meta["clew"]` tells where that
    passage stands in it, how sure Clew is of it, and the path that led to it.

    Args:
        document_store: Where to look.
        filters: Which documents to look at.
        top_k: Documents, at most.
        filter_policy: Whether filters at run time replace those given here, or are met, too.

    Example:
        >>> retriever = ClewRetriever(ClewDocumentStore("notes.clew"), top_k=3)
        >>> retriever.run("Who built the clock?")["documents"]
        []
    """

    def __init__(
        self,
        document_store: ClewDocumentStore,
        filters: Filters | None = None,
        top_k: int = 10,
        filter_policy: FilterPolicy | str = FilterPolicy.REPLACE,
    ) -> None:
        self.document_store, self.filters, self.top_k = document_store, filters, top_k
        self.filter_policy = FilterPolicy(filter_policy)

    def to_dict(self) -> dict[str, Any]:
        """What the component is made by again."""
        return default_to_dict(
            self,
            document_store=self.document_store,
            filters=self.filters,
            top_k=self.top_k,
            filter_policy=self.filter_policy.value,
        )

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str = "",
        query_embedding: list[float] | None = None,
        filters: Filters | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """Answer a question, by its embedding, too, where that is brought.

        An embedding alone finds the nearest documents. Raises `clew.errors.InputError` for a filter
        that cannot be read.
        """
        best = self.document_store.client.search(
            query,
            vector=query_embedding,
            limit=self.top_k if top_k is None else top_k,
            where=_where(apply_filter_policy(self.filter_policy, self.filters, filters)),
            per_document=1,
            context=False,
        ).hits
        found = self.document_store.read([(h.chunk.source, h.chunk.metadata) for h in best])
        return {"documents": [_scored(*one) for one in zip(found, best, strict=True)]}

    run_async = _awaited(run)


# Documents and filters, as either side writes them.


def _clew_document(given: Document) -> clew.Document:
    rest = replace(given, embedding=None).to_dict(flatten=False)
    own = {name: rest[name] for name in _OWN if rest[name]}
    return clew.Document(
        source=given.id,
        text=given.content or "",
        title=str(given.meta.get("title") or ""),
        metadata={**given.meta, **({_KEPT: own} if own else {})},
        vector=None if given.embedding is None else tuple(given.embedding),
    )


def _scored(document: Document, hit: clew.Hit) -> Document:
    told = {
        "passage": [hit.chunk.start, hit.chunk.end],
        "confidence": hit.confidence,
        "path": [asdict(step) for step in hit.path],
    }
    return replace(document, score=hit.score, meta={**document.meta, "clew": told})


def _where(filters: Filters | None) -> dict[str, Any]:
    """The filters as Clew reads them; it raises `InputError` for what neither of both can read.

    In Haystack `!=` and `not in` are met where there is no value, and no value is less or greater.
    """
    if not filters or "field" not in filters:
        conditions = [_where(one) for one in (filters or {}).get("conditions") or ()]
        return {**(filters or {}), **({"conditions": conditions} if conditions else {})}
    asked = {**filters, "field": "source"} if filters["field"] == "id" else filters
    sign, value = filters.get("operator"), filters.get("value")
    if sign in ("!=", "not in"):
        same = {**asked, "operator": "==" if sign == "!=" else "in"}
        return {"operator": "NOT", "conditions": [_where(same)]}
    if isinstance(value, list) != (sign == "in"):
        raise FilterError(f"in and not in take a list, and they alone; not so {sign} {value!r}")
    if isinstance(value, list) and None in value:
        given = {**asked, "value": [one for one in value if one is not None]}
        missing = {**asked, "operator": "is null", "value": None}
        return {"operator": "OR", "conditions": [given, missing]}
    if sign in (">", ">=", "<", "<=") and value is None:
        return {**asked, "operator": "in", "value": []}
    if sign in (">", ">=", "<", "<=") and isinstance(value, str) and not _DATE.fullmatch(value):
        raise FilterError(f"{sign} compares with a number or an ISO date; {value!r} is none")
    return asked
