"""Which modules and functions of Clew one question, or one file that is indexed, passes through.

    uv run python -m benchmarks.trace [--strategy graph | --index FILE] [--files]

The demo's corpus is indexed and asked once, so that models and caches are ready; the same kind of
question is then asked, or the file indexed, under a profiler of calls and returns, in every
thread. A move is a call or a return that leads from one folder of ours to another; what happens
inside other packages counts as where it was called from. Imports count as well, since a reader has
to follow those, too. Functions are those with a name. Files are read in this process, because a
worker's calls are not seen.
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
from clew.cli.commands.asking import QUESTION
from clew.settings.load import load_settings
from clew.types import NamedStrategy

PACKAGE = str(Path(clew.__file__).parent)
WARM = "Who built the tower of the light?"


@dataclass(slots=True)
class Trace:
    """Calls by file, the functions called, and moves between folders."""

    calls: Counter[str] = field(default_factory=Counter)
    functions: set[str] = field(default_factory=set)
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
        if event == "call":
            self.calls[file] += 1
            if not target.f_code.co_name.startswith("<"):
                self.functions.add(f"{file}:{target.f_code.co_qualname}")
        folder = file.rpartition("/")[0]
        self.moves += getattr(self._here, "folder", folder) != folder
        self._here.folder = folder


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


def traced(strategy: str, indexed: Path | None) -> Trace:
    """The trace of one question about the demo's corpus, or of indexing one file beside it."""
    in_this_process = load_settings(limits={"isolation": "none"})
    with (
        tempfile.TemporaryDirectory() as folder,
        as_file(files("clew.cli") / "demo") as corpus,
        clew.open(folder, settings=in_this_process) as engine,
    ):
        engine.index([corpus])
        engine.search(WARM, strategy=NamedStrategy(strategy))
        with tracing() as trace:
            if indexed is None:
                engine.search(QUESTION, strategy=NamedStrategy(strategy))
            else:
                engine.index([indexed])
    return trace


def main() -> None:
    """Trace and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--strategy", default="graph")
    parser.add_argument("--index", type=Path, metavar="FILE", help="index it in place of asking")
    parser.add_argument("--files", action="store_true", help="list the files, with their calls")
    given = parser.parse_args()
    trace = traced(given.strategy, given.index)
    called = {file: count for file, count in trace.calls.most_common() if count}
    what = given.index.name if given.index else given.strategy
    counts = f"{len(called)} modules, {len(trace.functions)} functions"
    print(f"{what}: {counts}, {trace.moves} moves between folders")
    if given.files:
        for file, count in called.items():
            print(f"{count:7}  {file}")


if __name__ == "__main__":
    main()
