"""The default embedder: a sentence-transformers model on onnxruntime, without torch."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from clew.derived_files import make_file, make_folder
from clew.errors import ModelError
from clew.models.locate import EMBEDDING, ModelFiles, ModelKind, locate_model
from clew.models.wordpiece import load_tokenizer
from clew.request_end import go_on

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

    from clew.models.wordpiece import Tokenizer
    from clew.ports import Embedder
    from clew.settings import EmbedSettings
    from clew.types import Vector, Vectors

    TokenIds: TypeAlias = NDArray[np.int64]


_TOKENS_A_CORE = 192
"""Tokens of a batch of several texts with its padding, for each core that computes it."""
_OUTPUTS = ("sentence_embedding", "last_hidden_state", "token_embeddings")
"""What exporters call them; a graph that has none of these is asked for its first output."""


class OnnxModel:
    """A model on onnxruntime and its tokenizer; threads may share it.

    Nothing is read before it is needed. Any method raises `ModelError` where the model cannot be
    found or run.
    """

    def __init__(
        self,
        model: str,
        kind: ModelKind,
        cache: Path | None,
        threads: int,
        providers: Sequence[str],
    ) -> None:
        self._model, self._kind, self._fetched = model, kind, cache
        self._threads, self._providers = threads, providers
        self._opening = threading.Lock()

    @cached_property
    def name(self) -> str:
        """The model's; a directory's name is followed by a digest of its weights."""
        return self.located[0].identity

    @cached_property
    def located(self) -> tuple[ModelFiles, ModelConfig]:
        """Its files, and what they say of it."""
        files = locate_model(self._model, self._fetched, self._kind)
        return files, self.configuration(files)

    def configuration(self, files: ModelFiles) -> ModelConfig:
        """What the files say of the model."""
        raise NotImplementedError

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The model's own."""
        return load_tokenizer(self.located[0].tokenizer)

    @cached_property
    def _session(self) -> InferenceSession:
        graph = self.located[0].weights
        return open_session(graph, self._threads, self._kind.setting, self._providers)

    def outputs(
        self, columns: Mapping[str, TokenIds], wanted: Sequence[str] = ()
    ) -> NDArray[np.float32]:
        """What the graph makes of those columns that it takes: its first output of those wanted."""
        names = [output.name for output in self._opened().get_outputs()]
        return self.run(columns, [next((name for name in wanted if name in names), names[0])])[0]

    def run(
        self, columns: Mapping[str, TokenIds], names: Sequence[str]
    ) -> list[NDArray[np.float32]]:
        """Return the outputs of these names, made of those columns that the graph takes."""
        session = self._opened()
        taken = {given.name for given in session.get_inputs()}
        inputs = {name: column for name, column in columns.items() if name in taken}
        what = f"cannot run the {self._kind.noun} {self._model!r}"
        with onnxruntime_errors(what, self._kind.setting):
            made: list[NDArray[np.float32]] = session.run(list(names), inputs)
        return made

    def _opened(self) -> InferenceSession:
        with self._opening:  # which takes seconds, and much memory: once
            return self._session


class OnnxEmbedder(OnnxModel):
    """Implements `clew.ports.Embedder`; counting tokens loads the tokenizer alone."""

    def __init__(self, settings: EmbedSettings) -> None:
        self._settings = settings
        self._cache = settings.cache or default_folder()
        super().__init__(
            settings.model, EMBEDDING, settings.cache, settings.threads, settings.providers
        )

    def __reduce__(self) -> tuple[type[OnnxEmbedder], tuple[EmbedSettings]]:
        """Another process loads what it needs by itself: to count tokens, the tokenizer alone."""
        return type(self), (self._settings,)

    def configuration(self, files: ModelFiles) -> ModelConfig:
        """See `OnnxModel`."""
        return read_model_config(files.folder, files.name)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self.located[1].dimension

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that the model reads, special tokens among them; the rest is cut."""
        return self.located[1].max_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) float32, unit length, in the order given.

        The same text is embedded once, and not at all where that is remembered.
        """
        prefix = self.located[1].document_prefix
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
        vector: Vector = self._run(self._token_ids([self.located[1].query_prefix + text]))[0]
        return vector

    def count_tokens(self, text: str) -> int:
        """Tokens of the text, special tokens not counted, nothing cut."""
        return self.tokenizer.count(text)

    def _token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        """What the model reads of each text, never empty."""
        config = self.located[1]
        read = self.tokenizer.inputs(texts, config.max_tokens)
        return [np.array(ids or [config.pad_id], np.int64) for ids in read]

    def _run(self, tokens: Sequence[TokenIds]) -> Vectors:
        """(len(tokens), dimension); padded to the longest."""
        ids = padded(tokens, self.located[1].pad_id)
        mask = padded([np.ones_like(text) for text in tokens], 0)
        columns = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        output = self.outputs(columns, _OUTPUTS)
        vectors = unit_vectors(output, mask, self.located[1].pooling)
        if vectors.shape != (len(tokens), self.dimension):
            raise ModelError(
                f"the model {self.name!r} gave vectors of shape {vectors.shape} for {len(tokens)}"
                f" texts; expected {self.dimension} numbers each, as its config.json says. Choose "
                f"another model with the setting {EMBEDDING.setting}"
            )
        return vectors


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


