"""Embedding with ONNX models."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import clew
from clew.errors import ModelError
from clew.models.onnx import LongTexts, OnnxEmbedder, token_batches
from clew.settings import EmbedSettings, load_settings
from clew.testing.fakes import HashEmbedder
from clew.types import Vectors
from clew.wiring import make_embedder
from tests.unit.onnx_models import ENCODER, VOCABULARY, Step, word_pieces, write_graph

# --- onnx


Array = NDArray[np.float32]

SIZE, POSITIONS = 32, 16
CONFIG: dict[str, Any] = {
    "model_type": "bert",
    "hidden_size": SIZE,
    "max_position_embeddings": POSITIONS,
    "pad_token_id": 0,
}
TEXTS = ["red fish", "", "blue stones night", "green bird river red red fish blue", "unheard of"]


def tokenizer() -> Tokenizer:
    """Cuts and pads to a useless length, as files on the hub do; the embedder must not heed it."""
    made = word_pieces()
    made.enable_truncation(5)
    made.enable_padding(length=5)
    return made


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_model(folder: Path, *, seed: int = 3) -> Path:
    """An encoder that looks words up and multiplies them by a matrix; gives (words, SIZE)."""
    table, matrix = weights(seed)
    write_graph(
        folder / "model.onnx",
        [
            ("Gather", ["table", "input_ids"], "words"),
            ("MatMul", ["words", "matrix"], "last_hidden_state"),
        ],
        {"table": table, "matrix": matrix},
        ["b", "t", SIZE],
        data="model.data",
    )
    write_json(folder / "config.json", CONFIG)
    tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def weights(seed: int = 3) -> tuple[Array, Array]:
    """The vectors of the words, and the matrix."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(len(VOCABULARY), SIZE)).astype(np.float32)
    return table, rng.normal(size=(SIZE, SIZE)).astype(np.float32)


def reference(text: str, pooling: str = "mean") -> Array:
    """What the model makes of a text."""
    whole = tokenizer()
    whole.no_truncation()
    whole.no_padding()
    tokens = whole.encode(text, add_special_tokens=False).ids[: POSITIONS - 2]
    table, matrix = weights()
    hidden = table[[VOCABULARY["[CLS]"], *tokens, VOCABULARY["[SEP]"]]] @ matrix
    pooled = hidden.mean(0) if pooling == "mean" else hidden[0]
    return np.asarray(pooled / np.linalg.norm(pooled), np.float32)


Open = Callable[..., OnnxEmbedder]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def opened(model: Path, cache: Path) -> Open:
    def open_embedder(**changed: object) -> OnnxEmbedder:
        given = {"model": str(model), "cache": cache, "threads": 1, **changed}
        return OnnxEmbedder(EmbedSettings.model_validate(given))

    return open_embedder


# --- meaning ---------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [1, 2, 8])
def test_vectors_are_those_of_a_plain_forward_pass(opened: Open, batch_size: int) -> None:
    vectors = opened(batch_size=batch_size).embed_documents(TEXTS)

    expected = np.stack([reference(text) for text in TEXTS])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


@given(lengths=st.lists(st.integers(0, 300)), most=st.integers(1, 20), tokens=st.integers(1, 1_000))
def test_texts_share_a_batch_within_its_tokens(lengths: list[int], most: int, tokens: int) -> None:
    batches = list(token_batches(lengths, most, tokens))

    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) <= most
        assert len(batch) == 1 or len(batch) * max(lengths[p] for p in batch) <= tokens
    for batch, following in pairwise(batches):
        longest = max(1, *(lengths[place] for place in batch))
        assert len(batch) == most or (len(batch) + 1) * longest > tokens
        assert min(lengths[p] for p in batch) >= max(lengths[p] for p in following)


def test_a_question_is_embedded_as_a_document_is_unless_the_model_says_otherwise(
    opened: Open, model: Path
) -> None:
    embedder = opened()
    np.testing.assert_allclose(
        embedder.embed_query("red fish"), embedder.embed_documents(["red fish"])[0], atol=1e-6
    )

    prompts = {"query": "blue ", "document": "green "}
    write_json(model / "config_sentence_transformers.json", {"prompts": prompts})
    prompted = opened()
    np.testing.assert_allclose(prompted.embed_query("fish"), reference("blue fish"), atol=1e-5)
    np.testing.assert_allclose(
        prompted.embed_documents(["fish"])[0], reference("green fish"), atol=1e-5
    )


