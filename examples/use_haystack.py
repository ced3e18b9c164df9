"""A pipeline of Haystack whose retriever follows entities, and the path to each document.

python examples/use_haystack.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from haystack import Document, Pipeline
from haystack.components.builders import PromptBuilder

from clew.integrations.haystack import ClewDocumentStore, ClewRetriever

TEXTS = {
    "tower": "The Tower of Vell was finished in 1820. Ada Morn built its great clock.",
    "morn": "Ada Morn came from Lisse. She was an apprentice of Piet Oss.",
    "oss": "Piet Oss kept a workshop by the canal for thirty years.",
}
QUESTION = "Whose apprentice built the clock of the Tower of Vell?"

with TemporaryDirectory() as folder:
    store = ClewDocumentStore(Path(folder) / "store")
    store.write_documents([Document(id=id_, content=text) for id_, text in TEXTS.items()])

    pipeline = Pipeline()
    pipeline.add_component("retriever", ClewRetriever(store, top_k=2))
    pipeline.add_component(
        "prompt", PromptBuilder("{% for d in documents %}{{ d.content }}\n{% endfor %}")
    )
    pipeline.connect("retriever.documents", "prompt.documents")
    done = pipeline.run({"retriever": {"query": QUESTION}}, include_outputs_from={"retriever"})

    print(done["prompt"]["prompt"])
    for document in done["retriever"]["documents"]:
        print(document.id, [step["entity"] for step in document.meta["clew"]["path"]])
    store.close()
