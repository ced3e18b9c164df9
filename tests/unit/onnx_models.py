"""Small ONNX models with tokenizers, made in a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ["red", "green", "blue", "bird", "fish", "stone", "river", "night", "##s"]
VOCABULARY = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
PAD, _, CLS, SEP = range(4)
ENCODER = ("input_ids", "attention_mask", "token_type_ids")
Step = tuple[str, Sequence[str], str] | tuple[str, Sequence[str], str, dict[str, Any]]


def word_pieces() -> Tokenizer:
    """A tokenizer as BERT's."""
    made = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)],
    )
    return made


def write_graph(
    file: Path,
    steps: Sequence[Step],
    constants: Mapping[str, NDArray[Any]],
    output: Sequence[str | int],
    inputs: Sequence[str] = ENCODER,
    data: str | None = None,
) -> None:
    """A graph of steps (operation, what it takes, what it makes, its attributes).

    The last one makes the output, of the shape given. Given `data`, numbers are in a file so named.
    """
    nodes = [
        helper.make_node(kind, list(taken), [made], **(more[0] if more else {}))
        for kind, taken, made, *more in steps
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "t"]) for name in inputs],
        [helper.make_tensor_value_info(steps[-1][2], TensorProto.FLOAT, list(output))],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(made, file, save_as_external_data=data is not None, location=data, size_threshold=0)
