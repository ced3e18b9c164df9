"""A BERT sentence encoder or cross-encoder as an ONNX graph, written from its weights.

onnxruntime's fused operators are used directly (`MultiHeadAttention`,
`SkipLayerNormalization`, `BiasGelu`), so that a session
starts without an optimiser's pass. Pooling and normalisation are part of the graph: tokens in, unit
vectors out, or the logit of a pair.

    input_ids, attention_mask: (batch, tokens) int64  →  embedding: (batch, dimension) float32
    … and token_type_ids: (batch, tokens) int64  →  logit: (batch, 1) float32
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper

from clew.errors import ModelError
from clew.models.model_config import ModelConfig
from clew.models.sentence_graph import (
    OUTPUT,
    add_node,
    initializers,
    output_info,
    pooling_constants,
    pooling_nodes,
)

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

Array = NDArray[Any]

_FUSED = "com.microsoft"
# The oldest versions that have every operator used: any onnxruntime of the last years reads them.
_OPSET = 18
_IR_VERSION = 9


def build_bert(config: ModelConfig, weights: Mapping[str, Array]) -> ModelProto:
    """The graph of a BERT encoder with pooling and L2 normalisation, or of a classifier.

    Args:
        config: Sizes, activation and pooling.
        weights: Tensors by their Hugging Face name, with or without the leading `bert.`.

    Raises:
        ModelError: An architecture other than BERT, or a tensor that is missing or misshapen.
    """
    check_architecture(config)
    return _BertGraph(config, weights).build()


def read_safetensors(path: Path) -> dict[str, Array]:
    """Tensors by name.

    Raises:
        ModelError: The file is damaged, or holds numbers of a kind that numpy does not have.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError, TypeError) as error:
        raise ModelError(
            f"cannot read the weights {str(path)!r}: {error}. Expected a whole safetensors file "
            "of float32 or float16; fetch or install the model again"
        ) from error


def check_architecture(config: ModelConfig) -> None:
    """Raise `ModelError` where the graph would compute something else than the model does."""
    expected = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "position_embedding_type": "absolute",
    }
    for name, value in expected.items():
        given = config.architecture.get(name, value)
        if given != value:
            raise ModelError(
                f"a model with {name} = {given!r} cannot be built from safetensors, only "
                f"{value!r} can; provide the model as onnx/model.onnx instead"
            )


