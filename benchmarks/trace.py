"""Which files of Clew one question passes through, and how often it moves from one to another.

    uv run python -m benchmarks.trace [--strategy graph] [--files]

The demo's corpus is indexed and asked once, so that models and caches are ready; the same kind of
question is then asked under a profiler of calls and returns, in every thread. A move is a call or
a return that leads from one file of ours to another; what happens inside other packages counts as
where it was called from. Imports count as well, since a reader has to follow those, too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from types import FrameType
from typing import Any

import clew
from clew.cli.commands.demo import QUESTION

PACKAGE = str(Path(clew.__file__).parent)
WARM = "Who built the tower of the light?"


@dataclass(slots=True)
class Trace:
    """Calls by file, and moves between files."""

    calls: Counter[str] = field(default_factory=Counter)
    moves: int = 0
    _here: threading.local = field(default_factory=threading.local)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:  # noqa: ANN401
        """What `sys.setprofile` calls."""
        if event not in ("call", "return"):
            return
        target = frame if event == "call" else frame.f_back
        if target is None or not target.f_code.co_filename.startswith(PACKAGE):
            return
        file = target.f_code.co_filename[len(PACKAGE) + 1 :]
        self.calls[file] += event == "call"
        if getattr(self._here, "file", file) != file:
            self.moves += 1
        self._here.file = file


@contextmanager
def tracing() -> Iterator[Trace]:
    """Trace this thread and those that start meanwhile."""
    trace = Trace()
    set_everywhere: Callable[[Any], None]
    for set_everywhere in (threading.setprofile, sys.setprofile):
        set_everywhere(trace)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def trace_question(strategy: str) -> Trace:
    """The trace of one question about the demo's corpus."""
    with (
        tempfile.TemporaryDirectory() as folder,
        as_file(files("clew.cli") / "demo") as corpus,
        clew.open(folder) as engine,
    ):
        engine.index([corpus])
        engine.search(WARM, strategy=strategy)
        with tracing() as trace:
            engine.search(QUESTION, strategy=strategy)
    return trace


def main() -> None:
    """Trace and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--strategy", default="graph")
    parser.add_argument("--files", action="store_true", help="list the files, with their calls")
    given = parser.parse_args()
    trace = trace_question(given.strategy)
    called = {file: count for file, count in trace.calls.most_common() if count}
    print(f"{given.strategy}: {len(called)} files, {trace.moves} moves between them")
    if given.files:
        for file, count in called.items():
            print(f"{count:7}  {file}")


if __name__ == "__main__":
    main()
