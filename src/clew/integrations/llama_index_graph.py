"""LlamaIndex: a property graph store over a store of Clew.

from clew.integrations.llama_index import open_store
from clew.integrations.llama_index_graph import ClewPropertyGraphStore

graph = ClewPropertyGraphStore(open_store("notes.clew", embed_model))
index = PropertyGraphIndex.from_documents(documents, property_graph_store=graph)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import clew
from clew.integrations.llama_index import read_filters

try:
    from llama_index.core.graph_stores import types as graph
    from llama_index.core.vector_stores.types import VectorStoreQuery
except ImportError as error:
    feature = "clew.integrations.llama_index_graph"
    raise clew.errors.MissingExtraError(feature, "llama-index") from error

__all__ = ["ClewPropertyGraphStore"]

_LABEL = "_label"
"""Where the metadata of an entity or a text, and the context of a relation, hold the label."""
_MOST = 100_000
"""Relations that are looked at, at most: those of the greatest weight."""
_CARD, _TOLD = "entity:", "memory:"
"""How the sources of texts begin that say what an entity is, and what was told of it."""


class ClewPropertyGraphStore(graph.PropertyGraphStore):
    """A property graph store whose entities are those of Clew.

    Nodes with a text become documents, other nodes entities; Clew's own entities and relations,
    which it found in texts, are among the answers. Names are those of Clew: "ada marsh" is "Ada
    Marsh". Relations that start or end at a text are left out: nodes know their neighbours, and
    Clew knows which text names which entity.

    Args:
        store: A store that is open: `clew.integrations.llama_index.open_store` opens one with the
            index's embedding model, which `vector_query` needs.

    Example:
        >>> import clew
        >>> from llama_index.core.graph_stores import EntityNode
        >>> with clew.open("notes.clew") as store:
        ...     graph = ClewPropertyGraphStore(store)
        ...     graph.upsert_nodes([EntityNode(name="Ada Marsh", label="person")])
        ...     [node.name for node in graph.get(ids=["Ada Marsh"])]
        ['Ada Marsh']
    """

    supports_vector_queries = True

    def __init__(self, store: clew.Clew) -> None:
        self._store = store

    @property
    def client(self) -> clew.Clew:
        """The store."""
        return self._store

    def get(
        self, properties: dict[str, Any] | None = None, ids: list[str] | None = None
    ) -> list[graph.LabelledNode]:
        """The nodes of these ids that have one of the properties; all, where neither is given."""
        if ids is None:
            texts = [one for one in self._store if not one.source.startswith((_CARD, _TOLD))]
            entities = list(self._store.entities)
        else:
            texts = [self._store.named(id_) for id_ in dict.fromkeys(ids) if id_ in self._store]
            entities = list({e.id: e for e in self._store.entities.known(ids).values()}.values())
        nodes = [*map(self._chunk_node, texts), *map(self._entity_node, entities)]
        return [node for node in nodes if not properties or _has(properties, node)]

    def get_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[graph.Triplet]:
        """The triplets that meet all that is given; none, where nothing is."""
        found = self._found(entity_names, relation_names, properties, ids)
        return [triplet for _, triplet in found]

    def get_rel_map(
        self,
        graph_nodes: list[graph.LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: list[str] | None = None,
    ) -> list[graph.Triplet]:
        """The triplets around some nodes, the nearest first, at most `limit`."""
        near: dict[int, graph.Triplet] = {}
        ends = [node.id for node in graph_nodes]
        for _ in range(depth):
            found = {id_: one for id_, one in self._found(ids=ends) if id_ not in near}
            near |= found
            ends = list({node.id for start, _, end in found.values() for node in (start, end)})
        return [one for one in near.values() if one[1].id not in (ignore_rels or ())][:limit]

    def upsert_nodes(self, nodes: Sequence[graph.LabelledNode]) -> None:
        """Index nodes with a text, and write the others as entities, in place of the same ones.

        Raises `ValueError` for texts that are blank or beyond a limit, once the others are written.
        """
        texts = [_document(one) for one in nodes if isinstance(one, graph.ChunkNode)]
        skipped = self._store.add_documents(texts).skipped
        if skipped:
            raise ValueError(f"not kept: {[(one.source, one.reason) for one in skipped]}")
        entities = [one for one in nodes if isinstance(one, graph.EntityNode)]
        memory = self._store.entities.memory
        for node, made in zip(
            entities, memory.create([_entity(one) for one in entities]), strict=True
        ):
            if not made.is_new:
                given = _entity(node)
                memory.update_entity(
                    node.name, entity_type=given.entity_type, metadata=given.metadata
                )

    def upsert_relations(self, relations: list[graph.Relation]) -> None:
        """Write relations between entities, which are made where there are none of the names."""
        ends = dict.fromkeys(name for one in relations for name in (one.source_id, one.target_id))
        texts = {name for name in ends if name in self._store}
        wanted = [one for one in relations if not {one.source_id, one.target_id} & texts]
        names = [name for one in wanted for name in (one.source_id, one.target_id)]
        known = self._store.entities.known(names)
        missing = dict.fromkeys(name for name in names if name not in known)
        self.upsert_nodes([graph.EntityNode(name=name) for name in missing])
        known = self._store.entities.known(names)
        for one in wanted:
            self._store.entities.add_relation(
                known[one.source_id].id,
                known[one.target_id].id,
                _relation_type(one.label),
                context={**one.properties, _LABEL: one.label},
            )

    def delete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """Delete relations of these names, and nodes of these names, ids and properties.

        Entities that texts name go with the texts.
        """
        for id_, _ in self._found(relation_names=relation_names) if relation_names else ():
            self._store.graph.delete_relation(id_)
        nodes = self.get(ids=entity_names) if entity_names else []
        nodes += self.get(properties, ids) if properties or ids else []
        self._store.delete([node.id for node in nodes if isinstance(node, graph.ChunkNode)])
        names = [node.name for node in nodes if isinstance(node, graph.EntityNode)]
        self._store.entities.memory.delete_entities(names)

    def structured_query(self, query: str, param_map: dict[str, Any] | None = None) -> Any:  # noqa: ANN401
        """There is none: raises `NotImplementedError`."""
        raise NotImplementedError("Clew is asked by `vector_query`, `get_triplets` and its search")

    def vector_query(
        self,
        query: VectorStoreQuery,
        **kwargs: Any,  # noqa: ANN401
    ) -> tuple[list[graph.LabelledNode], list[float]]:
        """The entities that the passages name which answer best, and the scores of these.

        Without words, the passage nearest to the embedding stands for the question.
        """
        asked: dict[str, Any] = {
            "vector": query.query_embedding,
            "where": read_filters(query.filters),
        }
        nearest = [] if query.query_str else self._store.search(limit=1, **asked).hits
        hits = self._store.search(
            "".join(hit.chunk.text for hit in nearest) or query.query_str or "",
            strategy="graph",
            limit=query.similarity_top_k,
            context=False,
            **asked,
        ).hits
        scores = {name: hit.score for hit in reversed(hits) for name in hit.entities}
        known = self._store.entities.known(list(scores))
        best = sorted(known, key=lambda name: -scores[name])[: query.similarity_top_k]
        return [self._entity_node(known[name]) for name in best], [scores[name] for name in best]

    def _found(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[tuple[int, graph.Triplet]]:
        """The triplets that meet all that is given, each with the id of its relation."""
        asked = [names for names in (entity_names, ids) if names]
        if not (asked or relation_names or properties):
            return []
        entities = self._store.entities
        wanted = [entities.known(names).values() for names in asked]
        found: list[tuple[int, graph.Triplet]] = []
        around = list(wanted[0] if wanted else self._store.entities)
        edges = self._store.graph.edges(around, limit=_MOST)
        ends = {id_: None for one in edges for id_ in (one.from_entity_id, one.to_entity_id)}
        nodes_of = {id_: self._entity_node(e) for id_, e in entities.known(list(ends)).items()}
        for relation in edges:
            between = {relation.from_entity_id, relation.to_entity_id}
            if not all(between & {one.id for one in of} for of in wanted):
                continue
            context = dict(relation.context or {})
            label = context.pop(_LABEL, relation.relation_type)
            start, end = (nodes_of[id_] for id_ in (relation.from_entity_id, relation.to_entity_id))
            made = graph.Relation(
                label=label, source_id=start.id, target_id=end.id, properties=context
            )
            is_named = not relation_names or label in relation_names
            if is_named and (
                not properties or any(_has(properties, p) for p in (start, made, end))
            ):
                found.append((relation.id, (start, made, end)))
        return found

    def _entity_node(self, entity: clew.Entity) -> graph.EntityNode:
        card = f"{_CARD}{entity.key}"
        properties = dict(self._store.named(card).metadata) if card in self._store else {}
        label = properties.pop(_LABEL, entity.entity_type)
        return graph.EntityNode(name=entity.name, label=label, properties=properties)

    def _chunk_node(self, text: Any) -> graph.ChunkNode:  # noqa: ANN401 - a `DocumentInfo`
        properties = dict(text.metadata)
        label = properties.pop(_LABEL, "text_chunk")
        content = self._store.text(text.id)
        return graph.ChunkNode(text=content, id_=text.source, label=label, properties=properties)


def _document(node: graph.ChunkNode) -> clew.Document:
    return clew.Document(
        source=node.id,
        text=node.text,
        metadata={**node.properties, _LABEL: node.label},
        vector=None if node.embedding is None else tuple(node.embedding),
    )


def _entity(node: graph.EntityNode) -> clew.NewEntity:
    known = {"entity": "name", "node": "name"}  # LlamaIndex's own words for any
    entity_type = "_".join(re.findall("[a-z0-9]+", node.label.lower())) or "name"
    return clew.NewEntity(
        name=node.name,
        entity_type=known.get(entity_type, entity_type),
        metadata={**node.properties, _LABEL: node.label},
    )


def _relation_type(label: str) -> str:
    words = "_".join(re.findall(r"[^\W_]+", label.lower()))[:60].strip("_")
    return words if words[:1].isalpha() else "relates_to"


def _has(properties: Mapping[str, Any], part: graph.LabelledNode | graph.Relation) -> bool:
    return any(part.properties.get(name) == value for name, value in properties.items())
