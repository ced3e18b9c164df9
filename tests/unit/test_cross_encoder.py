"""Cross-encoders, and where models lie."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto
from scipy.special import expit

from clew.errors import MissingExtraError, ModelError
from clew.models.cross_encoder import OnnxCrossEncoder, SentenceTransformersReranker
from clew.models.locate import BUNDLED_MODEL, locate_model
from clew.ports import Reranker
from clew.settings import RerankSettings, Settings
from clew.wiring import make_reranker
from tests.unit.files import write
from tests.unit.onnx_models import CLS, PAD, SEP, VOCABULARY, Step, word_pieces, write_graph

# --- Cross-encoders of a few random weights against what their graph computes.


POSITIONS = 12
CONFIG: dict[str, Any] = {
    "model_type": "bert",
    "max_position_embeddings": POSITIONS,
    "pad_token_id": PAD,
}
QUESTION = "red fish"
TEXTS = ["blue stones night", "", "green bird river red red fish blue stone", "unheard of", "red"]


# --- the model, and what it should say ---------------------------------------------------------


def tokens(text: str) -> list[int]:
    ids: list[int] = word_pieces().encode(text, add_special_tokens=False).ids
    return ids


def pair(question: str, text: str) -> tuple[list[int], list[int]]:
    """Ids and types: the text is cut to what fits, the question to half of it."""
    first = [CLS, *tokens(question)[: POSITIONS // 2], SEP]
    second = [*tokens(text)[: POSITIONS - len(first) - 1], SEP]
    return first + second, [0] * len(first) + [1] * len(second)


def expected(question: str) -> NDArray[np.float64]:
    table = numbers()[:, 0]
    logits = [
        sum(table[id_] * (1 + 2 * type_) for id_, type_ in zip(*pair(question, text), strict=True))
        for text in TEXTS
    ]
    return np.asarray(expit(logits))


def numbers(outputs: int = 1) -> NDArray[np.float32]:
    """(words, outputs): what each token adds to the logits."""
    rng = np.random.default_rng(5)
    return rng.normal(0, 0.2, (len(VOCABULARY), outputs)).astype(np.float32)


def write_model(folder: Path, *, outputs: int = 1) -> Path:
    """A graph whose logit is the sum of its tokens' numbers, those of the text three times."""
    constants: dict[str, NDArray[Any]] = {
        "table": numbers(outputs),
        "last": np.array([2]),
        "tokens": np.array([1]),
        "two": np.array(2, np.float32),
        "one": np.array(1, np.float32),
    }
    number = {"to": TensorProto.FLOAT}
    steps: list[Step] = [
        ("Gather", ["table", "input_ids"], "numbers"),
        ("Cast", ["token_type_ids"], "types", number),
        ("Mul", ["types", "two"], "doubled"),
        ("Add", ["doubled", "one"], "weights"),
        ("Cast", ["attention_mask"], "mask", number),
        ("Mul", ["weights", "mask"], "counted_weights"),
        ("Unsqueeze", ["counted_weights", "last"], "column"),
        ("Mul", ["numbers", "column"], "counted"),
        ("ReduceSum", ["counted", "tokens"], "logits", {"keepdims": 0}),
    ]
    write_graph(folder / "onnx/model.onnx", steps, constants, ["b", outputs])
    (folder / "config.json").write_text(json.dumps(CONFIG))
    padding = word_pieces()
    padding.enable_padding(length=4)  # as files on the hub do; it must not be heeded
    padding.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny")


def opened(model: Path) -> OnnxCrossEncoder:
    return OnnxCrossEncoder(str(model), cache=model.parent / "cache", threads=1)


# --- scores --------------------------------------------------------------------------


@pytest.mark.parametrize("question", [QUESTION, *("green " * n for n in (1, 5, 6, 7, 12, 4000))])
def test_scores_are_those_of_the_graph(model: Path, question: str) -> None:
    """A long question is cut to half and leaves room for the text."""
    reranker: Reranker = opened(model)
    scores = reranker.score(question, TEXTS)
    assert scores.dtype == np.float32
    assert np.ptp(scores) > 0.01
    np.testing.assert_allclose(scores, expected(question), atol=1e-4)


@pytest.mark.parametrize(
    "text",
    ["😀", "\ud800", "\0", "red " * 5000, "的" * 99],
    ids=["emoji", "surrogate", "null", "long", "unspaced"],
)
def test_odd_texts_and_questions_have_scores(model: Path, text: str) -> None:
    reranker = opened(model)

    for scores in (reranker.score(text, [text, "red"]), reranker.score("", [text, ""])):
        assert ((scores > 0) & (scores < 1)).all()


# --- what cannot be ------------------------------------------------------------------------------


def test_a_damaged_model_and_one_of_several_outputs(tmp_path: Path, model: Path) -> None:
    several = r"shape \(1, 3\) for 1 pairs.*expected one number each"
    with pytest.raises(ModelError, match=several):
        opened(write_model(tmp_path / "three", outputs=3)).score(QUESTION, ["red"])
    (model / "onnx/model.onnx").write_bytes(b"\xff" * 100)
    with pytest.raises(ModelError, match=r"cannot load the model .*setting rerank\.model"):
        opened(model).score(QUESTION, TEXTS)


# --- sentence-transformers -----------------------------------------------------------------------