class _BertGraph:
    """Collects nodes and weights; every method adds one part and gives the name of its output."""

    def __init__(self, config: ModelConfig, weights: Mapping[str, Array]) -> None:
        self._config = config
        self._weights = {name.removeprefix("bert."): array for name, array in weights.items()}
        self._nodes: list[NodeProto] = []
        self._add = partial(add_node, self._nodes)
        self._constants: dict[str, Array] = {}
        self._epsilon = float(config.architecture.get("layer_norm_eps", 1e-12))
        self._inputs = ["input_ids", "attention_mask"]

    def build(self) -> ModelProto:
        hidden = self._embeddings()
        for layer in range(int(self._config.architecture["num_hidden_layers"])):
            hidden = self._layer(hidden, f"encoder.layer.{layer}.")
        if self._config.pooling == "classifier":
            self._classifier(hidden)
        else:
            self._nodes += pooling_nodes(hidden, self._config.pooling)
            self._constants |= pooling_constants(self._config.pooling)
        return self._model()

    def _embeddings(self) -> str:
        """Word + position + token type, normalised."""
        positions = self._tensor("embeddings.position_embeddings.weight")
        types = self._tensor("embeddings.token_type_embeddings.weight")
        table = self._constant("positions", positions + types[0])
        words = self._constant("words", self._tensor("embeddings.word_embeddings.weight"))
        start = self._constant("start", np.zeros(1, np.int64))
        self._add("Gather", [words, "input_ids"], "word_vectors")
        tokens = "word_vectors"
        if self._config.pooling == "classifier":
            tokens = self._add_types(tokens, types - types[0])
        self._add("Shape", ["input_ids"], "length", start=1, end=2)
        self._add("Slice", [table, start, "length"], "position_vectors")
        inputs = [tokens, "position_vectors", *self._norm("embeddings.LayerNorm")]
        self._add("Cast", ["attention_mask"], "int_mask", to=TensorProto.INT32)
        return self._fused("SkipLayerNormalization", inputs, "embedded", epsilon=self._epsilon)

    def _add_types(self, tokens: str, differences: Array) -> str:
        """What the second text's tokens have other than the first's, which positions hold."""
        self._inputs.append("token_type_ids")
        table = self._constant("types", differences)
        self._add("Gather", [table, "token_type_ids"], "type_vectors")
        return self._add("Add", [tokens, "type_vectors"], "typed_vectors")

    def _classifier(self, hidden: str) -> None:
        """The first token's vector through the pooler, then a single logit."""
        shape = self._tensor("classifier.weight").shape
        if shape[0] != 1:
            raise ModelError(
                f"the classifier has {shape[0]} outputs; expected a cross-encoder with one. "
                "Choose another model with the setting rerank.model"
            )
        self._constants["first"] = np.array(0, np.int64)
        first = self._add("Gather", [hidden, "first"], "first_vector", axis=1)
        pooled = self._add("Tanh", [self._linear(first, "pooler.dense")], "pooled")
        self._add("Identity", [self._linear(pooled, "classifier")], OUTPUT)

    def _linear(self, hidden: str, name: str) -> str:
        product = self._matmul(hidden, name)
        return self._add("Add", [product, self._named(name + ".bias")], name + ".sum")

    def _layer(self, hidden: str, name: str) -> str:
        """Attention and feed-forward, each with its residual and normalisation."""
        attended = self._attention(hidden, name + "attention.self.")
        projected = self._matmul(attended, name + "attention.output.dense")
        middle = self._residual(projected, hidden, name + "attention.output")
        raised = self._matmul(middle, name + "intermediate.dense")
        bias = self._named(name + "intermediate.dense.bias")
        active = self._fused("BiasGelu", [raised, bias], name + "active")
        return self._residual(self._matmul(active, name + "output.dense"), middle, name + "output")

    def _attention(self, hidden: str, name: str) -> str:
        parts = [name + part for part in ("query", "key", "value")]
        biases = np.concatenate([self._tensor(part + ".bias") for part in parts])
        inputs = [
            *[self._matmul(hidden, part) for part in parts],
            self._constant(name + "bias", biases),
            "int_mask",
        ]
        heads = int(self._config.architecture["num_attention_heads"])
        return self._fused("MultiHeadAttention", inputs, name + "output", num_heads=heads)

    def _residual(self, hidden: str, skip: str, name: str) -> str:
        bias = self._named(name + ".dense.bias")
        inputs = [hidden, skip, *self._norm(name + ".LayerNorm"), bias]
        return self._fused(
            "SkipLayerNormalization", inputs, name + ".normalised", epsilon=self._epsilon
        )

    def _matmul(self, hidden: str, name: str) -> str:
        weight = self._constant(name + ".weight", self._tensor(name + ".weight").T)
        return self._add("MatMul", [hidden, weight], name + ".product")

    def _norm(self, name: str) -> list[str]:
        return [self._named(name + ".weight"), self._named(name + ".bias")]

    def _named(self, name: str) -> str:
        return self._constant(name, self._tensor(name))

    def _tensor(self, name: str) -> Array:
        if name not in self._weights:
            raise ModelError(
                f"the weights hold no tensor {name!r}; expected those of a BERT encoder. "
                "Provide the model as onnx/model.onnx instead"
            )
        return np.asarray(self._weights[name], dtype=np.float32)

    def _constant(self, name: str, array: Array) -> str:
        self._constants[name] = np.ascontiguousarray(array)
        return name

    def _fused(self, operator: str, inputs: Sequence[str], output: str, **options: float) -> str:
        return self._add(operator, inputs, output, domain=_FUSED, **options)

    def _model(self) -> ModelProto:
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
            for name in self._inputs
        ]
        graph = helper.make_graph(
            self._nodes,
            "bert",
            inputs,
            [output_info(self._config.dimension)],
            initializers(self._constants),
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
