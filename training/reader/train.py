"""Train the reader: `python -m training.reader.train DATA WEIGHTS RUN [--passages 180000]`.

WEIGHTS is the folder of all-MiniLM-L6-v2 (`config.json`, `model.safetensors`, `tokenizer.json`).
RUN gets a checkpoint every few minutes; the same command goes on from there, and with another seed
it begins a stage: PASSAGES more in another order, over which the learning rate falls in a line to
nothing. Each process runs in one thread and reads batches of its own; gradients are averaged. (Two
threads of one process wait for each other at every operation, which is many times slower wherever
anything else runs.)
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import count, islice
from pathlib import Path

import torch
from torch import Tensor, distributed, multiprocessing
from torch.nn import functional

from clew.models.wordpiece import Tokenizer, load_tokenizer
from training.reader import notes, worlds
from training.reader.examples import Group, Rounds, read
from training.reader.export import written
from training.reader.network import Encoded, Reader, batch, encode

RATE, WARM = 9e-5, 4_000
TOKENS = 7_000
"""Of the passages that a batch is chosen from, about."""
WRONG = 2
"""Passages of a question that do not help and are learned from: those that mislead most."""
EASY = 0.1
"""A question none of whose passages costs more is known, and left out."""
NOTES = 4_000
"""Questions about invented notes that a round reads."""
POOL = 400
"""Groups that are sorted by length, to be read with others of their length."""


def main() -> None:
    """Train, or go on with training."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--passages", type=int, default=180_000)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--begin", type=Path, help="folder of a reader in ONNX: without a checkpoint, go on from it"
    )
    parser.add_argument(
        "--newest", help="how the names of folders begin that a round reads four times"
    )
    given = parser.parse_args()
    given.run.mkdir(parents=True, exist_ok=True)
    (given.run / "meeting").unlink(missing_ok=True)
    multiprocessing.spawn(learn, (given,), given.processes)