STAND_IN = """
import numpy as np

class CrossEncoder:
    def __init__(self, model_name_or_path=None, *, modules=None, device=None, activation_fn=None):
        if model_name_or_path == "missing":
            raise OSError("missing is no model\\nread the manual")
        self.labels = 3 if model_name_or_path == "three" else 1

    def predict(self, inputs, prompt_name=None, prompt=None, batch_size=32, show_progress_bar=None,
                activation_fn=None, apply_softmax=False, convert_to_numpy=True,
                convert_to_tensor=False):
        assert show_progress_bar is False
        if inputs[0][0] == "too much":
            raise RuntimeError("out of memory")
        logits = np.array([float(len(text) - len(question)) for question, text in inputs])
        found = activation_fn(logits)
        return found if self.labels == 1 else np.stack([found] * self.labels, axis=1)
"""
TORCH = """
import numpy as np

class Sigmoid:
    def __call__(self, logits):
        return 1 / (1 + np.exp(-logits))
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules of the shape of the real ones, which are too large to install for a test."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("")
    (tmp_path / "torch/nn.py").write_text(TORCH)
    (tmp_path / "sentence_transformers.py").write_text(STAND_IN)
    for name in ("sentence_transformers", "torch", "torch.nn"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("library")
def test_sentence_transformers_is_asked_for_a_sigmoid() -> None:
    reranker: Reranker = SentenceTransformersReranker("some/model")

    scores = reranker.score("four", ["six by", "two"])

    assert reranker.name == "some/model"
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expit([2, -1]), rtol=1e-6)
    assert reranker.score("four", []).shape == (0,)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("model", "question", "message"),
    [
        ("missing", "red", r"cannot load the cross-encoder 'missing': missing is no model"),
        ("some/model", "too much", r"cannot run .*out of memory.*setting rerank\.model"),
        ("three", "red", r"'three' gave an output of shape \(1, 3\) for 1 pairs"),
    ],
)
def test_what_sentence_transformers_cannot_do(model: str, question: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        SentenceTransformersReranker(model).score(question, ["red"])


def test_without_sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)

    with pytest.raises(MissingExtraError, match=r"'some/model'.*clew\[sentence-transformers\]"):
        SentenceTransformersReranker("some/model").score("red", ["blue"])


# --- settings -----------------------------------------------------------------------------------


def test_the_settings_choose_the_reranker() -> None:
    assert make_reranker(Settings()) is None
    onnx_runtime = Settings(rerank=RerankSettings(model="some/model"))
    assert isinstance(make_reranker(onnx_runtime), OnnxCrossEncoder)
    library = Settings(rerank=RerankSettings(model="some/model", runtime="sentence-transformers"))
    assert isinstance(make_reranker(library), SentenceTransformersReranker)


# --- locate


COMMIT = "0" * 40


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.mark.parametrize("weights", ["onnx/model.onnx", "model.onnx"])
def test_a_directory(tmp_path: Path, weights: str) -> None:
    folder = tmp_path / "mine"
    write(folder, "tokenizer.json", "config.json", weights)
    files = locate_model(str(folder))
    assert (files.name, files.private) == ("mine", True)
    assert (files.weights, files.tokenizer) == (folder / weights, folder / "tokenizer.json")


def test_an_incomplete_directory_says_what_it_lacks(tmp_path: Path) -> None:
    write(tmp_path / "mine", "config.json")

    with pytest.raises(
        ModelError, match=r"incomplete: it lacks tokenizer\.json, onnx/model\.onnx or model\.onnx"
    ):
        locate_model(str(tmp_path / "mine"))


@pytest.mark.parametrize("model", ["./nothing", "/nothing/here", "~/nothing", "a/b/c", "~nobody/x"])
def test_a_path_is_not_looked_for_on_the_hub(model: str) -> None:
    with pytest.raises(ModelError, match=r"Tried: a directory '[^']*' \(there is none\)\. Install"):
        locate_model(model)


@pytest.mark.usefixtures("offline")
def test_the_hub_cache_needs_no_network(tmp_path: Path) -> None:
    """A snapshot as the hub's own library keeps it."""
    repository = tmp_path / "models--owner--model"
    snapshot = repository / "snapshots" / COMMIT
    write(snapshot, "onnx/model.onnx", "tokenizer.json", "config.json")
    write(repository, "refs/main", text=COMMIT)
    files = locate_model("owner/model", tmp_path)
    assert (files.name, files.weights, files.private) == (
        "owner/model",
        snapshot / "onnx/model.onnx",
        False,
    )


@pytest.mark.usefixtures("offline")
def test_nowhere_to_be_found_says_what_was_tried_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "clew_models", None)
    with pytest.raises(ModelError) as caught:
        locate_model(BUNDLED_MODEL, tmp_path)

    message = str(caught.value)
    for expected in (
        f"cannot find the embedding model '{BUNDLED_MODEL}'",
        "a directory 'all-MiniLM-L6-v2' (there is none)",
        "clew-models (not installed)",
        "pip install clew-models",
        "pip install 'clew[hub]'",
    ):
        assert expected in message


def test_without_the_hub_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)

    with pytest.raises(ModelError, match=r"huggingface-hub is not installed.*clew\[hub\]"):
        locate_model("owner/model", tmp_path)
