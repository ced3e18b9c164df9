"""Deterministic stand-ins for what is heavy or random, light enough for every test."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from clew.errors import ModelError
from clew.ports import Reply, Request
from clew.text import terms, words
from clew.types import Usage, Vector, Vectors

if TYPE_CHECKING:
    Answer: TypeAlias = str | Reply | Exception


class HashEmbedder:
    """Implements `clew.ports.Embedder` without a model: texts are alike as far as they share terms.

    Each term is hashed to one signed place of the vector ("feature hashing", Weinberger et al.,
    2009) and weighs the square root of its count. A text without terms gets the vector of its own
    characters' hash, so that no vector is zero. The same in every process.

    Args:
        dimension: Length of a vector; the larger, the fewer terms collide.
        name: Identity; two embedders of one name should be alike.
        max_tokens: Terms after the text's first `max_tokens` words are not read.

    Raises:
        ValueError: A dimension or limit below 1.
    """

    def __init__(
        self, dimension: int = 256, *, name: str | None = None, max_tokens: int = 256
    ) -> None:
        if dimension < 1 or max_tokens < 1:
            raise ValueError(
                f"dimension and max_tokens must be at least 1, not {dimension!r} and {max_tokens!r}"
            )
        self._dimension = dimension
        self._name = name or f"hash-{dimension}"
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """`hash-<dimension>` unless another was given."""
        return self._name

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    @property
    def max_tokens(self) -> int:
        """Words of a text that are read."""
        return self._max_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) float32, unit length, in the order given."""
        vectors = np.empty((len(texts), self._dimension), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self.embed_query(text)
        return vectors

    def embed_query(self, text: str) -> Vector:
        """(dimension,) float32, unit length."""
        vector = np.zeros(self._dimension, np.float32)
        for term, count in self._terms(text).items():
            place, sign = self._place(term)
            vector[place] += sign * count**0.5
        if not vector.any():  # no terms, or terms that cancel each other out
            vector[self._place(f"text {text}")[0]] = 1
        unit: Vector = vector / np.linalg.norm(vector)
        return unit

    def count_tokens(self, text: str) -> int:
        """Words of the text."""
        return len(words(text))

    def _terms(self, text: str) -> Counter[str]:
        read, most = words(text), self._max_tokens
        return Counter(terms(text if len(read) <= most else " ".join(read[:most])))

    def _place(self, term: str) -> tuple[int, int]:
        digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        code = int.from_bytes(digest, "little")
        return code // 2 % self._dimension, 1 if code % 2 else -1


class ScriptedLanguageModel:
    """Implements `clew.ports.LanguageModel` from a script.

    Args:
        answers: One answer after the other, the answer by the text of the last message, or what
            makes it of the request. An answer is a text, a whole `Reply`, or an error to be raised.
            Where there is none (left), it raises `ModelError`.
        name: Identity.
    """

    def __init__(
        self,
        answers: Sequence[Answer] | Mapping[str, Answer] | Callable[[Request], Answer] = (),
        *,
        name: str = "scripted",
    ) -> None:
        if callable(answers):
            self._answer = answers
        elif isinstance(answers, Mapping):
            self._answer = lambda request: answers.get(request.messages[-1].text, "")
        else:
            in_turn = iter(answers)
            self._answer = lambda _: next(in_turn, "")
        self._name = name
        self._lock = threading.Lock()
        self.asked: list[Request] = []
        """Every request."""

    @property
    def name(self) -> str:
        """`scripted` unless another was given."""
        return self._name

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.asked)

    def reply(self, request: Request) -> Reply:
        """The script's answer; a token of usage for each word."""
        with self._lock:
            self.asked.append(request)
        answer = self._answer(request)
        if not answer:
            text = request.messages[-1].text
            raise ModelError(f"the script of {self._name!r} has no answer (left) to {text!r}")
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Reply):
            return answer
        read = sum(len(words(message.text)) for message in request.messages)
        usage = Usage(
            input_tokens=read + len(words(request.instructions)), output_tokens=len(words(answer))
        )
        return Reply(text=answer, finish="stop", model=self._name, usage=usage)

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """The same, the text in pieces of at most eight characters."""
        reply = self.reply(request)
        for start in range(0, len(reply.text), 8):
            yield reply.text[start : start + 8]
        yield reply
