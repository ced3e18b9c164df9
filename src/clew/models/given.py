"""Models that a caller brings: functions and objects in place of those that settings name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from clew.errors import InputError, ModelError
from clew.ports import Embedder, Reranker
from clew.text import words
from clew.types import Scores, Vector, Vectors

if TYPE_CHECKING:
    EmbedFunction: TypeAlias = Callable[[list[str]], ArrayLike]
    """Takes texts; returns a vector for each, all of one length."""
    RerankFunction: TypeAlias = Callable[[str, list[str]], ArrayLike]
    """Takes a question and texts; returns a score for each, 0 to 1, higher is better."""

T = TypeVar("T")
MAX_TOKENS = 512
"""Words of a text that a function is taken to read, where the caller does not say."""


class WordCounts:
    """What a worker process needs of an embedder: how long texts are, counted in words."""

    def __init__(self, max_tokens: int = MAX_TOKENS) -> None:
        self.max_tokens = _positive("max_tokens", max_tokens)

    def count_tokens(self, text: str) -> int:
        """Count the words of a text."""
        return len(words(text))


class FunctionEmbedder(WordCounts):
    """An embedder made of a function. Implements `clew.ports.Embedder`.

    Args:
        embed: Takes a list of texts; returns a vector for each, all of one length. Vectors are
            scaled to length 1.
        query: The same for questions, where the model embeds them differently.
        name: Identity of the model. A store holds vectors of one model, and remembers it by this
            name; by default the function's own.
        max_tokens: Words of a text that the model reads; passages are kept below that.

    Example:
        >>> import clew
        >>> lengths = lambda texts: [[len(text), 1.0] for text in texts]
        >>> clew.FunctionEmbedder(lengths, name="lengths").embed_documents(["a clock"]).shape
        (1, 2)
    """

    def __init__(
        self,
        embed: EmbedFunction,
        *,
        query: EmbedFunction | None = None,
        name: str = "",
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        super().__init__(max_tokens)
        for one in (embed, query or embed):
            if not callable(one):
                raise InputError(f"{one!r:.80} cannot embed; expected a function of texts")
        self._embed, self._query = embed, query or embed
        self.name = name or named_after(embed)
        if "<lambda>" in self.name:
            raise InputError(
                "a lambda has no name by which a store could tell its vectors from another's;"
                " write a function, or give clew.FunctionEmbedder(…, name='my-model')"
            )
        self._dimension = 0

    @property
    def dimension(self) -> int:
        """Length of a vector; the function is asked for one where it has not been asked yet."""
        return self._dimension or self._vectors(self._embed, ["length"]).shape[1]

    def expect(self, dimension: int) -> None:
        """Take vectors of this length alone, as a store holds them; the function is not asked."""
        self._dimension = dimension

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) float32, unit length. Raises `ModelError` for another shape."""
        return self._vectors(self._embed, texts)

    def embed_query(self, text: str) -> Vector:
        """(dimension,) float32, unit length. Raises `ModelError` for another shape."""
        vector: Vector = self._vectors(self._query, [text])[0]
        return vector

    def _vectors(self, embed: EmbedFunction, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self._dimension), np.float32)
        made = unit_vectors(embed(list(texts)), self.name)
        expected = len(texts), self._dimension or made.shape[1]
        if made.shape != expected:
            raise ModelError(
                f"the embedder {self.name!r} gave an array of shape {made.shape} for {len(texts)}"
                f" texts; expected {expected}"
            )
        self._dimension = made.shape[1]
        return made

    def __reduce__(self) -> tuple[type[WordCounts], tuple[int]]:
        """Send another process what it needs; the function stays here."""
        return WordCounts, (self.max_tokens,)


