"""Judge a tagger on folders that it did not learn from: `python -m training.tagger.judge MODEL`.

Each folder is read as Clew reads it, with the tagger of MODEL (by default the one that ships).
Printed is, by the least probability of being a name, the share of labelled names that is kept, and
of what is kept the share that is none; by the least share of that probability that a type has, the
share of the kept names that gets a type, and of these the right ones; and by the least probability
that something is stated, the share of the labelled facts that is found, and of what is found the
right ones. `--write` writes into MODEL the least values at which at most `JUNK` is none, and at
least `RIGHT` has the right type, or are two names of which the labels have a fact. (They lack
facts: of what was found at that bound in fresh folders, a reader called 47 of 54 right.)
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.real.extracted import documents_of, steps_of
from clew.indexing.ner.classifier import Sentence, fits, may_state, named_things, read_names
from clew.models.tagger import OnnxTagger
from clew.ports import EITHER_WAY, KINDS, RELATIONS
from clew.types import UNKNOWN_TYPE, CharRange
from training.reader.examples import share_of
from training.tagger.examples import (
    FACTS,
    SAID_AS,
    SENTENCES,
    Facts,
    Recorder,
    Told,
    folder_of,
    passages,
    read_labels,
    read_rows,
    tell,
)
from training.tagger.train import HELD_OUT

JUNK, RIGHT = 0.07, 0.89
NAMED = 0.5
"""Least probability of being a name, of both."""
NEAR = (
    {"works_at", "works_for", "member_of", "leads"},
    {"located_in", "part_of", "took_place_in"},
    {"lives_in", "located_in"},
    {"helps", "minds", "treats", "teaches"},
)
"""Relations of which one does for the other."""


@dataclass
class Seen:
    """What the tagger says of a labelled name, and the labels."""

    is_name: bool
    kind: int
    shown: str
    chances: np.ndarray


class Judged(NamedTuple):
    """What is said of two names."""

    stated: float
    """Probability that something is."""
    likeliest: float
    """Probability of what it likeliest is."""
    is_pair: bool
    """Whether there is a fact of both, nearly this one, or this one."""
    is_near: bool
    is_same: bool


@dataclass
class Found:
    """All that was found in the folders."""

    names: list[Seen] = field(default_factory=list)
    pairs: list[Judged] = field(default_factory=list)
    facts: int = 0


def main() -> None:
    """Print the tables, and write the bounds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model", nargs="?", default="tagger")
    parser.add_argument("--real", type=Path, help="folder of benchmarks.real.fetch")
    parser.add_argument("--train", type=Path, help="folder of the data sets")
    parser.add_argument("--write", action="store_true", help="write the bounds")
    given = parser.parse_args()
    found = read(OnnxTagger(given.model), given.real, given.train)
    likely, sure = of_names(found.names)
    stated = of_facts(found)
    if given.write:
        bounds = {"likely": likely, "sure": sure, "stated": stated}
        (Path(given.model) / "config.json").write_text(f"{json.dumps(bounds)}\n", "utf-8")


def read(tagger: OnnxTagger, real: Path | None, train: Path | None) -> Found:
    """Return what the tagger says of the labelled names and sentences of the folders left out."""
    found = Found()
    extractor = Recorder()
    steps = replace(steps_of(), extractor=extractor)
    labels, rows = read_labels(), read_rows((SENTENCES, FACTS))
    with tempfile.TemporaryDirectory() as made:
        for folder in sorted(labels.keys() | rows.keys()):
            if share_of(folder) >= HELD_OUT:
                continue
            place = folder_of(folder, Path(made), real)
            documents = [one for _, one in documents_of(place)] if place else []
            known = rows.get(folder, {})
            if folder.startswith("train/") and train:
                documents, known = passages(train, folder, known[""])
            entities: dict[str, list[Seen]] = defaultdict(list)
            for document in documents:
                steps.prepare(document)
                things = named_things(extractor.found)
                read = read_names(extractor.chunks, document.title, extractor.found, things, tagger)
                for key, thing in things.items():
                    if thing.chances and (kind := labels.get(folder, {}).get(key)) is not None:
                        number = KINDS.index(kind)
                        chances = np.mean(thing.chances, axis=0)
                        entities[key].append(Seen(bool(kind), number, thing.kind, chances))
                told = list(tell(document, extractor, {}, known.get(document.title, ())))
                for (text, _, sentences), chunk, own in zip(
                    told, extractor.found.chunks, read, strict=True
                ):
                    for at, one in sentences.items():
                        if one.facts is not None:
                            judge(found, text, at, one, own, chunk.sentences)
            # An entity is kept where any of its documents keeps it.
            found.names += [
                max(own, key=lambda one: 1 - one.chances[0]) for own in entities.values()
            ]
    return found


