"""The tagger: a small encoder that says what names name, and which facts sentences state of them.

It reads windows of a text, each with the title and the line before, and gives a vector for each
token. Heads of two layers tell what a name names, from the vectors of its tokens, and which
relation a sentence states between two names, from theirs and what stands between them.
`training/tagger/` trains it from the embedder's weights.

The layout of the pair head follows Eberts and Ulges, "Span-based joint entity and relation
extraction with transformer pre-training" (2020).
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.errors import ModelError
from clew.models.locate import TAGGER
from clew.models.onnx import PROCESSOR, ModelConfig, OnnxModel
from clew.ports import KINDS, Said

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.models.locate import ModelFiles
    from clew.models.wordpiece import Tokenizer
    from clew.types import CharRange

    Values = NDArray[np.float32]

TITLE, WHOLE = 16, 128
"""Tokens of the title and of a window, at most."""
BESIDE = 3
"""Tokens on either side of two names that are looked at, too."""
BEFORE = 160
"""Characters before a window's first sentence that are read with it."""


class Window(NamedTuple):
    """A part of a text that is read at once."""

    begin: int
    """First character."""
    end: int
    sentences: tuple[CharRange, ...]
    """What it is read for; what stands before them only leads there."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A window as the model gets it."""

    ids: list[int]
    cases: list[int]
    starts: list[int]
    """First character of the text by token, ascending; -1 for those of the title."""
    ends: list[int]

    def place(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the first token of a range of characters, and the one behind it; None: cut off."""
        first = bisect_right(self.ends, start)
        last = bisect_left(self.starts, end)
        return (first, last) if first < last and self.starts[first] >= 0 else None


def windows(text: str, sentences: Sequence[CharRange], tokenizer: Tokenizer) -> Iterator[Window]:
    """Yield the windows of a text in which the sentences stand, each in one.

    A window holds as many sentences as `WHOLE` tokens have room for.
    """
    room = WHOLE - TITLE - 4
    own: list[CharRange] = []
    size = 0
    for start, end in sentences:
        length = tokenizer.count(text[start:end])
        if own and (size + length > room or start - own[-1][1] > BEFORE):
            yield _window(text, own)
            own, size = [], 0
        # What stands before is cut first where there is no room for it.
        own.append((start, end))
        size += length
    if own:
        yield _window(text, own)


def _window(text: str, own: Sequence[CharRange]) -> Window:
    begin = max(0, own[0][0] - BEFORE)
    # From a whole word on.
    space = text.find(" ", begin, own[0][0])
    return Window(begin if not begin or space < 0 else space, own[-1][1], tuple(own))


def encode(tokenizer: Tokenizer, title: str, text: str, window: Window) -> Tokens:
    """Return the tokens of a window behind the title, the start of what leads there cut."""
    cls, sep = map(tokenizer.token_id, ("[CLS]", "[SEP]"))
    told = tokenizer.encode(title)
    head = told.ids[:TITLE]
    said = text[window.begin : window.end]
    body = tokenizer.encode(said)
    first = window.sentences[0][0] - window.begin
    leading = sum(end <= first for _, end in body.offsets)
    cut = min(leading, max(0, len(body.ids) + len(head) + 3 - WHOLE))
    read = slice(cut, cut + WHOLE - len(head) - 3)
    offsets = body.offsets[read]
    cases = [_case(title[a:b]) for a, b in told.offsets[:TITLE]]
    return Tokens(
        ids=[cls, *head, sep, *body.ids[read], sep],
        cases=[0, *cases, 0, *(_case(said[a:b]) for a, b in offsets), 0],
        starts=[-1] * (len(head) + 2) + [window.begin + a for a, _ in offsets] + [window.end],
        ends=[-1] * (len(head) + 2) + [window.begin + b for _, b in offsets] + [window.end + 1],
    )


CASES = 6


def _case(word: str) -> int:
    """Return how a token is written (0 to `CASES` - 1), which the model's words don't tell."""
    if word[:1].isdigit():
        return 4
    if not word[:1].isalpha():
        return 5
    if word.isupper():
        return 3 if len(word) > 1 else 2
    return 2 if word[0].isupper() else 1


class OnnxTagger(OnnxModel):
    """A tagger on onnxruntime; threads may share it.

    Args:
        model: `tagger`, the one of clew-models, or a directory with `model.onnx`,
            `tokenizer.json`, `config.json` and `heads.npz`.
        providers: Execution providers of onnxruntime.
    """

    def __init__(self, model: str = "tagger", *, providers: Sequence[str] = PROCESSOR) -> None:
        super().__init__(model, TAGGER, None, 1, providers)

    def __reduce__(self) -> tuple[type[OnnxTagger], tuple[str]]:
        """Another process loads it by itself."""
        return type(self), (self._model,)

    def configuration(self, files: ModelFiles) -> ModelConfig:
        """See `OnnxModel`."""
        return ModelConfig(dimension=1, max_tokens=WHOLE, pad_id=0)

    @cached_property
    def bounds(self) -> Mapping[str, float]:
        """From which probability on it is believed: see `clew.indexing.ner.classifier`."""
        told = json.loads((self.located[0].folder / "config.json").read_text("utf-8"))
        return {name: float(told[name]) for name in ("likely", "sure", "stated")}

    @cached_property
    def heads(self) -> Mapping[str, Values]:
        """Matrices and biases of the heads."""
        with np.load(self.located[0].folder / "heads.npz") as made:
            return dict(made)

    def read(
        self, title: str, text: str, named: Mapping[CharRange, Sequence[CharRange]]
    ) -> dict[CharRange, Said]:
        """Return what is said of the names of each sentence.

        Args:
            title: Of the document.
            text: Of a chunk.
            named: The names of each sentence, as ranges of characters of the text like itself.

        Raises:
            ModelError: The model cannot be found or run.
        """
        found = {}
        for window in windows(text, sorted(named), self.tokenizer):
            tokens = encode(self.tokenizer, title, text, window)
            states = self._states(tokens)
            for sentence in window.sentences:
                places = [tokens.place(*name) for name in named[sentence]]
                found[sentence] = self._said(states, places)
        return found

    def _states(self, tokens: Tokens) -> Values:
        """(tokens, width)."""
        columns = {
            "input_ids": np.array([tokens.ids], np.int64),
            "token_type_ids": np.array([tokens.cases], np.int64),
            "attention_mask": np.ones((1, len(tokens.ids)), np.int64),
        }
        return self.run(columns, ("states",))[0][0]

    def _said(self, states: Values, places: Sequence[tuple[int, int] | None]) -> Said:
        heads = self.heads

        def layer(values: Values, name: str) -> Values:
            return values @ heads[f"{name}.weight"].T + heads[f"{name}.bias"]

        spans = np.stack([_span(states, *(place or (0, 1))) for place in places])
        inner = np.maximum(layer(spans, "name"), 0)
        kinds = _softmax(layer(inner, "kind"))
        for number, place in enumerate(places):
            if place is None:  # cut off
                kinds[number] = np.eye(1, len(KINDS))
        rows = {
            (a, b): np.concatenate(
                [inner[a], inner[b], kinds[a], kinds[b], *_around(states, one, other)]
            )
            for a, one in enumerate(places)
            for b, other in enumerate(places)
            if one and other and one[1] <= other[0]
        }
        if not rows:
            return Said(kinds, {})
        mixed = np.maximum(layer(np.stack(list(rows.values())), "pair"), 0)
        return Said(kinds, dict(zip(rows, _softmax(layer(mixed, "relation")), strict=True)))


def _span(states: Values, first: int, last: int) -> Values:
    return np.concatenate([states[first], states[last - 1], states[first:last].mean(0)])


def _around(states: Values, one: tuple[int, int], other: tuple[int, int]) -> tuple[Values, Values]:
    """What stands between two names, and around them."""
    between = states[one[1] : other[0]]
    largest = between.max(0) if len(between) else np.zeros_like(states[0])
    return largest, states[max(0, one[0] - BESIDE) : other[1] + BESIDE].mean(0)


def _softmax(odds: Values) -> Values:
    raised = np.exp(odds - odds.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


@cache
def shipped() -> OnnxTagger | None:
    """The tagger of clew-models, one for a process; None where it is not installed."""
    tagger = OnnxTagger()
    with suppress(ModelError):
        return tagger if tagger.located else None
    return None
