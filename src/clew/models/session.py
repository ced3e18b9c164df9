"""Sessions of onnxruntime: what opens, computes and fails there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clew.errors import ModelError
from clew.request_end import go_on

if TYPE_CHECKING:
    from pathlib import Path

    from onnxruntime import InferenceSession

PROCESSOR = ("CPUExecutionProvider",)
"""The execution provider that every build of onnxruntime has."""
_ERRORS_ONLY = 3


def open_session(
    graph: Path, threads: int, setting: str, providers: Sequence[str] = PROCESSOR
) -> InferenceSession:
    """A session on what computes it.

    Args:
        graph: An ONNX file.
        threads: 0 for one a core.
        setting: Where the model is chosen, for the message of an error.
        providers: Execution providers of onnxruntime, each for what those before it cannot.

    Raises:
        ModelError: The graph or its weights are damaged, or a provider is not there.
    """
    import onnxruntime

    _check_providers(providers)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or available_cores()
    options.log_severity_level = _ERRORS_ONLY
    # Threads that wait for work sleep: spinning gains a few per cent on an idle machine, and costs
    # a third of the rate wherever anything else runs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    with onnxruntime_errors(f"cannot load the model {str(graph)!r}", setting):
        return onnxruntime.InferenceSession(str(graph), options, providers=list(providers))


def _check_providers(providers: Sequence[str]) -> None:
    """Raise `ModelError` for one that is not there: onnxruntime would go on without it."""
    import onnxruntime

    there = onnxruntime.get_available_providers()
    missing = [name for name in providers if name not in there]
    if missing:
        raise ModelError(
            f"onnxruntime has no execution provider {missing[0]!r} here, but {', '.join(there)};"
            " install a build of onnxruntime that has it, or correct the setting embed.providers"
        )


@contextmanager
def onnxruntime_errors(what: str, setting: str) -> Iterator[None]:
    """Turn the exceptions of onnxruntime, which have no common base, into `ModelError`.

    Nothing is run for a request that ended.
    """
    go_on()
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


def available_cores() -> int:
    """Cores that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
