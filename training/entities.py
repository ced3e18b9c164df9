"""Learn what kind of thing a name names from labelled entities of people's folders.

    uv run --with scikit-learn python -m training.entities [--real FOLDER] [--write]

`entities.jsonl` beside this file has for names of folders what each names, null where it is no
name: headings, ordinary words that open a line, fragments. The folders are those of
`training/reader/worlds` and `benchmarks/everyday`, and those of `benchmarks.real.fetch` in FOLDER.
Folders are left out in turn (five-fold). Printed is, by the least probability of being a name, the
share of names that is kept, and of what is kept the share that is none; by the least share of that
probability that a type has, the share of the kept names that gets a type, and of these the right
ones. `--write` learns from all folders and writes the model that ships, with the least values at
which at most `JUNK` is none and at least `RIGHT` has the right type.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from benchmarks import everyday
from benchmarks.real.extracted import documents_of, steps_of
from clew.indexing.ner import classifier
from clew.indexing.ner.classifier import (
    BUCKETS,
    KINDS,
    NamedThing,
    Spelling,
    features,
    hashed,
    named_things,
)
from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.text import entity_key
from clew.types import UNKNOWN_TYPE, Chunk, Document, Extraction
from training.reader import worlds

LABELS = Path(__file__).with_suffix(".jsonl")
CLASSES = ("", *KINDS)
"""What names nothing comes first."""
FOLDS = 5
STRENGTH = 0.3
"""Inverse of the regularisation, as scikit-learn has it."""
JUNK, RIGHT = 0.07, 0.9
"""Of what is kept: the share that is no name, at most; that has the right type, at least."""


class Example(NamedTuple):
    """A labelled name in one document."""

    folder: str
    key: str
    kind: str
    """Empty where it names nothing."""
    shown: str
    """The type that a pattern shows."""
    at: list[int]
    values: list[float]


def main() -> None:
    """Print what left-out folders give, and write the model."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--real", type=Path, help="folder of benchmarks.real.fetch")
    parser.add_argument("--write", action="store_true", help="write the model that ships")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        examples = list(read_examples(read_labels(), Path(made), given.real))
    matrix, kinds = to_matrix(examples), np.array([one.kind for one in examples])
    folders = np.array([one.folder for one in examples])
    print(f"{len(examples):,} names of documents in {len(set(folders.tolist()))} folders")
    chances = np.zeros((len(examples), len(CLASSES)))
    for learned, left_out in GroupKFold(FOLDS).split(matrix, kinds, folders):
        chances[left_out] = fit(matrix[learned], kinds[learned]).predict_proba(matrix[left_out])
    likely, sure = report(examples, chances)
    if given.write:
        write(fit(matrix, kinds), likely, sure)


def read_labels() -> dict[str, dict[str, str]]:
    """Return by folder and key what a name names; empty where nothing."""
    labels: dict[str, dict[str, str]] = defaultdict(dict)
    for line in LABELS.read_text("utf-8").splitlines():
        one = json.loads(line)
        labels[one["folder"]][entity_key(one["name"])] = one["kind"] or ""
    return labels


def read_examples(
    labels: dict[str, dict[str, str]], made: Path, real: Path | None
) -> Iterator[Example]:
    """Yield the labelled names of each document; folders that are not there are passed over."""
    seen: list[NamesOfDocument] = []
    steps = replace(steps_of(), extractor=Recorder(seen))
    for folder, known in labels.items():
        place = folder_of(folder, made, real)
        for _, document in documents_of(place) if place else ():
            seen.clear()
            steps.prepare(document)
            for things, spelling, title in seen:
                for key in things.keys() & known.keys():
                    said = hashed(features(things[key], spelling, title))
                    yield Example(folder, key, known[key], things[key].kind, *said)


NamesOfDocument = tuple[dict[str, NamedThing], Spelling, str]


class Recorder(PatternExtractor):
    """Keeps what each document shows of its names."""

    def __init__(self, seen: list[NamesOfDocument]) -> None:
        self.seen = seen

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """Return what patterns alone find."""
        found = self.read(document, chunks)
        spelling = Spelling(chunk.text for chunk in chunks)
        self.seen.append((named_things(chunks, found), spelling, document.title))
        return found


