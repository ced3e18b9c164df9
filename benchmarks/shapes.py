"""Hard texts against prose: what reading, splitting and extraction cost, as ratios of one run.

    uv run python -m benchmarks.shapes [--characters 1000000] [--endings .md .html] [--shapes NAME]

Each text is read as each kind of file in a process of its own, which is killed after `--patience`
seconds. As a question (`?`), texts have at most 10,000 characters, which is what tools take.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from tests.security.shapes import SHAPES, prose

if TYPE_CHECKING:
    from clew.engine import Engine
    from clew.indexing.split import Tokens

ENDINGS = (".md", ".txt", ".rst", ".html", ".csv", ".json", ".jsonl", ".py", "?")
PROSE = "prose"
MOST = 10.0
"""By how much a hard text may take longer than prose."""
_LONGEST_QUESTION = 10_000
_FIRST = 120.0
"""Seconds until a process that loads everything has measured its first text."""
_LONG_ENOUGH = 0.3
"""Seconds of reading after which a text is not read again."""
_MOST_TIMES = 3

Task = tuple[str, str, int]
"""(shape, ending of the file's name or "?", characters)"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--characters", type=int, default=1_000_000)
    parser.add_argument("--endings", nargs="+", default=list(ENDINGS))
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES))
    parser.add_argument("--patience", type=float, default=60)
    given = parser.parse_args()
    for ending in given.endings:
        tasks = [(name, ending, given.characters) for name in (PROSE, *given.shapes)]
        basis = 0.0
        for (name, _, _), seconds in measured(tasks, given.patience):
            if name == PROSE:
                # Where prose is no file of that kind, prose as text is what to compare with.
                basis = basis_of(ending, given.characters, seconds)
                print(f"{ending:8} {name:32} {basis:8.3f} s", flush=True)
                continue
            shown = (
                f"{seconds:8.3f} s {seconds / basis:6.1f} x" if seconds is not None else "killed"
            )
            mark = " !" if seconds is None or seconds > MOST * basis else ""
            print(f"{ending:8} {name:32} {shown}{mark}", flush=True)


def basis_of(ending: str, characters: int, seconds: float | None) -> float:
    """Seconds of prose to compare with."""
    if ending == "?" or ending == ".html":
        return max(seconds or 0.0, 0.01)
    ((_, as_text),) = measured([(PROSE, ".md", characters)], _FIRST)
    return max(seconds or 0.0, as_text or 0.0)


def measured(tasks: Sequence[Task], patience: float) -> Iterator[tuple[Task, float | None]]:
    """Each task with its seconds of processor time; None where it had to be killed."""
    left = list(tasks)
    while left:
        for seconds in _run(left, patience):
            yield left.pop(0), seconds


def _run(tasks: Sequence[Task], patience: float) -> Iterator[float | None]:
    """Seconds of one task after the other, None for the one that ends the process."""
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, list(tasks)), daemon=True)
    process.start()
    theirs.close()
    try:
        for number in range(len(tasks)):
            if not ours.poll(_FIRST + patience if number == 0 else patience):
                yield None
                return
            yield ours.recv()
    finally:
        process.kill()
        process.join()
        ours.close()


def _work(pipe: Connection, tasks: Sequence[Task]) -> None:
    from clew.settings import Settings
    from clew.wiring import make_embedder

    tokens = make_embedder(Settings())
    _measure((PROSE, ".html", 1000), tokens)
    _measure((PROSE, ".md", 1000), tokens)
    with _engine() as engine:
        for task in tasks:
            name, ending, size = task
            if ending == "?":
                pipe.send(_asked(engine, _text(name, min(size, _LONGEST_QUESTION))))
            else:
                pipe.send(_measure(task, tokens))


def _measure(task: Task, tokens: Tokens) -> float:
    name, ending, characters = task
    text = _text(name, characters)
    best, spent = float("inf"), 0.0
    # Short readings are repeated, since collections of garbage and other work disturb them most.
    while spent < _LONG_ENOUGH:
        start = time.process_time()
        _read(text, ending, tokens)
        took = time.process_time() - start
        best, spent = min(best, took), spent + max(took, _LONG_ENOUGH / _MOST_TIMES)
    return best


def _text(name: str, characters: int) -> str:
    return (prose if name == PROSE else SHAPES[name])(characters)


def _read(text: str, ending: str, tokens: Tokens) -> None:
    from clew.errors import ClewError
    from clew.indexing.inputs import read_raw
    from clew.indexing.ner.pattern_extractor import PatternExtractor
    from clew.indexing.reading.common import RawFile
    from clew.indexing.split import split
    from clew.settings import ReadSettings, SplitSettings
    from clew.text import terms

    raw = RawFile(source=f"a{ending}", data=text.encode(), settings=ReadSettings())
    try:
        documents = read_raw(raw).documents
    except ClewError:  # refused, which is a result, too
        return
    for document in documents:
        chunks = split(document, SplitSettings(), tokens).chunks
        PatternExtractor().extract(document, chunks)
        for chunk in chunks:
            terms(chunk.text)


@contextlib.contextmanager
def _engine() -> Iterator[Engine]:
    import clew
    from clew.testing.fakes import HashEmbedder

    with (
        tempfile.TemporaryDirectory(prefix="clew-shapes-") as folder,
        clew.open(folder, embedder=HashEmbedder()) as engine,
    ):
        engine.add(prose(2000), title="Prose")
        engine.search("Who met Ada Ray?")
        yield engine


def _asked(engine: Engine, question: str) -> float:
    from clew.errors import ClewError

    start = time.process_time()
    with contextlib.suppress(ClewError):
        engine.search(question)
    return time.process_time() - start


if __name__ == "__main__":
    main()
