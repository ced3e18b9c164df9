"""The default embedder: a sentence-transformers model on onnxruntime, without torch."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from clew.errors import ModelError
from clew.models.locate import ModelFiles, locate_model
from clew.models.model_config import ModelConfig, Pooling, read_model_config
from clew.models.session import (
    PROCESSOR,
    available_cores,
    onnxruntime_errors,
    open_session,
)
from clew.models.vector_cache import VectorCache, default_folder
from clew.text import cached, encodable

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

    from clew.settings import EmbedSettings
    from clew.types import Vector, Vectors

    TokenIds: TypeAlias = NDArray[np.int64]

_ENCODED_AT_ONCE = 256
_TOKENS_A_CORE = 192
"""Tokens of a batch of several texts with its padding, for each core that computes it."""
_SETTING = "embed.model"
_OUTPUTS = ("sentence_embedding", "last_hidden_state", "token_embeddings")
"""What exporters call them; a graph that has none of these is asked for its first output."""

_KNOWN_WORDS = 16
"""Megabytes of words whose number of tokens is remembered."""
_PART = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9]")
"""What WordPiece tells apart in an ASCII word: runs of letters and digits, and each mark."""


class OnnxEmbedder:
    """Implements `clew.ports.Embedder`.

    Nothing is read before it is needed: counting tokens loads the tokenizer alone, embedding the
    session as well. Methods may be called from several threads at once.

    Raises:
        ModelError: From any method or property, where the model cannot be found or run.
    """

    def __init__(self, settings: EmbedSettings) -> None:
        self._settings = settings
        self._cache = settings.cache or default_folder()
        self._lock = threading.RLock()
        # Loading the session takes seconds; the name and the tokens are to be had meanwhile.
        self._opening = threading.Lock()
        self._model: tuple[ModelFiles, ModelConfig] | None = None
        self._tokenizer: Tokenizer | None = None
        self._session: InferenceSession | None = None
        self._count_part = cached(_KNOWN_WORDS)(lambda part: len(self._encode([part])[0]))
        self._count_word = cached(_KNOWN_WORDS)(self._count_parts)

    def __reduce__(self) -> tuple[type[OnnxEmbedder], tuple[EmbedSettings]]:
        """Another process loads what it needs by itself: to count tokens, the tokenizer alone."""
        return type(self), (self._settings,)

    @property
    def name(self) -> str:
        """The model's; a directory's name is followed by a digest of its weights."""
        return self._located[0].identity

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._located[1].dimension

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that the model reads, special tokens among them; the rest is cut."""
        return self._located[1].max_tokens

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer, which neither cuts nor pads. Not to be changed."""
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = load_tokenizer(self._located[0].tokenizer)
            return self._tokenizer

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) float32, unit length, in the order given.

        The same text is embedded once, and not at all where that is remembered.
        """
        prefix = self._located[1].document_prefix
        given = [prefix + text for text in texts]
        if not self._settings.remembered or not given:
            return self._embed(given)
        file = self._cache / "vectors.db"
        cache = VectorCache(file, self.name, self._settings.remembered)
        return cache.embed(given, self.dimension, self._embed)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        tokens = self._token_ids(texts)
        vectors = np.empty((len(texts), self.dimension), np.float32)
        lengths, most = [len(text) for text in tokens], self._settings.batch_size
        for batch in token_batches(lengths, most, self._batch_tokens):
            vectors[batch] = self._run([tokens[i] for i in batch])
        return vectors

    @property
    def _batch_tokens(self) -> int:
        """No limit where something else than a processor computes, which is best at large ones."""
        if tuple(self._settings.providers) != PROCESSOR:
            return self._settings.batch_size * self.max_tokens
        return _TOKENS_A_CORE * max(2, self._settings.threads or available_cores())

    def embed_query(self, text: str) -> Vector:
        """(dimension,) float32, unit length."""
        vector: Vector = self._run(self._token_ids([self._located[1].query_prefix + text]))[0]
        return vector

    def count_tokens(self, text: str) -> int:
        """Tokens of the text, special tokens not counted, nothing cut.

        WordPiece never joins words, so that its counts are those of the words, which recur; other
        tokenizers may, and count the whole text.
        """
        if not self._counts_words:
            return len(self._encode([text])[0])
        return sum(map(self._count_word, text.split()))

    def _count_parts(self, word: str) -> int:
        """Of an ASCII word the tokens of its parts, which recur beside other marks."""
        is_plain = word.isascii() and word.isprintable()
        return sum(map(self._count_part, _PART.findall(word) if is_plain else [word]))

    @cached_property
    def _counts_words(self) -> bool:
        return type(self.tokenizer.model).__name__ == "WordPiece"

    @property
    def _located(self) -> tuple[ModelFiles, ModelConfig]:
        with self._lock:
            if self._model is None:
                files = locate_model(self._settings.model, self._settings.cache)
                self._model = files, read_model_config(files.folder, files.name)
            return self._model

    def _encode(self, texts: Sequence[str]) -> list[Encoding]:
        """Without special tokens and whole."""
        clean = [encodable(text) for text in texts]
        return self.tokenizer.encode_batch_fast(clean, add_special_tokens=False)

    def _token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        """What the model reads of each text: cut, special tokens added, never empty.

        Texts are encoded a few at a time: an encoding is some fifty times as large as its ids.
        """
        config = self._located[1]
        room = config.max_tokens - self.tokenizer.num_special_tokens_to_add(False)
        found: list[TokenIds] = []
        for start in range(0, len(texts), _ENCODED_AT_ONCE):
            for encoding in self._encode(texts[start : start + _ENCODED_AT_ONCE]):
                encoding.truncate(room)
                ids = self.tokenizer.post_process(encoding).ids or [config.pad_id]
                found.append(np.array(ids, np.int64))
        return found

    def _run(self, tokens: Sequence[TokenIds]) -> Vectors:
        """(len(tokens), dimension); padded to the longest."""
        session = self._load_session()
        inputs = {
            "input_ids": padded(tokens, self._located[1].pad_id),
            "attention_mask": padded([np.ones_like(text) for text in tokens], 0),
        }
        if any(given.name == "token_type_ids" for given in session.get_inputs()):
            inputs["token_type_ids"] = np.zeros_like(inputs["input_ids"])
        with onnxruntime_errors(f"cannot run the model {self.name!r}", _SETTING):
            output = session.run([_output_name(session)], inputs)[0]
        pooling = self._located[1].pooling
        vectors = unit_vectors(output, inputs["attention_mask"], pooling)
        if vectors.shape != (len(tokens), self.dimension):
            raise ModelError(
                f"the model {self.name!r} gave vectors of shape {vectors.shape} for {len(tokens)}"
                f" texts; expected {self.dimension} numbers each, as its config.json says. Choose "
                f"another model with the setting {_SETTING}"
            )
        return vectors

    def _load_session(self) -> InferenceSession:
        with self._opening:
            if self._session is None:
                settings = self._settings
                self._session = open_session(
                    self._located[0].weights, settings.threads, _SETTING, settings.providers
                )
            return self._session