def folder_of(name: str, made: Path, real: Path | None) -> Path | None:
    """Return the folder of that name; that of an invented world is written into `made`."""
    group, _, rest = name.partition("/")
    if group == "real":
        return real and real / rest
    if group == "everyday":
        return Path(everyday.__file__).with_name(rest)
    folder = made / rest
    folder.mkdir()
    world = json.loads((Path(worlds.__file__).with_suffix("") / f"{rest}.json").read_text("utf-8"))
    for note in world["notes"]:
        title = re.sub(r"[^\w .()&,'-]", "_", note["title"])[:90]
        file = folder / (title if "." in title[-6:] else f"{title}.md")
        file.write_text(note["text"], encoding="utf-8")
    return folder


def to_matrix(examples: list[Example]) -> csr_matrix:
    """Return (examples, `BUCKETS`): the features; those of one hash are added."""
    starts = np.cumsum([0, *(len(one.at) for one in examples)])
    at = np.concatenate([one.at for one in examples])
    values = np.concatenate([one.values for one in examples])
    return csr_matrix((values, at, starts), (len(examples), BUCKETS))


def fit(matrix: csr_matrix, kinds: np.ndarray) -> LogisticRegression:
    """Return the model; its classes are `CLASSES`."""
    numbers = np.array([CLASSES.index(kind) for kind in kinds.tolist()])
    return LogisticRegression(C=STRENGTH, max_iter=200).fit(matrix, numbers)


def report(examples: list[Example], chances: np.ndarray) -> tuple[float, float]:
    """Print the tables, by entities; return the least probability and the least share.

    An entity is kept where any of its documents keeps it, with the type of the first that does.
    """
    entities: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, one in enumerate(examples):
        entities[one.folder, one.key].append(number)
    names = sum(bool(examples[own[0]].kind) for own in entities.values())
    print(f"{len(entities):,} entities, {names:,} of them names")
    least = sure = 1.0
    kept: list[int] = []
    for likely in np.arange(0.95, 0.3, -0.025).tolist():
        firsts = (
            next((n for n in own if 1 - chances[n, 0] >= likely), None) for own in entities.values()
        )
        found = [n for n in firsts if n is not None]
        junk = sum(not examples[n].kind for n in found) / max(1, len(found))
        share = (1 - junk) * len(found) / names
        print(f"probability {likely:.3f}  names kept {share:.1%}  junk {junk:.1%}")
        if junk <= JUNK:
            least, kept = likely, [n for n in found if examples[n].kind]
    shown = [n for n in kept if examples[n].shown != UNKNOWN_TYPE]
    by_pattern = np.mean([examples[n].kind == examples[n].shown for n in shown])
    print(f"{len(shown) / len(kept):.1%} have a type by a pattern, right {by_pattern:.1%}; else")
    kept = [n for n in kept if examples[n].shown == UNKNOWN_TYPE]
    right = np.array([examples[n].kind == KINDS[chances[n, 1:].argmax()] for n in kept])
    shares = chances[kept, 1:].max(1) / (1 - chances[kept, 0])
    for share in np.arange(0.9, 0.25, -0.05).tolist():
        typed = shares >= share
        print(f"share {share:.2f}  typed {typed.mean():.1%}  right {right[typed].mean():.1%}")
        sure = share if right[typed].mean() >= RIGHT else sure
    return least, sure


def write(model: LogisticRegression, likely: float, sure: float) -> None:
    """Write the model that ships, its weights rounded to a byte."""
    weights = model.coef_.T
    scale = np.abs(weights).max() / 127
    file = Path(classifier.__file__).with_suffix(".npz")
    rounded = np.round(weights / scale).astype(np.int8)
    np.savez_compressed(file, weights=rounded, scale=scale, likely=likely, sure=sure)
    print(f"{file.name}: {file.stat().st_size:,} bytes, {likely:.3f} and {sure:.2f}")


if __name__ == "__main__":
    main()
