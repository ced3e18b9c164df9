"""The questions, what answers them, and a check that every answer stands in the documents.

    uv run python -m benchmarks.real.questions FOLDER

prints the answers that no document of the folder holds, as Clew reads the folder's files today, and
leaves with 1 where there are any. A file that Clew cannot read is told apart.

A line of `questions.jsonl` is `ask`, `kind`, `gold` (pairs of a glob of paths below the folder and
a text; none: the corpora do not answer it), `all` (found only where every pair is) and `held_out`.
A text is a part of the passage, without regard to case and white space; between slashes it is a
regular expression; empty, every passage of the document will do. The half that is `held_out` was
drawn by a hash of the question: nothing is tuned on it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from clew.errors import ClewError
from clew.indexing.inputs import read_file
from clew.settings import ReadSettings
from clew.types import Document, file_source

FILE = Path(__file__).with_name("questions.jsonl")


@dataclass(frozen=True, slots=True)
class Gold:
    """A passage that answers: of a document whose path matches, with a text."""

    path: str
    text: str

    def holds(self, path: str, text: str) -> bool:
        """Whether a passage (its path below the folder, its text) is the one."""
        return self.is_in(path) and bool(_pattern(self.text).search(" ".join(text.split())))

    def is_in(self, path: str) -> bool:
        """Whether a path below the folder is meant; a record's path goes on after `#`."""
        return fnmatchcase(path, self.path) or fnmatchcase(path, f"{self.path}#*")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its kind, and the passages that answer it."""

    ask: str
    kind: str
    gold: tuple[Gold, ...]
    all: bool = False
    """Found only where every passage is."""
    held_out: bool = False


@cache
def _pattern(text: str) -> re.Pattern[str]:
    if len(text) > 2 and text[0] == text[-1] == "/":
        return re.compile(text[1:-1], re.IGNORECASE)
    return re.compile(re.escape(" ".join(text.split())), re.IGNORECASE)


def read_questions(file: Path = FILE) -> list[Question]:
    """All questions, in the file's order."""
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    return [
        Question(**{**line, "gold": tuple(Gold(path, text) for path, text in line["gold"])})
        for line in lines
    ]


def below(folder: Path, source: str) -> str:
    """A document's source, from the folder on."""
    return source.removeprefix(f"{file_source(folder)}/")


def main() -> None:
    """Verify all answers."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    questions = read_questions()
    texts, unread = _read(folder, questions)
    missing = 0
    for question in questions:
        for gold in question.gold:
            if any(gold.holds(path, text) for path, text in texts):
                continue
            if any(gold.is_in(path) for path in unread):
                print(f"not read by Clew: {gold.path}: {question.ask}")
                continue
            missing += 1
            print(f"missing: {gold.path}: {gold.text!r}: {question.ask}")
    print(f"{len(questions)} questions, {missing} answers missing")
    sys.exit(bool(missing))


def _read(folder: Path, questions: list[Question]) -> tuple[list[tuple[str, str]], set[str]]:
    """(path, text) of the documents that answers stand in, and the paths that cannot be read."""
    golds = {gold for question in questions for gold in question.gold}
    texts: list[tuple[str, str]] = []
    unread: set[str] = set()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        path = file.relative_to(folder).as_posix()
        if not any(gold.is_in(path) or gold.path.startswith(f"{path}#") for gold in golds):
            continue
        try:
            texts.extend((below(folder, d.source), d.text) for d in _documents(file))
        except ClewError:
            unread.add(path)
    return texts, unread


def _documents(file: Path) -> Iterator[Document]:
    yield from read_file(file, ReadSettings()).documents


if __name__ == "__main__":
    main()