def learn(rank: int, given: argparse.Namespace) -> None:
    """Be one of the processes."""
    torch.set_num_threads(1)
    torch.manual_seed(given.seed)
    meeting = f"file://{given.run.absolute() / 'meeting'}"
    distributed.init_process_group("gloo", meeting, rank=rank, world_size=given.processes)
    checkpoint = given.run / "checkpoint.pt"
    tokenizer = load_tokenizer(given.weights / "tokenizer.json")
    reader = first(given)
    learned = [one for one in reader.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(learned, RATE, weight_decay=0.01, fused=True)
    at = {"seed": given.seed, "first": 0, "seen": 0, "steps": 0}
    if checkpoint.exists():
        state = torch.load(checkpoint)
        reader.load_state_dict(state["reader"])
        optimizer.load_state_dict(state["optimizer"])
        at = state["at"]
        if at["seed"] != given.seed:
            at |= {"seed": given.seed, "first": at["seen"], "steps": 0}
    begun, last = at["first"], at["first"] + given.passages
    invented = partial(notes.groups, number=NOTES)
    rounds = Rounds(material(given), given.seed, invented)
    own = islice(batches(rounds, tokenizer), rank, None, given.processes)
    began = saved = time.monotonic()
    start, shown = at["seen"], torch.zeros(3)
    chooser = deepcopy(reader).bfloat16()
    for groups in islice(own, at["steps"], None):
        if at["seen"] >= last:
            break
        left = (last - at["seen"]) / given.passages
        rate = RATE * min((at["seen"] - begun + 200) / WARM, left)
        for part in optimizer.param_groups:
            part["lr"] = rate
        chooser.load_state_dict(reader.state_dict())
        counted = step(reader, optimizer, hardest(chooser, groups))
        shown += counted[:3]
        at["steps"] += 1
        at["seen"] += int(counted[3])
        if rank:
            continue
        if at["steps"] % 50 == 0:
            speed = (at["seen"] - start) / (time.monotonic() - began)
            told = " ".join(f"{one / 50:.3f}" for one in shown.tolist())
            print(
                f"{at['seen']:8d} passages  {speed:5.1f}/s  span, relevance, order {told}",
                flush=True,
            )
            shown = torch.zeros(3)
        if time.monotonic() - saved > 240:
            save(checkpoint, reader, optimizer, at)
            saved = time.monotonic()
    if not rank:
        save(checkpoint, reader, optimizer, at)


def material(given: argparse.Namespace) -> list[Group]:
    """Return what there is to learn from."""
    found = [*read(given.data, held_out=False), *worlds.read(held_out=False)]
    if given.newest:
        found += 3 * [one for one in found if one.source.startswith(f"worlds/{given.newest}")]
    return found


def first(given: argparse.Namespace) -> Reader:
    """Return the network that training begins with, its embeddings frozen."""
    reader = Reader(given.weights, given.layers)
    if given.begin:
        reader.load_state_dict(written(given.begin), strict=False)
    reader.freeze_embeddings()
    return reader


def batches(rounds: Rounds, tokenizer: Tokenizer) -> Iterator[list[tuple[Group, list[Encoded]]]]:
    """Yield batches of whole groups of like length, round after round without an end."""
    for number in count():
        pool: list[tuple[Group, list[Encoded]]] = []
        for group in rounds.round(number):
            encoded = [encode(tokenizer, group.question, one) for one in group.passages]
            pool.append((group, encoded))
            if len(pool) == POOL:
                yield from _split(pool, number)
                pool = []
        yield from _split(pool, number)


def _split(
    pool: list[tuple[Group, list[Encoded]]], seed: int
) -> list[list[tuple[Group, list[Encoded]]]]:
    pool = sorted(pool, key=lambda one: max(len(encoded.tokens.ids) for encoded in one[1]))
    found: list[list[tuple[Group, list[Encoded]]]] = [[]]
    passages = 0
    for group, encoded in pool:
        width = max(len(one.tokens.ids) for one in encoded)
        if found[-1] and (passages + len(encoded)) * width > TOKENS:
            found.append([])
            passages = 0
        found[-1].append((group, encoded))
        passages += len(encoded)
    order = torch.randperm(len(found), generator=torch.Generator().manual_seed(seed)).tolist()
    return [found[at] for at in order]


def hardest(
    reader: Reader, groups: list[tuple[Group, list[Encoded]]]
) -> list[tuple[Group, list[Encoded]]]:
    """Return the questions that the reader does not know, with the passages that mislead it most.

    Reading costs a sixth of learning, and most passages that do not help say so at once. `reader`
    is a copy in bfloat16.
    """
    encoded = [one for _, passages in groups for one in passages]
    with torch.no_grad():
        spans, relevance = reader(*batch(encoded))
    helps = torch.tensor([float(one.helps) for group, _ in groups for one in group.passages])
    costs = functional.binary_cross_entropy_with_logits(relevance.float(), helps, reduction="none")
    targets = torch.tensor([one.span for one in encoded])
    known = torch.tensor([float(one.has_span) for one in encoded])
    for side in (0, 1):
        own = functional.cross_entropy(spans[..., side].float(), targets[:, side], reduction="none")
        costs += known * own / 2
    kept, at = [], 0
    for group, passages in groups:
        cost = costs[at : at + len(passages)].tolist()
        at += len(passages)
        if max(cost) < EASY:
            continue
        order = sorted(range(len(passages)), key=lambda n: -cost[n])
        wrong = [n for n in order if not group.passages[n].helps][:WRONG]
        chosen = [n for n, one in enumerate(group.passages) if one.helps or n in wrong]
        some = replace(group, passages=tuple(group.passages[n] for n in chosen))
        kept.append((some, [passages[n] for n in chosen]))
    return kept or groups[:1]


def step(
    reader: Reader, optimizer: torch.optim.Optimizer, groups: list[tuple[Group, list[Encoded]]]
) -> Tensor:
    """Learn from a batch of each process; return the three losses, and the passages of all."""
    encoded = [one for _, passages in groups for one in passages]
    helps = torch.tensor([float(one.helps) for group, _ in groups for one in group.passages])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        spans, relevance = reader(*batch(encoded))
    spans, relevance = spans.float(), relevance.float()
    known = torch.tensor([one.has_span for one in encoded])
    targets = torch.tensor([one.span for one in encoded])
    places = [
        functional.cross_entropy(spans[known][..., side], targets[known][:, side])
        for side in (0, 1)
    ]
    span = (places[0] + places[1]) / 2 if known.any() else spans.sum() * 0
    single = functional.binary_cross_entropy_with_logits(relevance, helps)
    # Which passage of a question helps: a choice among its own.
    orders, at = [], 0
    for _, passages in groups:
        own = slice(at, at + len(passages))
        at += len(passages)
        if 0 < helps[own].sum() < len(passages):
            chosen = torch.log_softmax(relevance[own], 0)[helps[own] > 0]
            orders.append(-chosen.mean())
    order = torch.stack(orders).mean() if orders else relevance.sum() * 0
    loss = span + 0.5 * single + 0.5 * order
    optimizer.zero_grad()
    loss.backward()
    learned = [one for one in reader.parameters() if one.grad is not None]
    together = torch.cat([one.grad.flatten() for one in learned])
    distributed.all_reduce(together)
    together /= distributed.get_world_size()
    at = 0
    for one in learned:
        one.grad.copy_(together[at : at + one.numel()].view_as(one))
        at += one.numel()
    torch.nn.utils.clip_grad_norm_(learned, 1.0)
    optimizer.step()
    told = torch.tensor([span.item(), single.item(), order.item(), float(len(encoded))])
    distributed.all_reduce(told)
    told[:3] /= distributed.get_world_size()
    return told


def save(
    path: Path, reader: Reader, optimizer: torch.optim.Optimizer, at: Mapping[str, int]
) -> None:
    """Write a checkpoint, whole or not at all."""
    state = {"reader": reader.state_dict(), "optimizer": optimizer.state_dict(), "at": at}
    torch.save(state, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


if __name__ == "__main__":
    main()
