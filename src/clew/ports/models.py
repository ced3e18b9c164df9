"""Models: what embeds, extracts and reranks. What writes is in `ports.language_model`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from clew.types import (
    Chunk,
    Document,
    Extraction,
)

if TYPE_CHECKING:
    from clew.types import Scores, Vector, Vectors


class Embedder(Protocol):
    """Turns text into unit vectors; documents and questions apart, since many models differ."""

    @property
    def name(self) -> str:
        """Identity of the model and of its precision; a store remembers it."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that the model reads, special tokens among them; the rest is cut."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) float32, unit length, in the order given; none for none."""
        ...

    def embed_query(self, text: str) -> Vector:
        """(dimension,) float32, unit length."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of the text, special tokens not counted, nothing cut."""
        ...


class Extractor(Protocol):
    """Finds names and relations in a document's chunks."""

    @property
    def name(self) -> str:
        """Identity and version; a store remembers which extractor read a document."""
        ...

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """One `ChunkExtraction` a chunk, in order; the same for the same text."""
        ...


class Reranker(Protocol):
    """Reads question and passage together; slower and better than either channel."""

    @property
    def name(self) -> str:
        """Identity of the model."""
        ...

    def score(self, question: str, texts: Sequence[str]) -> Scores:
        """(len(texts),) float32, 0 to 1, higher is better, in the order given."""
        ...
