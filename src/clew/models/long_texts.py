"""Passages longer than a model reads: each has the mean of the vectors of its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clew.models.onnx import OnnxEmbedder

if TYPE_CHECKING:
    from clew.ports import Embedder
    from clew.settings import EmbedSettings
    from clew.types import Vector, Vectors

_READ_BY_ALL = 250
"""Tokens of a passage that every model reads whole."""
_SPECIAL_TOKENS = 2
"""What a model puts around a text."""
_WORD = re.compile(r"\S+\s*|\s+")


def embedder_of_passages(settings: EmbedSettings, tokens: int) -> Embedder:
    """The embedder of the settings, for passages of up to so many tokens."""
    embedder = OnnxEmbedder(settings)
    return embedder if tokens <= _READ_BY_ALL else LongTexts(embedder, tokens)


class LongTexts:
    """Implements `ports.Embedder` over another one, for passages of up to `passage_tokens`.

    A text that the model reads whole has the model's own vector, and so has a question.
    """

    def __init__(self, embedder: Embedder, passage_tokens: int) -> None:
        self._embedder, self._passage_tokens = embedder, passage_tokens

    @property
    def name(self) -> str:
        """That of the model, whose vectors they are."""
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._embedder.dimension

    @property
    def max_tokens(self) -> int:
        """The model's own, or so many that a passage fits beside a context of a quarter."""
        own = self._embedder.max_tokens
        return own if self._passage_tokens <= own else self._passage_tokens * 4 // 3 + 3

    def count_tokens(self, text: str) -> int:
        """As the model counts."""
        return self._embedder.count_tokens(text)

    def embed_query(self, text: str) -> Vector:
        """(dimension,) float32, unit length; what the model does not read is cut."""
        return self._embedder.embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) float32, unit length: longer parts weigh more."""
        parts = [list(self._parts(text)) for text in texts]
        vectors = self._embedder.embed_documents([part for own in parts for part, _ in own])
        found = np.empty((len(texts), self.dimension), np.float32)
        end = 0
        for place, own in enumerate(parts):
            start, end = end, end + len(own)
            weights = np.array([tokens for _, tokens in own], np.float32)
            mean = vectors[start] if len(own) == 1 else weights @ vectors[start:end]
            found[place] = mean if len(own) == 1 else mean / np.linalg.norm(mean)
        return found

    def _parts(self, text: str) -> Iterator[tuple[str, int]]:
        """Parts that the model reads whole, and their tokens."""
        room = max(self._embedder.max_tokens - _SPECIAL_TOKENS, 1)
        if (whole := self.count_tokens(text)) <= room:
            yield text, whole
            return
        part, taken = "", 0
        for word in self._words(text, room):
            tokens = self.count_tokens(word)
            if part and taken + tokens > room:
                yield part, max(taken, 1)
                part, taken = "", 0
            part, taken = part + word, taken + tokens
        yield part, max(taken, 1)

    def _words(self, text: str, room: int) -> Iterator[str]:
        """Words with the space behind them; of scripts without spaces, runs of characters."""
        for word in _WORD.findall(text):
            if self.count_tokens(word) <= room:
                yield word
            else:
                yield from (word[start : start + room] for start in range(0, len(word), room))
