"""Dynamic int8 quantisation of a graph's matrix products, one scale for each token.

The usual recipe (onnxruntime's `quantize_dynamic`) takes one scale for a whole batch, so that a
text's vector depends on the texts that it is embedded with. Here each row of the activations, which
is one token, has a scale of its own: a vector depends on its text alone, and comes closer to fp32,
at the same speed. After "LLM.int8()" (Dettmers et al., 2022), without its outlier columns.

    x ≈ scale_row * (q_x - 128),  W ≈ scale_column * q_W
    x @ W ≈ scale_row * (scale_column * ((q_x - 128) @ q_W))
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from clew.errors import ModelError
from clew.models.sentence_graph import add_node

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

_FUSED = "com.microsoft"
_OPSET = 18

# Weights use seven of their eight bits. x86 processors without VNNI add pairs of products in 16
# bits, which eight-bit weights overflow: vectors would be less exact there, and differ between
# machines.
_WEIGHT_LIMIT = 63

_CONSTANTS: dict[str, NDArray[Any]] = {
    "int8_step": np.array(1 / 127, np.float32),
    "int8_least": np.array(1e-12, np.float32),  # a token of zeros is not divided by zero
    "int8_middle": np.array(128, np.uint8),
    "int8_one": np.array(1, np.float32),
    "int8_last_axis": np.array([-1], np.int64),
}


def quantise(model: ModelProto) -> ModelProto:
    """The graph with every product of activations and a constant matrix in int8.

    `model` itself is used up.

    Raises:
        ModelError: The graph is of an old opset and cannot be brought to a newer one.
    """
    model = _modern(model)
    _Quantiser(model).run()
    return model


def _modern(model: ModelProto) -> ModelProto:
    """The graph in an opset that has `ReduceMax` with its axes as an input."""
    from onnx import version_converter

    opset = next((opset.version for opset in model.opset_import if not opset.domain), _OPSET)
    if opset >= _OPSET:
        return model
    try:
        return version_converter.convert_version(model, _OPSET)
    except (RuntimeError, ValueError, IndexError) as error:
        raise ModelError(
            f"cannot quantise an ONNX model of opset {opset}: {error}. Export it with opset "
            f"{_OPSET} or newer, or set embed.precision to 'fp32'"
        ) from error


def quantise_weight(weight: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A (rows, columns) matrix as whole numbers of -63 to 63, and the (columns,) scales."""
    scale = np.maximum(np.abs(weight).max(axis=0), 1e-12) / _WEIGHT_LIMIT
    return np.round(weight / scale).astype(np.int8), scale.astype(np.float32)


class _Quantiser:
    def __init__(self, model: ModelProto) -> None:
        self._model = model
        self._weights = {
            tensor.name: tensor
            for tensor in model.graph.initializer
            if len(tensor.dims) == 2  # only those are matrices
        }
        self._nodes: list[NodeProto] = []
        self._add = partial(add_node, self._nodes)
        self._constants = dict(_CONSTANTS)
        self._quantised: set[str] = set()

    def run(self) -> None:
        graph = self._model.graph
        for node in graph.node:
            if node.op_type == "MatMul" and node.input[1] in self._weights:
                self._quantise_product(node)
            else:
                self._nodes.append(node)
        del graph.node[:]
        graph.node.extend(self._nodes)
        self._replace_constants()
        if _FUSED not in [opset.domain for opset in self._model.opset_import]:
            self._model.opset_import.append(helper.make_opsetid(_FUSED, 1))

    def _quantise_product(self, node: NodeProto) -> None:
        hidden, weight = node.input
        if hidden not in self._quantised:
            self._quantised.add(hidden)
            self._quantise_rows(hidden, int(self._weights[weight].dims[0]))
        if f"{weight}.int8" not in self._constants:
            numbers, scale = quantise_weight(numpy_helper.to_array(self._weights[weight]))
            self._constants[f"{weight}.int8"] = numbers
            self._constants[f"{weight}.scale"] = scale
        product = node.output[0] + ".unscaled"
        inputs = [f"{hidden}.int8", f"{weight}.int8", "int8_one", f"{weight}.scale", "int8_middle"]
        self._add("MatMulIntegerToFloat", inputs, product, domain=_FUSED)
        self._add("Mul", [product, f"{hidden}.scale"], node.output[0])

    def _quantise_rows(self, hidden: str, width: int) -> None:
        """Nodes from `hidden`, (…, width), to its numbers (…, width) and scales (…, 1)."""
        self._constants[f"{hidden}.as_rows"] = np.array([-1, width], np.int64)
        largest = self._add("Abs", [hidden], f"{hidden}.magnitude")
        largest = self._add("ReduceMax", [largest, "int8_last_axis"], f"{hidden}.largest")
        largest = self._add("Max", [largest, "int8_least"], f"{hidden}.positive")
        scale = self._add("Mul", [largest, "int8_step"], f"{hidden}.scale")
        row_scale = self._add("Reshape", [scale, "int8_last_axis"], f"{hidden}.row_scale")
        count = self._add("Shape", [row_scale], f"{hidden}.rows_shape")
        middle = self._add("Expand", ["int8_middle", count], f"{hidden}.middle")
        rows = self._add("Reshape", [hidden, f"{hidden}.as_rows"], f"{hidden}.rows")
        numbers = self._add(
            "QuantizeLinear", [rows, row_scale, middle], f"{hidden}.row_numbers", axis=0
        )
        shape = self._add("Shape", [hidden], f"{hidden}.shape")
        self._add("Reshape", [numbers, shape], f"{hidden}.int8")

    def _replace_constants(self) -> None:
        """Leave out the matrices that nothing refers to any more; add the new constants."""
        graph = self._model.graph
        used = {name for node in graph.node for name in node.input}
        kept = [tensor for tensor in graph.initializer if tensor.name in used]
        del graph.initializer[:]
        graph.initializer.extend(kept)
        graph.initializer.extend(
            numpy_helper.from_array(array, name) for name, array in self._constants.items()
        )
