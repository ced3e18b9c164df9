"""Cross-encoders: a model reads question and passage together and says how well they fit."""

from __future__ import annotations

import importlib
import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import MissingExtraError, ModelError
from clew.models.locate import CROSS_ENCODER, ModelFiles
from clew.models.onnx import (
    PROCESSOR,
    ModelConfig,
    OnnxModel,
    padded,
    read_cross_encoder_config,
)
from clew.models.wordpiece import LibraryTokenizer
from clew.text import encodable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

    from clew.types import Scores

_SETTING = CROSS_ENCODER.setting
_BATCH = 8


class OnnxCrossEncoder(OnnxModel):
    """Implements `clew.ports.Reranker` on onnxruntime, without torch.

    Args:
        model: A directory with `tokenizer.json`, `config.json` and `model.onnx`, or a name on the
            Hugging Face hub, such as `cross-encoder/ms-marco-MiniLM-L-6-v2`.
        cache: Where what is fetched is kept; None for the hub's own cache.
        threads: 0 for one a core.
        providers: Execution providers of onnxruntime.
    """

    def __init__(
        self,
        model: str,
        *,
        cache: Path | None = None,
        threads: int = 0,
        providers: Sequence[str] = PROCESSOR,
    ) -> None:
        super().__init__(model, CROSS_ENCODER, cache, threads, providers)

    def configuration(self, files: ModelFiles) -> ModelConfig:
        """See `OnnxModel`."""
        return read_cross_encoder_config(files.folder)

    def score(self, question: str, texts: Sequence[str]) -> Scores:
        """(len(texts),) float32, 0 to 1: the sigmoid of the model's logit, in the order given.

        Question and text are cut to what the model reads: the text first, and the question only
        where it alone takes more than half. Pairs of like length share a batch.
        """
        logits = np.empty(len(texts))
        pairs = self._encode(question, texts)
        order = sorted(range(len(pairs)), key=lambda place: len(pairs[place].ids))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            logits[batch] = self._run([pairs[place] for place in batch])
        scores: Scores = np.exp(-np.logaddexp(0, -logits)).astype(np.float32)
        return scores

    def _encode(self, question: str, texts: Sequence[str]) -> list[Encoding]:
        read = self.tokenizer.encode(question)
        half = self.located[1].max_tokens // 2
        if len(read.ids) > half:
            question = question[: read.offsets[half - 1][1]]
        return self._of_pairs.encode_batch(
            [(encodable(question), encodable(text)) for text in texts]
        )

    @cached_property
    def _of_pairs(self) -> Tokenizer:
        """One that cuts the second text, and can read nothing but pairs."""
        of_pairs = LibraryTokenizer(self.located[0].tokenizer).own
        of_pairs.enable_truncation(self.located[1].max_tokens, strategy="only_second")
        return of_pairs

    def _run(self, pairs: Sequence[Encoding]) -> NDArray[np.float32]:
        """(len(pairs),) logits."""
        columns = {
            "input_ids": ([pair.ids for pair in pairs], self.located[1].pad_id),
            "attention_mask": ([pair.attention_mask for pair in pairs], 0),
            "token_type_ids": ([pair.type_ids for pair in pairs], 0),
        }
        inputs = {
            name: padded([np.array(row, np.int64) for row in rows], fill)
            for name, (rows, fill) in columns.items()
        }
        return _single(self.outputs(inputs), len(pairs), self._model)


class SentenceTransformersReranker:
    """Implements `clew.ports.Reranker` with the cross-encoders of sentence-transformers.

    For models without an ONNX file, or to compute on a GPU.

    Args:
        model: A directory, or a name on the Hugging Face hub.

    Raises:
        MissingExtraError: From `score`, where sentence-transformers is not installed.
        ModelError: From `score`, where the model cannot be found, loaded or run.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._opening = threading.Lock()

    @property
    def name(self) -> str:
        """As it was given."""
        return self._model

    def score(self, question: str, texts: Sequence[str]) -> Scores:
        """(len(texts),) float32, 0 to 1: the sigmoid of the model's logit, in the order given."""
        if not texts:
            return np.zeros(0, np.float32)
        with self._opening:
            model, sigmoid = self._loaded
        pairs = [(encodable(question), encodable(text)) for text in texts]
        try:
            # Said here, since some models come with another activation than others.
            found = model.predict(pairs, activation_fn=sigmoid, show_progress_bar=False)
        except (RuntimeError, ValueError, IndexError) as error:
            raise self._failed("run", error) from error
        return _single(np.asarray(found, np.float32), len(texts), self._model)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """The model and its activation."""
        try:
            # Imported by name: neither is there for a type checker to read.
            library = importlib.import_module("sentence_transformers")
            activations = importlib.import_module("torch.nn")
        except ImportError as error:
            feature = f"the cross-encoder {self._model!r} of sentence-transformers"
            raise MissingExtraError(feature, "sentence-transformers") from error
        try:
            return library.CrossEncoder(self._model), activations.Sigmoid()
        except (OSError, RuntimeError, ValueError) as error:
            raise self._failed("load", error) from error

    def _failed(self, doing: str, error: Exception) -> ModelError:
        return ModelError(
            f"cannot {doing} the cross-encoder {self._model!r}: {error}. Check its name and the "
            f"network, or choose another model with the setting {_SETTING}"
        )


def _single(logits: NDArray[np.float32], count: int, model: str) -> NDArray[np.float32]:
    """(count,) from (count,) or (count, 1)."""
    if logits.shape not in ((count,), (count, 1)):
        raise ModelError(
            f"the model {model!r} gave an output of shape {logits.shape} for {count} pairs of "
            f"texts; expected one number each. Choose a cross-encoder in the setting {_SETTING}"
        )
    return logits.reshape(count)
