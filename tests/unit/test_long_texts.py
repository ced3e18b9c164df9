"""Passages longer than the model reads: nothing of them is lost to a search by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import clew
from clew.models.onnx import LongTexts
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.wiring import make_embedder

if TYPE_CHECKING:
    from clew.types import Vectors


class Short(HashEmbedder):
    """Reads twenty words and cuts the rest."""

    max_tokens = 22

    def count_tokens(self, text: str) -> int:
        return sum(-(-len(word) // 6) for word in text.split())

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        assert all(self.count_tokens(text) <= 20 for text in texts), "all of it is read"
        return super().embed_documents(texts)


LONG = " ".join(f"word{n}" for n in range(95))


def test_what_the_model_reads_whole_has_its_own_vector() -> None:
    short = ["one two three", "a", "word " * 19]
    assert np.array_equal(
        LongTexts(Short(), 80).embed_documents(short), Short().embed_documents(short)
    )
    assert LongTexts(Short(), 80).embed_documents([]).shape == (0, Short().dimension)


@pytest.mark.parametrize("text", [LONG, "x" * 900, f"{'y' * 300} end", f" {LONG}\n\n{LONG} "])
def test_each_part_is_read_and_the_vector_has_unit_length(text: str) -> None:
    made = LongTexts(Short(), 80).embed_documents(["before", text, "after"])
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    assert np.array_equal(made[[0, 2]], Short().embed_documents(["before", "after"]))


def test_parts_hold_the_whole_text_in_order() -> None:
    parts = list(LongTexts(Short(), 80)._parts(LONG))
    assert "".join(part for part, _ in parts) == LONG
    assert [tokens for _, tokens in parts] == [20, 20, 20, 20, 15]


def test_the_mean_is_weighed_by_length() -> None:
    head, tail = " ".join(["a"] * 20), "b"
    made = LongTexts(Short(), 80).embed_documents([f"{head} {tail}"])[0]
    ends = Short().embed_documents([f"{head} ", tail])
    expected = 20 * ends[0] + ends[1]
    assert np.allclose(made, expected / np.linalg.norm(expected), atol=1e-6)


def test_a_passage_may_be_as_long_as_it_is_asked_for(tmp_path: Path) -> None:
    """By the model that ships, which reads 256 tokens."""
    days = (f"On day {n} the keeper of the lighthouse saw {n % 7} ships." for n in range(300))
    text = " ".join(days)
    sizes = {}
    for tokens in (200, 800):
        settings = load_settings(store=tmp_path / str(tokens), split={"chunk_tokens": tokens})
        with clew.open(settings=settings) as store:
            document = store.add(f"{text} At last a whale came to the harbour of Dunmere.")
            chunks = store.store.document_chunks(document)
            sizes[tokens] = max(store.state.embedder.count_tokens(c.text) for c in chunks)
            vectors = store.state.embedder.embed_documents([c.text for c in chunks])
            asked = store.state.embedder.embed_query("a whale in the harbour")
            assert int((vectors @ asked).argmax()) == len(chunks) - 1, "its last words are found"
    assert sizes[200] <= 200
    assert 600 < sizes[800] <= 800
    assert make_embedder(load_settings()).max_tokens == 256
