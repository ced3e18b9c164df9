"""The model that ships: all-MiniLM-L6-v2 from the installed weights package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clew.models.onnx import OnnxEmbedder
from clew.settings import EmbedSettings


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> OnnxEmbedder:
    cache: Path = tmp_path_factory.mktemp("models")
    return OnnxEmbedder(EmbedSettings(cache=cache))


def test_identity(embedder: OnnxEmbedder) -> None:
    assert embedder.name == "all-MiniLM-L6-v2/int8"
    assert embedder.dimension == 384
    assert embedder.max_tokens == 256


def test_similarities_are_close_to_the_published_ones(
    embedder: OnnxEmbedder,
) -> None:
    question = embedder.embed_query("That is a happy person")
    documents = embedder.embed_documents(
        ["That is a happy dog", "That is a very happy person", "Today is a sunny day"]
    )

    np.testing.assert_allclose(documents @ question, [0.695, 0.943, 0.257], atol=0.02)


def test_tokens_past_the_128_of_the_bundled_tokenizer_are_read(embedder: OnnxEmbedder) -> None:
    filler = "word " * 150

    assert embedder.embed_query(filler) @ embedder.embed_query(filler + "volcano " * 50) < 0.9


def test_tokens_past_the_limit_are_not_read(embedder: OnnxEmbedder) -> None:
    filler = "word " * 254

    np.testing.assert_allclose(
        embedder.embed_query(filler), embedder.embed_query(filler + "volcano"), atol=1e-6
    )


@pytest.mark.parametrize("text", ["", "😀🎉", "word " * 10_000, "Где находится Эрмитаж?", "東京"])
def test_odd_texts_have_finite_unit_vectors(embedder: OnnxEmbedder, text: str) -> None:
    vector = embedder.embed_query(text)

    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_words_are_counted_in_tokens_without_special_ones(embedder: OnnxEmbedder) -> None:
    assert embedder.count_tokens("") == 0
    assert embedder.count_tokens("hello world") == 2
    assert embedder.count_tokens("hello world " * 500) == 1000
