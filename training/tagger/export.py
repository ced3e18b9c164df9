"""Write a trained tagger as ONNX in int8: `python -m training.tagger.export WEIGHTS RUN OUT`.

It is rounded as the reader is (see `training.reader.export`); the heads stay as they are.
`models/make.py tagger OUT` ships it.
`training.tagger.judge` writes from which probability on it is believed.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import shutil
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper

from models.make import FUSED, IR_VERSION, OPSET, Array, save
from training.reader.export import (
    _NAMES,
    PASSAGES,
    ReaderGraph,
    by_berts_names,
    layers_of,
    written_arrays,
)
from training.tagger.network import Tagger, batch

HEADS = ("name", "kind", "pair", "relation")


def main() -> None:
    """Read a checkpoint, write the graph and the heads."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--average", type=Path, help="a tagger in ONNX: write the mean of its weights and these"
    )
    parser.add_argument("--exact", action="store_true", help="in fp32, to compare with")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    state = torch.load(given.run / "tagger.pt")
    if given.average:
        state |= {name: (state[name] + one) / 2 for name, one in written(given.average).items()}
    weights = by_berts_names({name: one.numpy() for name, one in state.items()})
    config = json.loads((given.weights / "config.json").read_text("utf-8"))
    config["num_hidden_layers"] = 1 + max(int(n.split(".")[2]) for n in weights if "layer." in n)
    graph = TaggerGraph(config, weights, int8=not given.exact)
    if graph.int8:
        tagger = Tagger(given.weights, config["num_hidden_layers"])
        tagger.load_state_dict(state)
        graph.largest = largest(tagger, given.run)
    save(graph.build(), given.out)
    heads = {
        f"{head}.{part}": state[f"{head}.{part}"].numpy().astype(np.float32)
        for head in HEADS
        for part in ("weight", "bias")
    }
    np.savez(given.out / "heads.npz", **heads)
    shutil.copyfile(given.weights / "tokenizer.json", given.out / "tokenizer.json")


def written(folder: Path) -> dict[str, torch.Tensor]:
    """Return the weights of a tagger that `main` wrote, but for those of words and tags."""
    arrays = written_arrays(folder)
    kept = [name for name in arrays if name.startswith("embeddings.")]
    heads = np.load(folder / "heads.npz")
    state = {**layers_of(arrays), **{name: arrays[name] for name in kept}, **heads}
    return {name: torch.tensor(array, dtype=torch.float32) for name, array in state.items()}


def largest(tagger: Tagger, run: Path) -> dict[str, Array]:
    """Return by matrix the largest activation of each channel that goes into it."""
    found: dict[str, Array] = {}

    def measure(name: str, given: torch.Tensor) -> None:
        values = given.detach().abs().amax((0, 1)).numpy()
        found[name] = np.maximum(values, found.get(name, 0))

    for name, module in tagger.named_modules():
        number, _, part = name.removeprefix("layers.").partition(".")
        if part in ("wide", "narrow"):
            matrix = f"encoder.layer.{number}.{_NAMES[part]}"
            module.register_forward_pre_hook(lambda _, given, to=matrix: measure(to, given[0]))
    examples = pickle.loads((run / "examples.pickle").read_bytes())
    for one in random.Random(1).sample(examples, PASSAGES):
        with torch.no_grad():
            tagger(*batch([one]))
    return found


class TaggerGraph(ReaderGraph):
    """The encoder: `states` (batch, tokens, width)."""

    def build(self) -> onnx.ModelProto:
        """input_ids, token_type_ids (how a token is written), attention_mask: int64."""
        hidden = self.embeddings()
        for layer in range(int(self.config["num_hidden_layers"])):
            hidden = self.layer(hidden, f"encoder.layer.{layer}.")
        self.add("Identity", [hidden], "states")
        names = ("input_ids", "token_type_ids", "attention_mask")
        graph = helper.make_graph(
            self.nodes,
            "tagger",
            [
                helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "tokens"])
                for n in names
            ],
            [
                helper.make_tensor_value_info(
                    "states", TensorProto.FLOAT, ["batch", "tokens", self.config["hidden_size"]]
                )
            ],
            self.initializers(),
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


if __name__ == "__main__":
    main()
