"""Bring a reranker: any function that scores texts for a question, with the weight you want."""

from collections.abc import Sequence

import clew


def oldest_first(question: str, texts: Sequence[str]) -> list[float]:
    """Score 0 to 1; a cross-encoder of your own stands here."""
    return [0.9 if "2019" in text else 0.1 for text in texts]


with clew.open("reranker.clew", reranker=oldest_first) as store:
    store.add("The ferry to Ostrand left at 8 in 2019.", source="old")
    store.add("In 2023 the ferry to Ostrand leaves at 9.", source="new")
    question = "When does the ferry to Ostrand leave?"
    for weight in (0.0, 0.5, 1.0):
        found = store.search(question, rerank_weight=weight)
        print(weight, [hit.chunk.source for hit in found])