class OwnVectors(WordCounts):
    """Stands in for an embedder where documents and questions bring their vectors.

    A text that brings none is found by its words and by what ties it to others, not by meaning.

    Args:
        dimension: Length of the vectors.
        name: Identity of the model that makes them; a store remembers it.
        max_tokens: Words of a passage, at most.

    Example:
        >>> import clew
        >>> clew.OwnVectors(3).embed_query("no model is asked").tolist()
        [0.0, 0.0, 0.0]
    """

    def __init__(
        self, dimension: int, *, name: str = "own vectors", max_tokens: int = MAX_TOKENS
    ) -> None:
        super().__init__(max_tokens)
        self.dimension, self.name = _positive("dimension", dimension), name

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) zeros: near to nothing."""
        return np.zeros((len(texts), self.dimension), np.float32)

    def embed_query(self, text: str) -> Vector:
        """(dimension,) zeros."""
        return np.zeros(self.dimension, np.float32)


class FunctionReranker:
    """A reranker made of a function. Implements `clew.ports.Reranker`."""

    def __init__(self, score: RerankFunction) -> None:
        self._score = score
        self.name = named_after(score)

    def score(self, question: str, texts: Sequence[str]) -> Scores:
        """(len(texts),) float32, 0 to 1. Raises `ModelError` for numbers outside."""
        given = self._score(question, list(texts))
        try:
            scores: Scores = np.asarray(given, np.float32)
        except (TypeError, ValueError) as error:
            raise ModelError(f"the reranker {self.name!r} gave no numbers: {error}") from error
        if scores.size and not (scores.min() >= 0 and scores.max() <= 1):
            raise ModelError(
                f"the reranker {self.name!r} gave scores from {scores.min():g} to"
                f" {scores.max():g}; expected 0 to 1 (1 / (1 + exp(-x)) makes that of logits)"
            )
        return scores


def named_after(function: object) -> str:
    """Return the name by which a store remembers a function: that of its module and its own."""
    kind = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', '')}"


def unit_vectors(given: ArrayLike, owner: str) -> Vectors:
    """Return vectors as float32 rows of length 1.

    Raises `ModelError`, which names the `owner`, for what is no matrix of finite numbers, and for
    a vector that is zero.
    """
    try:
        made = np.asarray(given, np.float32)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{owner!r} gave no vectors of numbers: {error}") from error
    lengths = np.linalg.norm(made, axis=-1, keepdims=True) if made.ndim == 2 else made
    if made.ndim != 2 or not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ModelError(
            f"{owner!r} gave an array of shape {made.shape}; expected one vector a text, of finite"
            " numbers that are not all 0"
        )
    unit: Vectors = made / lengths
    return unit


def _positive(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{name} {value!r} cannot be; expected a whole number, 1 or more")
    return value


def as_embedder(given: Embedder | EmbedFunction) -> Embedder:
    """Return an embedder, made of a function where that was given. Raises `InputError`."""
    made: Embedder = _as_model(given, Embedder, FunctionEmbedder)
    return made


def as_reranker(given: Reranker | RerankFunction) -> Reranker:
    """Return a reranker, made of a function where that was given. Raises `InputError`."""
    made: Reranker = _as_model(given, Reranker, FunctionReranker)
    return made


def checked_model(given: T, port: type) -> T:
    """Return what stands in for a model of that port. Raises `InputError` for what it lacks."""
    made: T = _as_model(given, port)
    return made


def _as_model(
    given: Any,  # noqa: ANN401 - a function or an object
    port: type,
    make: Callable[[Any], Any] | None = None,
) -> Any:  # noqa: ANN401 - of the port
    wanted = sorted(name for name in vars(port) if not name.startswith("_"))
    # Looked up without asking: a property may load a model.
    missing = [name for name in wanted if getattr_static(given, name, None) is None]
    if not missing:
        return given
    if make is not None and callable(given) and len(missing) == len(wanted):
        return make(given)
    function = "" if make is None else "a function, or "
    raise InputError(
        f"the {port.__name__.lower()} {given!r:.80} has no {', '.join(missing)}; expected"
        f" {function}an object with {', '.join(wanted)} as in clew.ports.{port.__name__}"
    )
