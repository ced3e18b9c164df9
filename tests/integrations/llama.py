"""What the tests of both adapters to LlamaIndex embed with."""

from __future__ import annotations

from llama_index.core.base.embeddings.base import BaseEmbedding

from clew.testing.fakes import HashEmbedder


class HashEmbedding(BaseEmbedding):
    """Texts are alike as far as they share terms."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(value) for value in HashEmbedder(64).embed_query(text)]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)
