"""Write a trained reader as ONNX in int8: `python -m training.reader.export RUN WEIGHTS DATA OUT`.

Matrices are int8 by column, and activations are rounded with one scale a passage: on processors
with VNNI or AMX that is twice as fast as fp32, and a reader, unlike an embedder, is asked for an
order and a place, not for a vector that others are compared with. A few channels of the activations
are many times larger than the others, and would take the scale for themselves: what goes into the
wide and the narrow matrix of a layer is evened out first, by what `DATA` brings there, and the
matrix takes it back (SmoothQuant, arXiv 2211.10438). `OUT` gets `model.onnx` with
`model.data`, `tokenizer.json` and `config.json`, a model that works by itself; `models/make.py
reader OUT` ships it. The README of `models/` says what is shipped.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models.make import FUSED, IR_VERSION, OPSET, Array, BertGraph, graph_of, quantised, save
from training.reader.examples import read

if TYPE_CHECKING:
    from torch import Tensor

    from clew.models.wordpiece import Tokenizer
    from training.reader.network import Reader

_NAMES = {
    "outward": "attention.output.dense",
    "first_norm": "attention.output.LayerNorm",
    "wide": "intermediate.dense",
    "narrow": "output.dense",
    "second_norm": "output.LayerNorm",
}
PARTS = ("query", "key", "value")
HEADS = ("span", "hidden", "relevance")
EVENED = 0.85
"""How much of the unevenness goes from the activations to the matrix; 1: all."""
PASSAGES = 60
"""Passages whose activations are measured."""


def main() -> None:
    """Read a checkpoint, write the graph."""
    import torch

    from clew.models.wordpiece import load_tokenizer
    from training.reader.network import Reader

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("data", type=Path, help="what `training.reader.train` reads")
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--average", type=Path, help="a reader in ONNX: write the mean of its weights and these"
    )
    parser.add_argument("--exact", action="store_true", help="in fp32, to compare with")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    state = torch.load(given.run / "checkpoint.pt")["reader"]
    if given.average:
        # What a stage forgot of those before it comes back, and most of what it learned stays.
        state |= {name: (state[name] + one) / 2 for name, one in written(given.average).items()}
    weights = by_berts_names({name: one.numpy() for name, one in state.items()})
    config = json.loads((given.weights / "config.json").read_text("utf-8"))
    config["num_hidden_layers"] = 1 + max(int(n.split(".")[2]) for n in weights if "layer." in n)
    graph = ReaderGraph(config, weights, int8=not given.exact)
    if graph.int8:
        reader = Reader(given.weights, config["num_hidden_layers"])
        reader.load_state_dict(state)
        tokenizer = load_tokenizer(given.weights / "tokenizer.json")
        graph.largest = largest(reader, tokenizer, given.data)
    save(graph.build(), given.out)
    shutil.copyfile(given.weights / "tokenizer.json", given.out / "tokenizer.json")
    # `training.reader.weigh` writes how the logits count.
    (given.out / "config.json").write_text("{}\n", "utf-8")


def by_berts_names(state: Mapping[str, Array]) -> dict[str, Array]:
    """Return the weights under the names that BERT's have."""
    found: dict[str, Array] = {}
    for name, array in state.items():
        if not name.startswith("layers."):
            found[name] = array
            continue
        _, number, part, kind = name.split(".")
        layer = f"encoder.layer.{number}."
        if part == "inward":
            for own, piece in zip(PARTS, np.split(array, 3), strict=True):
                found[f"{layer}attention.self.{own}.{kind}"] = piece
        else:
            found[f"{layer}{_NAMES[part]}.{kind}"] = array
    return found


def written(folder: Path) -> dict[str, Tensor]:
    """Return the weights of a reader that `main` wrote, as `Reader.load_state_dict` takes them.

    Matrices come back as they were rounded. The embeddings, which nothing trains, are left out.
    """
    import torch

    arrays = written_arrays(folder)
    state = layers_of(arrays)
    state |= {f"{head}.bias": arrays[f"{head}.bias"] for head in HEADS}
    state |= {f"{head}.weight": arrays[f"{head}.matrix"].T for head in HEADS}
    return {name: torch.tensor(array, dtype=torch.float32) for name, array in state.items()}


def written_arrays(folder: Path) -> dict[str, Array]:
    """Return the arrays of a model in int8 by name, with its matrices as they were rounded."""
    model = onnx.load(graph_of(folder))
    arrays = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    for name in [one for one in arrays if one.endswith(".int8")]:
        name = name.removesuffix(".int8")
        matrix = arrays[name + ".int8"].astype(np.float32) * arrays[name + ".scale"]
        arrays[name + ".weight"] = (matrix * arrays.get(name + ".evened", np.ones(1))[:, None]).T
    return arrays


