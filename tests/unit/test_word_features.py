"""What the question's words say of passages, against plain loops over their texts."""

from __future__ import annotations

from collections.abc import Container, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from clew.graph.snapshot import Snapshot
from clew.graph.snapshot_files import build
from clew.search.analysis.analyse import Analysis, analyse
from clew.search.ranking.word_features import WORD_FEATURES, word_features
from clew.search.retrieval.walk import Coverage
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER, make_entry
from clew.text import terms

T = TypeVar("T")

WORDS = ("bell", "clock", "Arden", "Corfe", "42", "tower", "9.1", "river")


def random_texts(seed: int) -> list[tuple[str, str]]:
    random = np.random.default_rng(seed)

    def some(most: int) -> str:
        return " ".join(random.choice(WORDS, random.integers(1, most)).tolist())

    return [(some(4), f"{some(6)}. Then {some(9)}.") for _ in range(12)]


def look(
    folder: Path, texts: list[tuple[str, str]], question: str
) -> tuple[Snapshot, Analysis, dict[str, list[float]]]:
    store = SqliteStore(folder, embedder=EMBEDDER)
    with store.batch():
        for number, (title, text) in enumerate(texts):
            store.save(make_entry(f"{number:03}", text, title=title))
    snapshot = build(store)
    analysis = analyse(question, np.ones(1, np.float32), snapshot, store)
    rows = np.arange(snapshot.size)
    columns = word_features(analysis, snapshot, Coverage(analysis, snapshot), rows)
    store.close()
    assert columns.keys() == set(WORD_FEATURES)
    return snapshot, analysis, {name: values.tolist() for name, values in columns.items()}


def share(held: Container[T], weights: Mapping[T, float]) -> float:
    total = sum(weights.values())
    return sum(weight for one, weight in weights.items() if one in held) / total if total else 0.0


@pytest.mark.parametrize("seed", range(8))
def test_words_agree_with_plain_loops(tmp_path: Path, seed: int) -> None:
    texts = random_texts(seed)
    question = "Which " + " ".join(np.random.default_rng(seed + 99).choice([*WORDS, "lost"], 5))

    snapshot, analysis, found = look(tmp_path, texts, question)

    asked = terms(question)
    known = set(analysis.terms) & {t for title, text in texts for t in terms(f"{title} {text}")}
    idf = {t: float(snapshot.term_idf[snapshot.term_rows([t])[0]]) for t in known}
    for row, (title, text) in enumerate(texts):
        said = [t for line in (title, *text.split(". ")) for t in terms(line)]
        squares = {t: weight**2 for t, weight in idf.items()}
        assert found["cover_rare"][row] == pytest.approx(share(set(said), squares), abs=1e-5)
        assert found["context_cover"][row] == pytest.approx(share(set(terms(title)), idf), abs=1e-5)
        matching = [t in asked for t in terms(title)]
        assert found["context_asked"][row] == pytest.approx(np.mean(matching), abs=1e-5)
        for name, length in (("phrase", 2), ("phrase_long", 3)):
            runs = {
                tuple(asked[i : i + length]): sum(idf.get(t, 0) for t in asked[i : i + length])
                for i in range(len(asked) - length + 1)
            }
            held = {tuple(said[i : i + length]) for i in range(len(said) - length + 1)}
            assert found[name][row] == pytest.approx(share(held, runs), abs=1e-5), name


def test_names_and_numbers_count_by_themselves(tmp_path: Path) -> None:
    texts = [("", "The bell of Arden."), ("", "A bell of 42 pounds."), ("", "A bell.")]

    _, _, found = look(tmp_path, texts, "Which bell of 42 pounds hangs in Arden?")

    assert found["cover_numbers"] == [0, 1, 0]
    assert found["cover_marked"][2] == 0 < found["cover_marked"][0] < 1


@pytest.mark.parametrize("question", ["bell", "of the", "lost", "bell bell bell"])
def test_short_questions_have_no_runs_of_words(tmp_path: Path, question: str) -> None:
    _, _, found = look(tmp_path, [("", "A bell."), ("", "The river.")], question)

    assert found["phrase_long"] == [0, 0]
    assert found["phrase"] == [0, 0]
