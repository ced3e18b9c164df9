"""From token vectors to sentence vectors, as ONNX nodes: pooling, then unit length.

Only operators that mean the same in every opset are used, so that the nodes can be put behind a
graph that somebody else exported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from clew.errors import ModelError

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, ValueInfoProto

    from clew.models.model_config import ModelConfig, Pooling

OUTPUT = "clew_embedding"
"""Name of the graph's output, (batch, dimension) float32, unit length."""

_HIDDEN_STATES = ("last_hidden_state", "token_embeddings")


def pooling_nodes(hidden: str, pooling: Pooling) -> list[NodeProto]:
    """Nodes from `hidden`, (batch, tokens, dimension), and `attention_mask` to `OUTPUT`.

    The mean needs no division by the number of tokens: the length is taken out right after.
    """
    unit = helper.make_node("LpNormalization", ["clew_pooled"], [OUTPUT], axis=1, p=2)
    if pooling == "cls":
        return [helper.make_node("Gather", [hidden, "clew_first"], ["clew_pooled"], axis=1), unit]
    return [
        helper.make_node("Cast", ["attention_mask"], ["clew_mask"], to=TensorProto.FLOAT),
        helper.make_node("Reshape", ["clew_mask", "clew_as_row"], ["clew_mask_row"]),
        helper.make_node("MatMul", ["clew_mask_row", hidden], ["clew_sum"]),
        helper.make_node("Reshape", ["clew_sum", "clew_as_matrix"], ["clew_pooled"]),
        unit,
    ]


def pooling_constants(pooling: Pooling) -> dict[str, NDArray[Any]]:
    """The constants that `pooling_nodes` refers to."""
    if pooling == "cls":
        return {"clew_first": np.array(0, np.int64)}
    return {
        "clew_as_row": np.array([0, 1, -1], np.int64),
        "clew_as_matrix": np.array([0, -1], np.int64),
    }


def add_pooling(model: ModelProto, config: ModelConfig) -> None:
    """Put pooling behind an exported encoder, in place; `OUTPUT` becomes its only output.

    Raises:
        ModelError: The graph has no output of token vectors, or no attention mask.
    """
    graph = model.graph
    outputs = [output.name for output in graph.output]
    hidden = next((name for name in _HIDDEN_STATES if name in outputs), None)
    if hidden is None or "attention_mask" not in [value.name for value in graph.input]:
        raise ModelError(
            f"the ONNX model has outputs {outputs}; expected an encoder with the input "
            f"'attention_mask' and an output {' or '.join(map(repr, _HIDDEN_STATES))}"
        )
    graph.node.extend(pooling_nodes(hidden, config.pooling))
    graph.initializer.extend(initializers(pooling_constants(config.pooling)))
    del graph.output[:]
    graph.output.append(output_info(config.dimension))


def make_node(
    operator: str, inputs: Sequence[str], output: str, domain: str = "", **options: float
) -> NodeProto:
    """A node of one output; the options are its attributes."""
    node = helper.make_node(operator, list(inputs), [output], domain=domain)
    node.attribute.extend(helper.make_attribute(name, value) for name, value in options.items())
    return node


def add_node(
    nodes: list[NodeProto],
    operator: str,
    inputs: Sequence[str],
    output: str,
    domain: str = "",
    **options: float,
) -> str:
    """Append a node of one output, whose name is returned."""
    nodes.append(make_node(operator, inputs, output, domain, **options))
    return output


def initializers(constants: Mapping[str, NDArray[Any]]) -> Sequence[TensorProto]:
    """Constants as the graph holds them."""
    return [numpy_helper.from_array(array, name) for name, array in constants.items()]


def output_info(dimension: int) -> ValueInfoProto:
    """Type and shape of `OUTPUT`."""
    return helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["batch", dimension])


def read_onnx(path: Path) -> ModelProto:
    """An exported graph with its weights.

    Raises:
        ModelError: The file is damaged.
    """
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        return onnx.load(path)
    except (OSError, DecodeError, onnx.checker.ValidationError) as error:
        raise ModelError(
            f"cannot read the ONNX model {str(path)!r}: {error}. Fetch or export it again"
        ) from error
