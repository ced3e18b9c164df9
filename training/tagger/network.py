"""The network: layers of BERT, and heads for names, pairs of names, and the tags of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from clew.models.tagger import BESIDE, CASES
from clew.ports import KINDS, RELATIONS
from training.reader.network import Encoder
from training.tagger.examples import Example

INNER = 256
"""Width of what a head keeps of a name or a pair."""
DROPPED = 0.2
NOTHING = 0.6
"""Weight of a pair of which nothing is stated."""


class Tagger(Encoder):
    """Gives for names what they name, for pairs what is stated of them, for tokens tags."""

    def __init__(self, weights: Path, layers: int = 6) -> None:
        super().__init__(weights, layers)
        self.embeddings.requires_grad_(False)
        width = self.width
        cases = nn.Embedding(CASES, width)
        with torch.no_grad():
            cases.weight.normal_(std=0.02).add_(self.embeddings.token_type_embeddings.weight[0])
        self.embeddings.token_type_embeddings = cases
        self.name = nn.Linear(3 * width, INNER)
        self.kind = nn.Linear(INNER, len(KINDS))
        self.pair = nn.Linear(2 * INNER + 2 * len(KINDS) + 2 * width, INNER)
        self.relation = nn.Linear(INNER, len(RELATIONS))
        self.tag = nn.Linear(width, 2 * len(KINDS) - 1)

    @staticmethod
    def is_head(name: str) -> bool:
        """Whether a parameter is of a head, which begins with nothing."""
        return not name.startswith(
            ("layers.", "embeddings.word", "embeddings.pos", "embeddings.Lay")
        )

    def forward(self, ids: Tensor, cases: Tensor, mask: Tensor) -> Tensor:
        """Return the states (batch, tokens, width)."""
        return self.states(ids, cases, mask)

    def heads(self, states: Tensor, one: Example) -> tuple[Tensor, Tensor, list[tuple[int, int]]]:
        """Return logits of the names and the pairs of a window, and the names in order."""
        names = sorted({*one.kinds, *(name for pair in one.pairs for name in pair)})
        spans = torch.stack(
            [torch.cat([states[a], states[b - 1], states[a:b].mean(0)]) for a, b in names]
        )
        inner = functional.dropout(torch.relu(self.name(spans)), DROPPED, self.training)
        kinds = self.kind(inner)
        if not one.pairs:
            return kinds, states.new_zeros(0, len(RELATIONS)), names
        likely = torch.softmax(kinds.detach().float(), -1).to(inner.dtype)
        number = {name: n for n, name in enumerate(names)}
        rows = []
        for a, b in one.pairs:
            between = states[a[1] : b[0]].amax(0) if a[1] < b[0] else torch.zeros_like(states[0])
            first, second = number[a], number[b]
            around = states[max(0, a[0] - BESIDE) : b[1] + BESIDE].mean(0)
            rows.append(
                torch.cat(
                    [inner[first], inner[second], likely[first], likely[second], between, around]
                )
            )
        mixed = torch.relu(self.pair(torch.stack(rows)))
        return kinds, self.relation(functional.dropout(mixed, DROPPED, self.training)), names

    def losses(self, examples: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor]:
        """Return what names, pairs and tags cost."""
        states = self(*batch(examples))
        weights = torch.ones(len(RELATIONS))
        weights[0] = NOTHING
        kinds, pairs, tags = [], [], []
        kind_targets, pair_targets, tag_targets = [], [], []
        for own, one in zip(states, examples, strict=True):
            logits, related, names = self.heads(own, one)
            known = [n for n, name in enumerate(names) if name in one.kinds]
            kinds.append(logits[known])
            kind_targets += [one.kinds[names[n]] for n in known]
            pairs.append(related)
            pair_targets += list(one.pairs.values())
            for first, last in one.whole:
                tags.append(self.tag(own[first:last]))
                tag_targets += true_tags(one, first, last)

        def cost(logits: list[Tensor], targets: list[int], weight: Tensor | None = None) -> Tensor:
            if not targets:
                return states.sum() * 0
            return functional.cross_entropy(
                torch.cat(logits).float(), torch.tensor(targets), weight, label_smoothing=0.05
            )

        return (
            cost(kinds, kind_targets),
            cost(pairs, pair_targets, weights),
            0.5 * cost(tags, tag_targets),
        )


def true_tags(one: Example, first: int, last: int) -> list[int]:
    """Return for each token 0 outside of names, 2 k - 1 where one of kind k begins, else 2 k."""
    tags = [0] * (last - first)
    for (a, b), kind in one.kinds.items():
        if kind > 0 and first <= a and b <= last:
            tags[a - first : b - first] = [2 * kind - 1] + [2 * kind] * (b - a - 1)
    return tags


def batch(examples: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor]:
    """Return ids, cases and mask (windows, tokens), padded."""
    width = max(len(one.tokens.ids) for one in examples)
    ids, cases, mask = (torch.zeros(len(examples), width, dtype=torch.long) for _ in range(3))
    for row, one in enumerate(examples):
        length = len(one.tokens.ids)
        ids[row, :length] = torch.tensor(one.tokens.ids)
        cases[row, :length] = torch.tensor(one.tokens.cases)
        mask[row, :length] = 1
    return ids, cases, mask