def test_a_long_text_is_cut_to_what_the_model_reads_but_counted_whole(opened: Open) -> None:
    embedder = opened()
    long = "red fish blue bird " * 2500

    assert embedder.max_tokens == POSITIONS
    assert embedder.count_tokens(long) == 10_000
    np.testing.assert_allclose(embedder.embed_query(long), reference(long), atol=1e-5)


def test_no_texts(opened: Open) -> None:
    assert opened().embed_documents([]).shape == (0, SIZE)


def test_a_model_may_say_that_its_first_token_counts(opened: Open, model: Path) -> None:
    write_json(model / "1_Pooling/config.json", {"pooling_mode_cls_token": True})
    vectors = opened().embed_documents(["red fish", "blue"])
    expected = np.stack([reference(text, "cls") for text in ("red fish", "blue")])
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


PIECES = ["<s>", "<pad>", "</s>", "<unk>", "\u2581", "\u2581query", ":", "\u2581passage"]
PIECES += ["\u2581rote", "\u2581Häuser", "\u2581maisons", "\u2581rouge", "s", "\u5bb6"]


def write_multilingual(folder: Path, positions: int) -> Array:
    """An encoder as XLM-R is: a Unigram tokenizer, padding at 1, positions from 2 on.

    It adds a word's vector and its position's; gives both tables, (words + positions, SIZE).
    """
    rng = np.random.default_rng(5)
    table = rng.normal(size=(len(PIECES) + positions, SIZE)).astype(np.float32)
    constants: dict[str, NDArray[Any]] = {
        "words": table[: len(PIECES)],
        "places": table[len(PIECES) :],
        **{"one": np.array(1, np.int64), "axis": np.array(1, np.int64)},
    }
    steps: list[Step] = [
        ("Sub", ["input_ids", "one"], "shifted"),
        ("Abs", ["shifted"], "far"),
        ("Min", ["far", "one"], "is_word"),
        ("CumSum", ["is_word", "axis"], "count"),
        ("Mul", ["count", "is_word"], "place"),
        ("Add", ["place", "one"], "position"),
        ("Gather", ["places", "position"], "placed"),
        ("Gather", ["words", "input_ids"], "said"),
        ("Add", ["said", "placed"], "last_hidden_state"),
    ]
    write_graph(folder / "onnx/model.onnx", steps, constants, ["b", "t", SIZE], ENCODER[:2])
    config = {"model_type": "xlm-roberta", "pad_token_id": 1, "hidden_size": SIZE}
    write_json(folder / "config.json", {**config, "max_position_embeddings": positions})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 512})
    unigram = Tokenizer(models.Unigram([(piece, -1.0) for piece in PIECES], unk_id=3))
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    unigram.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    unigram.save(str(folder / "tokenizer.json"))
    return table


@pytest.mark.parametrize(
    ("name", "query", "passage"),
    [
        ("multilingual-e5-small", ["\u2581query", ":"], ["\u2581passage", ":"]),
        ("paraphrase-multilingual-MiniLM-L12-v2", [], []),
        ("multilingual-e5-large-instruct", [], []),
    ],
)
def test_a_multilingual_model_reads_as_it_was_trained(
    tmp_path: Path, cache: Path, name: str, query: list[str], passage: list[str]
) -> None:
    table = write_multilingual(tmp_path / name, positions=14)
    settings = EmbedSettings(model=str(tmp_path / name), cache=cache)
    embedder = OnnxEmbedder(settings)

    def expected(pieces: list[str]) -> Array:
        ids = [0, *map(PIECES.index, pieces), 2]
        hidden = table[ids] + table[len(PIECES) + 2 : len(PIECES) + 2 + len(ids)]
        return np.asarray(hidden.mean(0) / np.linalg.norm(hidden.mean(0)))

    german, french = ["\u2581rote", "\u2581Häuser"], ["\u2581maisons", "\u2581rouge", "s"]
    # The shorter one is padded, whose place must not count.
    vectors = embedder.embed_documents(["rote Häuser", "maisons rouges"])
    whole = [expected([*passage, *said]) for said in (german, french)]
    np.testing.assert_allclose(vectors, whole, atol=1e-5)
    found = embedder.embed_query("maisons rouges")
    np.testing.assert_allclose(found, expected([*query, *french]), atol=1e-5)
    assert embedder.count_tokens("maisons rouges") == 3
    # Positions 0 and 1 are no token's: a longer text than 12 tokens would ask for those after 13.
    assert embedder.max_tokens == 12
    assert np.isfinite(embedder.embed_query("rote " * 50)).all()


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: cut(folder / "model.data"),
        lambda folder: (folder / "model.data").unlink(),
        lambda folder: cut(folder / "model.onnx"),
        lambda folder: (folder / "model.onnx").write_bytes(b"not a graph"),
        lambda folder: (folder / "model.onnx").write_bytes(b""),
    ],
    ids=["cut data", "no data", "cut graph", "other graph", "empty graph"],
)
def test_a_damaged_model(opened: Open, model: Path, damage: Callable[[Path], object]) -> None:
    damage(model)

    with pytest.raises(ModelError, match=r"cannot (load|run) the model .*embed\.model"):
        opened().embed_query("red fish")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_a_provider_that_is_not_there(opened: Open) -> None:
    before = opened().embed_query("a tower clock")

    with pytest.raises(ModelError, match=r"'NoSuchProvider' here, but .*CPU.*embed\.providers"):
        opened(providers=["NoSuchProvider", "CPUExecutionProvider"]).embed_query("a tower clock")

    again = opened(providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(again.embed_query("a tower clock"), before)


def test_threads_share_one_embedder(opened: Open) -> None:
    embedder = opened()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(embedder.embed_documents, [TEXTS] * 4))

    expected = np.stack([reference(text) for text in TEXTS])
    np.testing.assert_allclose(found, [expected] * 4, atol=1e-5)


