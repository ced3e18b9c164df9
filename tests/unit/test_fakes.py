from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.ports import Embedder
from clew.testing.fakes import HashEmbedder
from clew.testing.recorded import quotation_of


@given(st.lists(st.text(), max_size=5))
def test_vectors_are_finite_and_of_unit_length(texts: list[str]) -> None:
    embedder: Embedder = HashEmbedder()
    vectors = embedder.embed_documents(texts)

    assert vectors.shape == (len(texts), 256)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_array_equal(embedder.embed_query(text), vector)


def test_texts_are_alike_as_far_as_they_share_terms() -> None:
    embedder = HashEmbedder()
    question = embedder.embed_query("Who directed the film Parasite?")
    near, far, none = embedder.embed_documents(
        ["The director directed Parasite, a film.", "A film about rivers.", "Cells divide."]
    )

    assert question @ near > question @ far > question @ none
    assert abs(question @ none) < 0.1


@pytest.mark.parametrize(
    "text", ["Где находится Эрмитаж?", "東京は日本の首都です", "متحف الهرميتاج"]
)
def test_every_script_has_meaning(text: str) -> None:
    embedder = HashEmbedder()

    assert embedder.embed_query(text) @ embedder.embed_query(text + " река 川 نهر") > 0.6
    assert abs(embedder.embed_query(text) @ embedder.embed_query("an English sentence")) < 0.3


def test_terms_that_cancel_each_other_out_leave_no_zero_vector() -> None:
    embedder = HashEmbedder(dimension=1)

    assert {float(embedder.embed_query(f"alpha word{i}")[0]) for i in range(50)} <= {-1.0, 1.0}


def test_words_past_the_limit_are_not_read() -> None:
    embedder = HashEmbedder(max_tokens=3)

    np.testing.assert_array_equal(
        embedder.embed_query("red green blue"), embedder.embed_query("red green blue black")
    )
    assert embedder.count_tokens("red green blue black") == 4


def test_vectors_are_the_same_in_another_process() -> None:
    code = (
        "from clew.testing.fakes import HashEmbedder;"
        "print(HashEmbedder().embed_query('red fish').tobytes().hex())"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout

    assert output.strip() == HashEmbedder().embed_query("red fish").tobytes().hex()


def test_identity() -> None:
    assert HashEmbedder().name == "hash-256"
    assert HashEmbedder(64).name == "hash-64"
    assert HashEmbedder(64, name="other").name == "other"
    assert HashEmbedder(64).dimension == 64


@pytest.mark.parametrize(("dimension", "max_tokens"), [(0, 256), (256, 0), (-1, 1)])
def test_sizes_below_one(dimension: int, max_tokens: int) -> None:
    with pytest.raises(ValueError, match=f"not {dimension} and {max_tokens}"):
        HashEmbedder(dimension, max_tokens=max_tokens)


def test_a_fact_without_a_quotation_is_given_the_sentence_that_names_its_ends() -> None:
    text = "Ada came. Bo met Ada in Vell. Bo left."

    assert quotation_of(text, "Ada", "Bo") == "Bo met Ada in Vell."
    assert quotation_of(text, "Ada", "Paris") == "Ada came."
    assert quotation_of(text, "Rome", "bo") == "Bo met Ada in Vell."
    assert quotation_of(text, "Rome", "Paris") == ""
