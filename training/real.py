"""Real documents as one more family: the questions of `benchmarks/real` that are not held out."""

from __future__ import annotations

import hashlib
import tempfile
from typing import TYPE_CHECKING

import clew
from benchmarks.real.questions import FILE, below, read_questions
from training.groups import Group, Shelf
from training.prepare import ask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.real.questions import Question
    from clew.engine import Engine
    from clew.ports import Embedder
    from training.groups import Passage

FAMILY = "real"


def prepare_real(folder: Path, embedder: Embedder) -> list[Group]:
    """A group for each open question that the files of the folder answer."""
    with (
        tempfile.TemporaryDirectory(prefix="clew-training-") as store,
        clew.open(store=store, embedder=embedder) as engine,
    ):
        engine.index([folder])
        return ask_real(engine, folder)


def ask_real(engine: Engine, folder: Path) -> list[Group]:
    """The same of a store that holds the folder's files already."""
    open_half = [q for q in read_questions() if q.gold and not q.held_out]
    snapshot = engine.state.snapshot.whole
    ids = snapshot.chunk_ids
    chunks = engine.store.chunks(ids.tolist())
    passages = [(FAMILY, chunk.public_id) for chunk in chunks]
    texts = [(below(folder, chunk.source), chunk.text) for chunk in chunks]
    shelf = Shelf(snapshot, engine.state.vectors.vectors(ids).copy(), passages)
    golds = [_gold(question, texts, passages) for question in open_half]
    return [
        ask("plain", FAMILY, question.ask, gold, engine, shelf)
        for question, gold in zip(open_half, golds, strict=True)
        if gold
    ]


def real_digest() -> str:
    """Hex SHA-256 of the questions."""
    return hashlib.sha256(FILE.read_bytes()).hexdigest()


def _gold(
    question: Question, texts: Sequence[tuple[str, str]], passages: Sequence[Passage]
) -> dict[Passage, int]:
    """Every passage that answers, or a part of what answers."""
    return {
        passage: 1
        for passage, (path, text) in zip(passages, texts, strict=True)
        if any(gold.holds(path, text) for gold in question.gold)
    }