def layers_of(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the weights of the layers under the names that `Encoder` has."""
    state: dict[str, Array] = {}
    for number in range(sum(one.endswith("intermediate.dense.bias") for one in arrays)):
        layer, own = f"encoder.layer.{number}.", f"layers.{number}."
        inward = [arrays[f"{layer}attention.self.{part}.weight"] for part in PARTS]
        state[own + "inward.weight"] = np.concatenate(inward)
        state[own + "inward.bias"] = arrays[layer + "attention.self.bias"]
        for part, name in _NAMES.items():
            for kind in ("weight", "bias"):
                state[f"{own}{part}.{kind}"] = arrays[f"{layer}{name}.{kind}"]
    return state


def largest(reader: Reader, tokenizer: Tokenizer, data: Path) -> dict[str, Array]:
    """Return by matrix the largest activation of each channel that goes into it."""
    import torch

    from training.reader.network import batch, encode

    found: dict[str, Array] = {}

    def measure(name: str, given: Tensor) -> None:
        values = given.detach().abs().amax((0, 1)).numpy()
        found[name] = np.maximum(values, found.get(name, 0))

    for name, module in reader.named_modules():
        number, _, part = name.removeprefix("layers.").partition(".")
        if part in ("wide", "narrow"):
            matrix = f"encoder.layer.{number}.{_NAMES[part]}"
            module.register_forward_pre_hook(lambda _, given, to=matrix: measure(to, given[0]))
    groups = [one for one in read(data, held_out=False) if one.answers]
    for group in random.Random(1).sample(groups, PASSAGES):
        with torch.no_grad():
            reader(*batch([encode(tokenizer, group.question, group.passages[0])]))
    return found


class ReaderGraph(BertGraph):
    """The reader: `spans` (batch, tokens, 2) and `relevance` (batch), both logits."""

    largest: Mapping[str, Array] = {}
    """As the function of that name gives it."""

    def build(self) -> onnx.ModelProto:
        """input_ids, token_type_ids, attention_mask: (batch, tokens) int64."""
        hidden = self.embeddings()
        for layer in range(int(self.config["num_hidden_layers"])):
            hidden = self.layer(hidden, f"encoder.layer.{layer}.")
        self.small(hidden, "span", "spans")
        self.constant("first", np.zeros(1, np.int64))
        self.add("Gather", [hidden, "first"], "opening", axis=1)
        self.small("opening", "hidden", "raised")
        self.add("Tanh", ["raised"], "bent")
        self.small("bent", "relevance", "relevances")
        self.constant("last", np.array([1, 2], np.int64))
        self.add("Squeeze", ["relevances", "last"], "relevance")
        names = ("input_ids", "token_type_ids", "attention_mask")
        shapes: dict[str, list[str | int | None]] = {
            "spans": ["batch", "tokens", 2],
            "relevance": ["batch"],
        }
        graph = helper.make_graph(
            self.nodes,
            "reader",
            [
                helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "tokens"])
                for n in names
            ],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()],
            self.initializers(),
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)

    def embeddings(self) -> str:
        """Word + position + token type, normalised."""
        table = self.named("embeddings.position_embeddings.weight")
        words = self.words(self.tensor("embeddings.word_embeddings.weight"))
        self.add("Shape", ["input_ids"], "length", start=1, end=2)
        self.add("Slice", [table, "start", "length"], "position_vectors")
        kinds = self.named("embeddings.token_type_embeddings.weight")
        self.add("Gather", [kinds, "token_type_ids"], "type_vectors")
        self.add("Add", [words, "type_vectors"], "typed")
        self.add("Cast", ["attention_mask"], "int_mask", to=TensorProto.INT32)
        inputs = ["typed", "position_vectors", *self.norm("embeddings.LayerNorm")]
        return self.normalised(inputs, "embedded")

    def product(self, hidden: str, name: str) -> str:
        """The activations, rounded as they come, times a matrix in int8."""
        if not self.int8:
            return super().product(hidden, name)
        matrix = self.tensor(name + ".weight").T
        if name in self.largest:
            given, taken = np.maximum(self.largest[name], 1e-5), np.abs(matrix).max(axis=1)
            uneven = (given**EVENED / np.maximum(taken, 1e-5) ** (1 - EVENED)).astype(np.float32)
            matrix = matrix * uneven[:, None]
            hidden = self.add(
                "Mul", [hidden, self.constant(name + ".evened", 1 / uneven)], name + ".even"
            )
        numbers, scale = quantised(matrix, axis=0)
        inputs = [
            hidden,
            self.constant(name + ".int8", numbers),
            self.constant(name + ".scale", scale[0]),
        ]
        return self.add("DynamicQuantizeMatMul", inputs, name + ".product", FUSED)

    def small(self, hidden: str, name: str, output: str) -> str:
        """A head: too small to be worth rounding."""
        self.constant(name + ".matrix", self.tensor(name + ".weight").T)
        product = self.add("MatMul", [hidden, name + ".matrix"], name + ".product")
        return self.add("Add", [product, self.named(name + ".bias")], output)


if __name__ == "__main__":
    main()
