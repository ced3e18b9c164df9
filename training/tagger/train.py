"""Train the tagger: `python -m training.tagger.train WEIGHTS RUN [--real FOLDER]`.

WEIGHTS is the folder of all-MiniLM-L6-v2, FOLDER that of `benchmarks.real.fetch`. One folder in
five is left out; the figures printed are of these. Two processes read windows of their own and
average their gradients. RUN gets `tagger.pt`; `--begin` is a tagger in ONNX to go on from.
"""

from __future__ import annotations

import argparse
import pickle
import random
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import distributed, multiprocessing

from clew.models.wordpiece import load_tokenizer
from training.reader.examples import share_of
from training.tagger.examples import Example, read_examples
from training.tagger.export import written
from training.tagger.network import Tagger

RATE, HEADS_RATE = 1.5e-4, 6e-4
HELD_OUT = 0.2
BATCH = 12
"""Windows that each process learns from at once."""


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--real", type=Path, help="folder of benchmarks.real.fetch")
    parser.add_argument("--train", type=Path, help="folder of the data sets (see models/README.md)")
    parser.add_argument("--begin", type=Path, help="a tagger in ONNX to go on from")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--rate", type=float, default=1.0, help="of the usual one")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    given.run.mkdir(parents=True, exist_ok=True)
    (given.run / "meeting").unlink(missing_ok=True)
    kept = given.run / "examples.pickle"
    if not kept.exists():
        found = list(
            read_examples(load_tokenizer(given.weights / "tokenizer.json"), given.real, given.train)
        )
        kept.write_bytes(pickle.dumps(found))
    multiprocessing.spawn(learn, (given,), given.processes)


def learn(rank: int, given: argparse.Namespace) -> None:
    """Be one of the processes."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    meeting = f"file://{given.run.absolute() / 'meeting'}"
    distributed.init_process_group("gloo", meeting, rank=rank, world_size=given.processes)
    examples: list[Example] = pickle.loads((given.run / "examples.pickle").read_bytes())
    learned = [one for one in examples if share_of(one.folder) >= HELD_OUT]
    left_out = [one for one in examples if share_of(one.folder) < HELD_OUT]
    tagger = Tagger(given.weights, given.layers)
    if given.begin:
        tagger.load_state_dict(written(given.begin), strict=False)
    heads = [p for n, p in tagger.named_parameters() if p.requires_grad and tagger.is_head(n)]
    others = [p for n, p in tagger.named_parameters() if p.requires_grad and not tagger.is_head(n)]
    optimizer = torch.optim.AdamW(
        [{"params": others, "most": RATE}, {"params": heads, "most": HEADS_RATE}],
        RATE,
        weight_decay=0.01,
    )
    steps = given.rounds * (len(learned) // (BATCH * given.processes))
    if not rank:
        print(f"{len(learned):,} windows, {len(left_out):,} left out, {steps} steps", flush=True)
    at, began = 0, time.monotonic()
    shown = torch.zeros(3)
    for number in range(given.rounds):
        for own in batches(learned, number, rank, given.processes):
            left = min((at + 20) / (steps / 10), max(0.0, 1 - at / steps))
            for part in optimizer.param_groups:
                part["lr"] = part["most"] * left * given.rate
            with torch.autocast("cpu", dtype=torch.bfloat16):
                losses = tagger.losses(own)
            optimizer.zero_grad()
            torch.stack(losses).sum().backward()
            together(tagger, given.processes)
            torch.nn.utils.clip_grad_norm_(tagger.parameters(), 1.0)
            optimizer.step()
            shown += torch.tensor([one.item() for one in losses])
            at += 1
            if not rank and at % 50 == 0:
                speed = at * BATCH * given.processes / (time.monotonic() - began)
                told = " ".join(f"{one / 50:.3f}" for one in shown.tolist())
                print(
                    f"{at:5d} of {steps}  {speed:.1f}/s  kinds, relations, tags {told}", flush=True
                )
                shown = torch.zeros(3)
        if not rank:
            torch.save(tagger.state_dict(), given.run / "tagger.pt")
            report(tagger, left_out)
        distributed.barrier()


def batches(
    examples: Sequence[Example], number: int, rank: int, processes: int
) -> list[list[Example]]:
    """Return the batches of a process for a round, of windows of like length."""
    rng = random.Random(number)
    order = sorted(examples, key=lambda one: len(one.tokens.ids) + rng.random() * 16)
    size = BATCH * processes
    groups = [order[n : n + size] for n in range(0, len(order) - size + 1, size)]
    rng.shuffle(groups)
    return [group[rank::processes] for group in groups]


def together(tagger: Tagger, processes: int) -> None:
    """Average the gradients of all processes."""
    learned = [one for one in tagger.parameters() if one.requires_grad]
    flat = torch.cat(
        [(p.grad if p.grad is not None else torch.zeros_like(p)).flatten() for p in learned]
    )
    distributed.all_reduce(flat)
    flat /= processes
    at = 0
    for one in learned:
        one.grad = flat[at : at + one.numel()].view_as(one).clone()
        at += one.numel()


def report(tagger: Tagger, examples: Sequence[Example]) -> None:
    """Print what windows of folders left out cost."""
    tagger.eval()
    with torch.no_grad():
        costs = [
            torch.stack(tagger.losses(examples[n : n + BATCH]))
            for n in range(0, len(examples), BATCH)
        ]
    told = " ".join(f"{one:.3f}" for one in torch.stack(costs).mean(0).tolist())
    print(f"left out: kinds, relations, tags {told}", flush=True)
    tagger.train()


if __name__ == "__main__":
    main()
