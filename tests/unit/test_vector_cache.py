"""The same text is embedded once, by any document of any store, and never fails for it."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.models.vector_cache import VectorCache
from clew.testing.fakes import HashEmbedder

if TYPE_CHECKING:
    from clew.types import Vectors

EMBEDDER = HashEmbedder(8)


class Counting:
    """Embeds, and keeps the texts that it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return EMBEDDER.embed_documents(texts)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(st.text(max_size=3), max_size=6), max_size=4), st.integers(1, 5))
def test_what_is_given_is_what_the_model_gives(
    tmp_path_factory: pytest.TempPathFactory, calls: list[list[str]], most: int
) -> None:
    file = tmp_path_factory.mktemp("cache") / "vectors.db"
    for texts in calls:
        found = VectorCache(file, "m", most).embed(texts, 8, EMBEDDER.embed_documents)
        assert np.array_equal(found, EMBEDDER.embed_documents(texts))


def test_each_text_is_embedded_once_for_each_model(tmp_path: Path) -> None:
    model, file = Counting(), tmp_path / "new" / "vectors.db"
    VectorCache(file, "m", 9).embed(["a", "b", "a"], 8, model)
    VectorCache(file, "m", 9).embed(["b", "c"], 8, model)
    assert model.asked == ["a", "b", "c"]
    VectorCache(file, "other", 9).embed(["a"], 8, model)
    assert model.asked == ["a", "b", "c", "a"]
    assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
    assert b"secret" not in _all_bytes(file.parent, "a secret text")


def _all_bytes(folder: Path, text: str) -> bytes:
    VectorCache(folder / "vectors.db", "m", 9).embed([text], 8, EMBEDDER.embed_documents)
    return b"".join(path.read_bytes() for path in folder.iterdir())


def test_the_oldest_are_forgotten(tmp_path: Path) -> None:
    model, cache = Counting(), VectorCache(tmp_path / "vectors.db", "m", 2)
    for text in ("a", "b", "c", "b", "a"):
        cache.embed([text], 8, model)
    assert model.asked == ["a", "b", "c", "a"]


def test_damage_costs_time_and_no_more(tmp_path: Path) -> None:
    model, file = Counting(), tmp_path / "vectors.db"
    for damage in (b"no database at all" * 100, b""):
        file.write_bytes(damage)
        for _ in range(2):
            assert np.array_equal(
                VectorCache(file, "m", 9).embed(["a"], 8, model), EMBEDDER.embed_documents(["a"])
            )
    # Where nothing can be kept, all is embedded.
    (tmp_path / "file").write_text("in the way")
    away = VectorCache(tmp_path / "file" / "vectors.db", "m", 9)
    assert away.embed(["a"], 8, model).shape == (1, 8)