def padded(rows: Sequence[NDArray[np.int64]], fill: int) -> NDArray[np.int64]:
    """(rows, longest) the rows, filled up at their ends."""
    table = np.full((len(rows), max(map(len, rows))), fill, np.int64)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


# Sessions of onnxruntime: what opens, computes and fails there.


PROCESSOR = ("CPUExecutionProvider",)
"""The execution provider that every build of onnxruntime has."""
_ERRORS_ONLY = 3


def open_session(
    graph: Path, threads: int, setting: str, providers: Sequence[str] = PROCESSOR
) -> InferenceSession:
    """A session on what computes it.

    Args:
        graph: An ONNX file.
        threads: 0 for one a core.
        setting: Where the model is chosen, for the message of an error.
        providers: Execution providers of onnxruntime, each for what those before it cannot.

    Raises:
        ModelError: The graph or its weights are damaged, or a provider is not there.
    """
    import onnxruntime

    there = onnxruntime.get_available_providers()
    missing = [name for name in providers if name not in there]
    if missing:  # onnxruntime would go on without it
        raise ModelError(
            f"onnxruntime has no execution provider {missing[0]!r} here, but {', '.join(there)};"
            " install a build of onnxruntime that has it, or correct the setting embed.providers"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or available_cores()
    options.log_severity_level = _ERRORS_ONLY
    # Threads that wait for work sleep: spinning gains a few per cent on an idle machine, and costs
    # a third of the rate wherever anything else runs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    with onnxruntime_errors(f"cannot load the model {str(graph)!r}", setting):
        return onnxruntime.InferenceSession(str(graph), options, providers=list(providers))


@contextmanager
def onnxruntime_errors(what: str, setting: str) -> Iterator[None]:
    """Turn the exceptions of onnxruntime, which have no common base, into `ModelError`.

    Nothing is run for a request that ended.
    """
    go_on()
    from onnxruntime.capi import onnxruntime_pybind11_state as errors

    try:
        yield
    except (
        errors.Fail,
        errors.InvalidArgument,
        errors.InvalidGraph,
        errors.InvalidProtobuf,
        errors.NoSuchFile,
        errors.NotImplemented,
        errors.RuntimeException,
    ) as error:
        raise ModelError(
            f"{what}: {error}. Check that tokenizer and weights belong together, "
            f"or choose another model with the setting {setting}"
        ) from error


def available_cores() -> int:
    """Cores that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# Passages longer than a model reads: each has the mean of the vectors of its parts.


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


# What a model's own configuration files say about it.


Pooling = Literal["mean", "cls"]
"""What becomes of the tokens' vectors: their mean or the first one, as a unit vector."""

_DEFAULT_MAX_TOKENS = 256
_PAIR_TOKENS = 512
_E5 = re.compile(r"(?:^|[/-])e5-(?:small|base|large)(?:-v2)?$")


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """A sentence embedding model or a cross-encoder, as its folder describes it."""

    dimension: int
    """Length of what comes out."""
    max_tokens: int
    """Special tokens among them."""
    pad_id: int
    pooling: Pooling = "mean"
    """Of an encoder whose graph gives tokens; a cross-encoder's gives one number a pair."""
    query_prefix: str = ""
    """Put before every question, for models that were trained so."""
    document_prefix: str = ""


def read_model_config(folder: Path, name: str = "") -> ModelConfig:
    """The configuration in a folder of the sentence-transformers layout.

    Only `config.json` is needed; pooling is then the mean, over at most 256 tokens. `name` tells
    the models of the E5 family, which were trained with prefixes that their files do not state.

    Raises:
        ModelError: A file is missing or damaged, or asks for what is not supported.
    """
    architecture = _read_json(folder / "config.json")
    if "hidden_size" not in architecture:
        raise ModelError(
            f"{str(folder / 'config.json')!r} has no 'hidden_size'; "
            "expected the configuration of a transformer encoder"
        )
    sentence = _read_optional(folder / "sentence_bert_config.json")
    prompts = _read_optional(folder / "config_sentence_transformers.json").get("prompts") or {}
    if not prompts and _E5.search(name):
        prompts = {"query": "query: ", "passage": "passage: "}
    positions = _positions(architecture, _DEFAULT_MAX_TOKENS)
    return ModelConfig(
        dimension=int(architecture["hidden_size"]),
        max_tokens=min(int(sentence.get("max_seq_length") or _DEFAULT_MAX_TOKENS), positions),
        pooling=_pooling(folder / "1_Pooling" / "config.json"),
        pad_id=int(architecture.get("pad_token_id") or 0),
        query_prefix=str(prompts.get("query") or ""),
        document_prefix=str(prompts.get("document") or prompts.get("passage") or ""),
    )


def read_cross_encoder_config(folder: Path) -> ModelConfig:
    """The configuration of a classifier of pairs of texts with a single logit.

    Question and passage together have at most 512 tokens.

    Raises:
        ModelError: `config.json` is missing or damaged.
    """
    architecture = _read_json(folder / "config.json")
    positions = _positions(architecture, _PAIR_TOKENS)
    return ModelConfig(
        dimension=1,
        max_tokens=min(positions, _PAIR_TOKENS),
        pad_id=int(architecture.get("pad_token_id") or 0),
    )


def _positions(architecture: Mapping[str, Any], default: int) -> int:
    """Tokens that the model has positions for; RoBERTa's begin after the one for padding."""
    positions = int(architecture.get("max_position_embeddings", default))
    if "roberta" in str(architecture.get("model_type", "")):
        return positions - int(architecture.get("pad_token_id") or 0) - 1
    return positions


def _pooling(path: Path) -> Pooling:
    modes = [
        name.removeprefix("pooling_mode_")
        for name, chosen in _read_optional(path).items()
        if name.startswith("pooling_mode_") and chosen is True
    ]
    if modes in ([], ["mean_tokens"]):
        return "mean"
    if modes == ["cls_token"]:
        return "cls"
    raise ModelError(
        f"{str(path)!r} asks for pooling by {', '.join(modes)}; supported are mean_tokens and "
        "cls_token, one at a time. Choose another model"
    )


def _read_optional(path: Path) -> dict[str, Any]:
    return _read_json(path) if path.is_file() else {}


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(
            f"cannot read the model's configuration {str(path)!r}: {error}. "
            "Fetch or install the model again"
        ) from error
    if not isinstance(value, dict):
        raise ModelError(f"{str(path)!r} holds {type(value).__name__}; expected a JSON object")
    return value


# Embeddings of texts that were embedded before, by any document of any store of this user.
#
# A file in the user's cache that only that user may read. It holds digests of texts, not texts.
# What
# cannot be read of it is embedded again: nothing here ever fails a run.


_TABLE = """
CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, vector BLOB)
"""
_BUSY_SECONDS = 2.0
_ASKED_AT_ONCE = 500
_ROUNDING = 1e-3
"""By how much the length of a vector may differ from 1."""

_log = logging.getLogger("clew")


def default_folder() -> Path:
    """The user's cache folder, as the platform has it."""
    from platformdirs import user_cache_path

    return user_cache_path("clew", appauthor=False) / "models"


class VectorCache:
    """The newest `most` embeddings of one model."""

    def __init__(self, file: Path, model: str, most: int) -> None:
        """Nothing is read or written before it is needed."""
        self._file = file
        self._model = model.encode()
        self._most = most

    def embed(
        self, texts: Sequence[str], dimension: int, embed: Callable[[Sequence[str]], Vectors]
    ) -> Vectors:
        """(len(texts), dimension), in the order given; `embed` is asked for each new text once."""
        keys = [self._key(text) for text in texts]
        known = self._read(list(dict.fromkeys(keys)), dimension)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            made = dict(zip(new, embed(list(new.values())), strict=True))
            self._write(made)
            known |= made
        return np.array([known[key] for key in keys], np.float32).reshape(-1, dimension)

    def _key(self, text: str) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=16, key=self._digest).digest()

    @property
    def _digest(self) -> bytes:
        return hashlib.blake2b(self._model, digest_size=16).digest()

    def _read(self, keys: Sequence[bytes], dimension: int) -> dict[bytes, Vector]:
        found: dict[bytes, Vector] = {}
        try:
            with closing(self._connection()) as connection:
                for start in range(0, len(keys), _ASKED_AT_ONCE):
                    part = keys[start : start + _ASKED_AT_ONCE]
                    marks = ", ".join("?" * len(part))
                    rows = connection.execute(
                        f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part
                    )
                    found.update(_sound(dict(rows), dimension))
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)
        return found

    def _write(self, made: Mapping[bytes, Vector]) -> None:
        try:
            with closing(self._connection()) as connection, connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO vectors (key, vector) VALUES (?, ?)",
                    [(key, np.asarray(vector, "<f4").tobytes()) for key, vector in made.items()],
                )
                connection.execute(
                    "DELETE FROM vectors WHERE id <= (SELECT max(id) FROM vectors) - ?",
                    (self._most,),
                )
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def _connection(self) -> sqlite3.Connection:
        make_folder(self._file.parent)
        make_file(self._file)
        connection = sqlite3.connect(self._file, timeout=_BUSY_SECONDS)
        # What the power takes is embedded again.
        connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;" + _TABLE)
        return connection

    def _give_up(self, error: Exception) -> None:
        """Do without; a damaged file is made again."""
        _log.info("embeddings are not remembered in %s: %s", self._file, error)
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        ):
            for path in self._file.parent.glob(f"{self._file.name}*"):
                path.unlink(missing_ok=True)


def _sound(rows: Mapping[bytes, object], dimension: int) -> dict[bytes, Vector]:
    """Those rows that are unit vectors of that dimension."""
    found: dict[bytes, Vector] = {}
    for key, data in rows.items():
        if isinstance(data, bytes) and len(data) == 4 * dimension:
            vector = np.frombuffer(data, "<f4")
            if abs(float(vector @ vector) - 1) < _ROUNDING:
                found[key] = vector
    return found
