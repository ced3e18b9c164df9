"""A retriever of LangChain that follows entities, and the path to each passage.

python examples/use_langchain.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_core.runnables import RunnableLambda

from clew.integrations.langchain import ClewRetriever, ClewVectorStore

TEXTS = {
    "tower": "The Tower of Vell was finished in 1820. Ada Morn built its great clock.",
    "morn": "Ada Morn came from Lisse. She was an apprentice of Piet Oss.",
    "oss": "Piet Oss kept a workshop by the canal for thirty years.",
}

with TemporaryDirectory() as folder:
    vectors = ClewVectorStore(Path(folder) / "store")
    vectors.add_texts(list(TEXTS.values()), ids=list(TEXTS))

    # Two sentences lie between the question and its answer; no word of it is in the last one.
    retriever = ClewRetriever(store=vectors.store, k=3)
    chain = retriever | RunnableLambda(lambda found: found[:3])
    for document in chain.invoke("Whose apprentice built the clock of the Tower of Vell?"):
        print(document.metadata["source"], "-", document.page_content)
        print(document.metadata["path"], end="\n\n")

    print(vectors.similarity_search("a workshop by the water", k=1)[0].id)
    vectors.store.close()