def _output_name(session: InferenceSession) -> str:
    """The output that holds the texts' vectors, or else their tokens'."""
    names = [output.name for output in session.get_outputs()]
    return next((name for name in _OUTPUTS if name in names), names[0])


def unit_vectors(output: NDArray[np.float32], mask: TokenIds, pooling: Pooling) -> Vectors:
    """(batch, dimension) unit vectors.

    Args:
        output: (batch, dimension) vectors of texts, or (batch, tokens, dimension) of their tokens.
        mask: (batch, tokens) 1 where there is a token, 0 where there is padding.
        pooling: What becomes of the tokens' vectors.
    """
    if output.ndim == 3:
        if pooling == "cls":
            output = output[:, 0]
        else:  # the length takes the number of tokens out
            output = np.einsum("btd,bt->bd", output, mask.astype(np.float32))
    lengths = np.linalg.norm(output, axis=-1, keepdims=True)
    vectors: Vectors = (output / np.maximum(lengths, 1e-12)).astype(np.float32)
    return vectors


def token_batches(lengths: Sequence[int], most: int, tokens: int) -> Iterator[list[int]]:
    """Places of texts that are computed together, longest first: of like length, `most` at most.

    What is computed for padding grows with the texts of a batch, and what a batch costs beside its
    tokens is little: several long texts share one only within so many `tokens`.
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    start = 0
    while start < len(order):
        room = tokens // max(1, lengths[order[start]])
        end = start + max(1, min(most, room))
        yield order[start:end]
        start = end


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer, which neither cuts nor pads, whatever its file says.

    Raises:
        ModelError: The file is no tokenizer.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_buffer(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelError(
            f"cannot read the tokenizer {str(path)!r}: {error}. Fetch or install the model again"
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def padded(rows: Sequence[NDArray[np.int64]], fill: int) -> NDArray[np.int64]:
    """(rows, longest) the rows, filled up at their ends."""
    table = np.full((len(rows), max(map(len, rows))), fill, np.int64)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table
