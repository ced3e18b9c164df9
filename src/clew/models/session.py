"""What every model on onnxruntime shares: its tokenizer, its session, its errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import ModelError
from clew.models.convert import discard

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_ERRORS_ONLY = 3


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer, which neither cuts nor pads, whatever its file says.

    Raises:
        ModelError: The file is no tokenizer.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_buffer(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelError(
            f"cannot read the tokenizer {str(path)!r}: {error}. Fetch or install the model again"
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def encodable(text: str) -> str:
    """The text with lone surrogates, which no UTF-8 has, as `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")


def padded(rows: Sequence[NDArray[np.int64]], fill: int) -> NDArray[np.int64]:
    """(rows, longest) the rows, filled up at their ends."""
    table = np.full((len(rows), max(map(len, rows))), fill, np.int64)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


def open_session(graph: Path, threads: int, setting: str) -> InferenceSession:
    """A session on the processor.

    Args:
        graph: An ONNX file.
        threads: 0 for one a core.
        setting: Where the model is chosen, for the message of an error.

    Raises:
        ModelError: The graph or its weights are damaged.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or _available_cores()
    options.log_severity_level = _ERRORS_ONLY
    # Threads that wait for work sleep: spinning gains a few per cent on an idle machine, and costs
    # a third of the rate wherever anything else runs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    with onnxruntime_errors(f"cannot load the model {str(graph)!r}", setting):
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


def open_converted(convert: Callable[[], Path], threads: int, setting: str) -> InferenceSession:
    """The session on a cached graph; a damaged one is converted once more."""
    graph = convert()
    try:
        return open_session(graph, threads, setting)
    except ModelError:
        discard(graph)
    return open_session(convert(), threads, setting)


@contextmanager
def onnxruntime_errors(what: str, setting: str) -> Iterator[None]:
    """Turn the exceptions of onnxruntime, which have no common base, into `ModelError`."""
    from onnxruntime.capi import onnxruntime_pybind11_state as errors

    try:
        yield
    except (
        errors.Fail,
        errors.InvalidArgument,
        errors.InvalidGraph,
        errors.InvalidProtobuf,
        errors.NoSuchFile,
        errors.NotImplemented,
        errors.RuntimeException,
    ) as error:
        raise ModelError(
            f"{what}: {error}. Check that tokenizer and weights belong together, "
            f"or choose another model with the setting {setting}"
        ) from error


def _available_cores() -> int:
    """Cores that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
