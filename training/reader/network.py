"""The network: BERT with three heads, over "question [SEP] thread [SEP] passage"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertModel

from clew.models.reader import Tokens
from clew.models.reader import encode as encode_whole
from clew.models.wordpiece import Tokenizer
from clew.types import Unread
from training.reader.examples import Passage

LENGTH = 192
"""Tokens that are learned from at once; a passage that is longer is cut around its answer."""


class Layer(nn.Module):
    """A layer of BERT without dropout: drawing the zeros takes longer than the layer itself."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        own = layer.attention.self
        self.width = own.query.weight.shape[0]
        self.heads = own.num_attention_heads
        self.inward = nn.Linear(self.width, 3 * self.width)
        parts = (own.query, own.key, own.value)
        with torch.no_grad():
            self.inward.weight.copy_(torch.cat([part.weight for part in parts]))
            self.inward.bias.copy_(torch.cat([part.bias for part in parts]))
        self.outward = layer.attention.output.dense
        self.first_norm = layer.attention.output.LayerNorm
        self.wide = layer.intermediate.dense
        self.narrow = layer.output.dense
        self.second_norm = layer.output.LayerNorm

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the states (batch, tokens, width) of the next layer."""
        batch, length, width = x.shape
        size = width // self.heads
        if not torch.is_grad_enabled():
            return self._read(x, mask)
        states = self.inward(x).view(batch, length, 3, self.heads, size).permute(2, 0, 3, 1, 4)
        asked, keys, values = states.contiguous()
        alike = (asked * size**-0.5) @ keys.transpose(-1, -2)
        weights = torch.softmax(alike + mask.to(alike.dtype), -1)
        mixed = (weights @ values).transpose(1, 2).reshape(batch, length, width)
        x = self.first_norm(x + self.outward(mixed))
        return self.second_norm(x + self.narrow(functional.gelu(self.wide(x))))

    def _read(self, x: Tensor, mask: Tensor) -> Tensor:
        """Do the same in half the time, without what learning needs to go back."""
        states = self.inward(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*states, attn_mask=mask)
        x = self.first_norm(x + self.outward(mixed.transpose(1, 2).flatten(2)))
        wide = self.wide
        passed = torch.ops.mkldnn._linear_pointwise(x, wide.weight, wide.bias, "gelu", [], "none")
        return self.second_norm(x + self.narrow(passed))


class Encoder(nn.Module):
    """Embeddings and layers of BERT, without dropout."""

    def __init__(self, weights: Path, layers: int) -> None:
        super().__init__()
        bert = BertModel.from_pretrained(weights, add_pooling_layer=False)
        for module in bert.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        self.embeddings = bert.embeddings
        self.layers = nn.ModuleList([Layer(layer) for layer in bert.encoder.layer[:layers]])
        self.width: int = bert.config.hidden_size

    def states(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """Return the states (batch, tokens, width); `mask` is 1 for tokens and 0 for padding."""
        x = self.embeddings(ids, token_type_ids=types)
        away = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10_000.0
        for layer in self.layers:
            x = layer(x, away)
        return x


class Reader(Encoder):
    """Gives start and end of the answer for each token, and the relevance of each passage.

    Start and end at the first token, [CLS], mean that the answer does not stand in the passage.
    """

    def __init__(self, weights: Path, layers: int = 6) -> None:
        super().__init__(weights, layers)
        self.span = nn.Linear(self.width, 2)
        self.hidden = nn.Linear(self.width, self.width)
        self.relevance = nn.Linear(self.width, 1)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return spans (batch, tokens, 2) and relevance (batch), as logits.

        `mask` (batch, tokens) is 1 for tokens and 0 for padding.
        """
        x = self.states(ids, types, mask)
        # A span stands in the passage (type 1), or at the first token.
        outside = (1 - types) * (torch.arange(ids.shape[1]) > 0)
        spans = self.span(x) - 10_000.0 * outside[..., None].to(x.dtype)
        return spans, self.relevance(torch.tanh(self.hidden(x[:, 0])))[:, 0]

    def freeze_embeddings(self) -> None:
        """Leave the embeddings as they are: half of all weights, of which few are met often."""
        self.embeddings.requires_grad_(False)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A passage with its question as tokens, and where its answer stands."""

    tokens: Tokens
    span: tuple[int, int]
    """Tokens of the answer, first and last; (0, 0): it does not stand here."""
    has_span: bool
    """Whether anybody knows `span`."""


def encode(tokenizer: Tokenizer, question: str, passage: Passage) -> Encoded:
    """Return the tokens of a question with a passage, around the answer where it is too long."""
    unread = Unread(passage.text, passage.title, passage.thread)
    tokens = encode_whole(tokenizer, question, unread, whole=LENGTH)
    place = _place(tokens, passage.answer)
    if passage.answer is not None and place is None:
        body = tokenizer.encode(passage.text).offsets
        before = sum(end <= passage.answer[0] for _, end in body)
        tokens = encode_whole(
            tokenizer, question, unread, whole=LENGTH, begin=max(0, before - LENGTH // 4)
        )
        place = _place(tokens, passage.answer)
    is_known = passage.is_judged and (place is not None or passage.answer is None)
    return Encoded(tokens, place or (0, 0), is_known)


def _place(tokens: Tokens, answer: tuple[int, int] | None) -> tuple[int, int] | None:
    """The first and the last token of the answer; None where they are not all there."""
    if answer is None:
        return None
    inside = [n for n, (a, b) in enumerate(tokens.offsets) if a < answer[1] and b > answer[0]]
    whole = inside and tokens.offsets[inside[-1]][1] >= answer[1]
    return (inside[0], inside[-1]) if whole else None


def batch(encoded: Sequence[Encoded]) -> tuple[Tensor, Tensor, Tensor]:
    """Return ids, types and mask (passages, tokens), padded."""
    width = max(len(one.tokens.ids) for one in encoded)
    width += -width % 8
    ids, types, mask = (torch.zeros(len(encoded), width, dtype=torch.long) for _ in range(3))
    for row, one in enumerate(encoded):
        length = len(one.tokens.ids)
        ids[row, :length] = torch.tensor(one.tokens.ids)
        types[row, :length] = torch.tensor(one.tokens.types)
        mask[row, :length] = 1
    return ids, types, mask
