"""Retrievers of LlamaIndex that follow entities, and a graph that no language model had to write.

python examples/use_llama_index.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from llama_index.core.schema import TextNode

import clew
from clew.integrations.llama_index import ClewRetriever, ClewVectorStore
from clew.integrations.llama_index_graph import ClewPropertyGraphStore

TEXTS = {
    "tower": "The Tower of Vell was finished in 1820. Ada Morn built its great clock.",
    "morn": "Ada Morn came from Lisse. She was taught by Piet Oss.",
    "oss": "Piet Oss kept a workshop by the canal for thirty years.",
}

# With an embedding model of LlamaIndex: `open_store(folder, embed_model)`.
with TemporaryDirectory() as folder, clew.open(Path(folder) / "store") as store:
    ClewVectorStore(store).add([TextNode(id_=id_, text=text) for id_, text in TEXTS.items()])

    retriever = ClewRetriever(store, similarity_top_k=2)
    for found in retriever.retrieve("Who taught the builder of the clock of the Tower of Vell?"):
        print(found.node.node_id, [step["entity"] for step in found.node.metadata["clew"]["path"]])

    graph = ClewPropertyGraphStore(store)
    for start, relation, end in graph.get_triplets(entity_names=["Ada Morn"]):
        print(start.id, "->", relation.label, "->", end.id)