def judge(
    found: Found,
    text: str,
    at: CharRange,
    told: Told,
    read: Sequence[Sentence],
    sentences: Sequence[CharRange],
) -> None:
    """Add what is found in a labelled sentence."""
    facts = dict(told.facts or {})
    found.facts += len(facts)
    for sentence in read:
        first, last = sentences[sentence.number]
        if not (at[0] < last and first < at[1]):
            continue
        for (a, b), chances in sentence.said.relations.items():
            ends = sentence.places[a], sentence.places[b]
            is_within = all(at[0] <= start and end <= at[1] for start, end in ends)
            if is_within and may_state(text, (first, last), *ends):
                kinds = sentence.said.kinds[[a, b]]
                found.pairs.append(judged(ends, chances, kinds, facts))


def judged(
    ends: tuple[CharRange, CharRange], chances: np.ndarray, kinds: np.ndarray, facts: Facts
) -> Judged:
    """Return whether what is said of two names is so."""
    best = int(np.argmax(chances[1:])) + 1
    name = RELATIONS[best].removesuffix("<")
    types = [KINDS[int(row[1:].argmax()) + 1] for row in kinds]
    if RELATIONS[best].endswith("<"):
        ends, types = ends[::-1], types[::-1]
    is_named = float((1 - kinds[:, 0]).min() >= NAMED and fits(name, *types))
    stated = {
        SAID_AS.get(relation, relation): (head, tail)[:: -1 if relation == "child_of" else 1]
        for (head, tail), relation in facts.items()
        if overlap(ends, (head, tail)) or overlap(ends[::-1], (head, tail))
    }
    same = {name, *chain(*(group for group in NEAR if name in group))}
    near = any(
        relation in EITHER_WAY or overlap(ends, fact)
        for relation, fact in stated.items()
        if relation in same
    )
    return Judged(
        is_named * (1 - float(chances[0])),
        is_named * float(chances[best]),
        bool(stated),
        near,
        name in stated,
    )


def overlap(ends: Sequence[CharRange], fact: Sequence[CharRange]) -> bool:
    """Whether two names are those of a fact, or parts of them."""
    return all(a < d and c < b for (a, b), (c, d) in zip(ends, fact, strict=True))


def of_names(names: Sequence[Seen]) -> tuple[float, float]:
    """Print the tables of names; return the least probability and the least share."""
    real = np.array([one.is_name for one in names])
    chances = np.array([one.chances for one in names])
    print(f"{len(names):,} entities, {real.sum():,} of them names")
    least = 0.95
    for likely in np.arange(0.95, 0.2, -0.05).tolist():
        kept = 1 - chances[:, 0] >= likely
        junk = 1 - real[kept].mean()
        print(f"probability {likely:.2f}  names kept {kept[real].mean():.1%}  junk {junk:.1%}")
        least = likely if junk <= JUNK else least
    kept = (1 - chances[:, 0] >= least) & real
    kinds = np.array([one.kind for one in names])
    shown = np.array([one.shown for one in names])
    by_pattern = kept & (shown != UNKNOWN_TYPE)
    right = shown[by_pattern] == np.array(KINDS)[kinds[by_pattern]]
    best = chances[by_pattern, 1:].argmax(1) + 1 == kinds[by_pattern]
    print(
        f"{by_pattern.sum() / kept.sum():.1%} have a type by a pattern, right {right.mean():.1%}"
        f" (the tagger's of these {best.mean():.1%}); else"
    )
    kept &= shown == UNKNOWN_TYPE
    right = chances[kept, 1:].argmax(1) + 1 == kinds[kept]
    shares = chances[kept, 1:].max(1) / chances[kept, 1:].sum(1)
    sure = 0.95
    for share in np.arange(0.95, 0.25, -0.05).tolist():
        typed = shares >= share
        print(f"share {share:.2f}  typed {typed.mean():.1%}  right {right[typed].mean():.1%}")
        sure = share if right[typed].mean() >= RIGHT else sure
    return least, sure


def of_facts(found: Found) -> float:
    """Print the table of facts; return the least probability."""
    pairs = np.array(found.pairs)
    print(f"{found.facts:,} facts, {len(pairs):,} pairs of names")
    for column, what in enumerate(("anything", "what")):
        stated = 0.95
        for bound in np.arange(0.95, 0.15, -0.05).tolist():
            told = pairs[pairs[:, column] >= bound]
            pair, near, same = told[:, 2:].mean(0)
            share = told[:, 3].sum() / found.facts
            print(
                f"probability of {what} {bound:.2f}  of the facts {share:.1%},"
                f" a pair of one {pair:.1%}, nearly it {near:.1%}, it {same:.1%}"
            )
            stated = bound if pair >= RIGHT else stated
    return stated


if __name__ == "__main__":
    main()
