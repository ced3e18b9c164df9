"""The reader: a small cross-encoder that says whether a passage helps, and where the answer stands.

It reads "question [SEP] thread [SEP] passage". The thread is what led to the passage: a second hop
looks wrong without the first. `training/reader/` trains it from the embedder's weights.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import ModelError
from clew.models.locate import READER
from clew.models.onnx import PROCESSOR, ModelConfig, OnnxModel, available_cores
from clew.types import Reading, Unread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.models.locate import ModelFiles
    from clew.models.wordpiece import Tokenizer

QUESTION, THREAD, TITLE, WHOLE = 40, 56, 24, 256
"""Tokens of the question, the thread, the title and of all with the passage, at most."""
LONGEST_ANSWER = 40
"""Tokens."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A question with a passage, as the model gets them."""

    ids: list[int]
    types: list[int]
    """1 for the passage with its title, 0 for the rest."""
    offsets: list[tuple[int, int]]
    """Characters of the text by token; (0, 0) for all that is not of the text."""


def encode(
    tokenizer: Tokenizer, question: str, passage: Unread, *, whole: int = WHOLE, begin: int = 0
) -> Tokens:
    """Return the tokens of a question and a passage, at most `whole`, the text cut at its end.

    `begin` is the first token of the text that is read.
    """

    def ids(text: str, most: int) -> list[int]:
        return tokenizer.encode(text).ids[:most]

    cls, sep = map(tokenizer.token_id, ("[CLS]", "[SEP]"))
    head = [cls, *ids(question, QUESTION), sep, *ids(passage.thread, THREAD), sep]
    title = [*ids(passage.title, TITLE), *ids(".", 1)] if passage.title else []
    body = tokenizer.encode(passage.text)
    read = slice(begin, begin + max(0, whole - len(head) - len(title) - 1))
    text = body.ids[read]
    return Tokens(
        ids=[*head, *title, *text, sep],
        types=[0] * len(head) + [1] * (len(title) + len(text)) + [0],
        offsets=[(0, 0)] * (len(head) + len(title)) + body.offsets[read] + [(0, 0)],
    )


class OnnxReader(OnnxModel):
    """Implements `clew.ports.Reader` on onnxruntime; threads may share it.

    Each passage is read by one thread, as many at once as there are cores: threads that share a
    passage wait for each other at every layer, which takes twice the work, and many times as long
    where anything else runs.

    Args:
        model: `reader`, the one of clew-models, or a directory with `model.onnx`, `tokenizer.json`
            and `config.json`.
        providers: Execution providers of onnxruntime.
    """

    def __init__(self, model: str = "reader", *, providers: Sequence[str] = PROCESSOR) -> None:
        super().__init__(model, READER, None, 1, providers)

    def configuration(self, files: ModelFiles) -> ModelConfig:
        """See `OnnxModel`."""
        return ModelConfig(dimension=1, max_tokens=WHOLE, pad_id=0)

    @cached_property
    def weights(self) -> Mapping[str, tuple[float, ...]]:
        """How its logits count beside the ranking: see `clew.search.reading.weigh`."""
        folder = self.located[0].folder
        told = json.loads((folder / "config.json").read_text("utf-8"))
        return {name: tuple(map(float, told[name])) for name in ("order", "confidence")}

    def warm(self) -> None:
        """Load the model, which the first question would else wait for."""
        self._read("", Unread(""))

    def read(self, question: str, passages: Sequence[Unread]) -> list[Reading]:
        """Return what each passage says about the question, in the order given.

        Raises:
            ModelError: The model cannot be found or run.
        """
        # Its import fails where the process is ending, which loading ahead must not care about.
        from concurrent.futures import ThreadPoolExecutor

        # No thread outlives its question: a command waits for all before it ends.
        with ThreadPoolExecutor(available_cores(), "clew-read") as pool:
            # The mark that ends a request goes along.
            read = [
                pool.submit(copy_context().run, self._read, question, passage)
                for passage in passages
            ]
            return [one.result() for one in read]

    def _read(self, question: str, passage: Unread) -> Reading:
        tokens = encode(self.tokenizer, question, passage)
        columns = {
            "input_ids": np.array([tokens.ids], np.int64),
            "token_type_ids": np.array([tokens.types], np.int64),
            "attention_mask": np.ones((1, len(tokens.ids)), np.int64),
        }
        # Alone: a batch shares the scales of its rounding, and is no faster.
        spans, relevance = self.run(columns, ("spans", "relevance"))
        return Reading(float(relevance[0]), *best_span(tokens, spans[0]))


@cache
def shipped() -> OnnxReader | None:
    """The reader of clew-models, one for a process; None where it is not installed."""
    reader = OnnxReader()
    with suppress(ModelError):
        return reader if reader.located else None
    return None


def best_span(tokens: Tokens, spans: NDArray[np.float32]) -> tuple[float, tuple[int, int]]:
    """Return the margin and the characters of the likeliest answer in the text.

    `spans` (tokens or more, 2) are the logits of where an answer begins and ends; those of the
    first token say that there is none.
    """
    places = np.flatnonzero([end > 0 for _, end in tokens.offsets])
    if not len(places):
        return float("-inf"), (0, 0)
    begins, ends = spans[places, 0], spans[places, 1]
    sums = begins[:, None] + ends[None, :]
    apart = np.arange(len(places))[None, :] - np.arange(len(places))[:, None]
    sums = np.where((apart >= 0) & (apart < LONGEST_ANSWER), sums, -np.inf)
    first, last = np.unravel_index(int(sums.argmax()), sums.shape)
    margin = float(sums[first, last] - spans[0].sum())
    return margin, (tokens.offsets[places[first]][0], tokens.offsets[places[last]][1])
