"""Bring an embedding model: any function that makes vectors of texts, or the vectors themselves."""

import math
from collections.abc import Sequence

import clew


def letters(texts: Sequence[str]) -> list[list[float]]:
    """Embed by how often each letter occurs; a model of your own stands here."""
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return [[math.sqrt(text.lower().count(one)) + 0.01 for one in alphabet] for text in texts]


with clew.open("own-embedder.clew", embedder=letters) as store:
    store.add("Zebras graze by the quay.", source="zebras")
    store.add("The harbour freezes every winter.", source="harbour")
    print("function:", store.search("zzz qq", strategy="vector").hits[0].chunk.source)

# Vectors that were made elsewhere, of documents and of questions.
with clew.open("own-vectors.clew", embedder=clew.OwnVectors(3)) as store:
    documents = {"north": (0.9, 0.1, 0.0), "south": (-0.9, 0.1, 0.0), "east": (0.0, 0.2, 1.0)}
    store.add_documents(
        clew.Document(source=name, text=f"The road {name}.", vector=vector)
        for name, vector in documents.items()
    )
    nearest = store.search(vector=[1.0, 0.0, 0.1], limit=2)
    print("vectors:", [hit.chunk.source for hit in nearest])