# --- identity ----------------------------------------------------------------------------------


def test_the_name_of_a_directory_tells_its_weights(opened: Open, model: Path) -> None:
    name = opened().name
    assert name.startswith("tiny@")
    assert opened().name == name

    write_model(model, seed=8)
    assert opened().name != name


def test_nothing_is_read_before_it_is_needed(cache: Path) -> None:
    embedder = OnnxEmbedder(EmbedSettings(model="./nowhere", cache=cache))

    assert not cache.exists()
    with pytest.raises(ModelError, match=r"cannot find the embedding model '\./nowhere'"):
        _ = embedder.name


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("config.json", "{", r"cannot read the model's configuration .*config\.json"),
        ("config.json", "[]", "holds list; expected a JSON object"),
        ("config.json", "{}", "has no 'hidden_size'"),
        ("1_Pooling/config.json", '{"pooling_mode_max_tokens": true}', "pooling by max_tokens"),
        ("config.json", json.dumps(CONFIG | {"hidden_size": 33}), r"shape \(1, 32\) for 1 texts"),
        ("tokenizer.json", "{", r"cannot read the tokenizer .*tokenizer\.json"),
    ],
)
def test_a_damaged_configuration(
    opened: Open, model: Path, file: str, content: str, message: str
) -> None:
    (model / file).parent.mkdir(exist_ok=True)
    (model / file).write_text(content)

    with pytest.raises(ModelError, match=message):
        opened().embed_query("red")


# --- The model that ships: all-MiniLM-L6-v2 from the installed weights package.


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> OnnxEmbedder:
    cache: Path = tmp_path_factory.mktemp("models")
    return OnnxEmbedder(EmbedSettings(cache=cache))


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


@pytest.mark.parametrize("text", ["", "😀🎉", "word " * 10_000, "Где находится Эрмитаж?", "東京"])
def test_bundled_odd_texts_have_finite_unit_vectors(embedder: OnnxEmbedder, text: str) -> None:
    vector = embedder.embed_query(text)

    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


# --- Passages longer than the model reads: nothing of them is lost to a search by meaning.


class Short(HashEmbedder):
    """Reads twenty words and cuts the rest."""

    max_tokens = 22

    def count_tokens(self, text: str) -> int:
        return sum(-(-len(word) // 6) for word in text.split())

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        assert all(self.count_tokens(text) <= 20 for text in texts), "all of it is read"
        return super().embed_documents(texts)


def test_a_long_text_is_the_mean_of_all_its_parts_weighed_by_length() -> None:
    words = [f"word{n}" for n in range(95)]
    parts = [" ".join(words[start : start + 20]) for start in range(0, 95, 20)]
    expected = np.array([20, 20, 20, 20, 15]) @ Short().embed_documents(parts)
    (made,) = LongTexts(Short(), 80).embed_documents([" ".join(words)])
    assert np.allclose(made, expected / np.linalg.norm(expected), atol=1e-6)


def test_a_passage_may_be_as_long_as_it_is_asked_for(tmp_path: Path) -> None:
    """By the model that ships, which reads 256 tokens."""
    days = (f"On day {n} the keeper of the lighthouse saw {n % 7} ships." for n in range(120))
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
