"""Cross-encoders of a few thousand random weights against their forward pass in plain numpy."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file, save_file
from scipy.special import erf, expit
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from clew.errors import MissingExtraError, ModelError
from clew.models.cross_encoder import OnnxCrossEncoder, SentenceTransformersReranker
from clew.models.locate import CROSS_ENCODER, locate_model
from clew.ports import Reranker
from clew.settings import RerankSettings, Settings
from clew.wiring import make_reranker

Array = NDArray[np.float32]
Doubles = NDArray[np.float64]

WORDS = ["red", "green", "blue", "bird", "fish", "stone", "river", "night", "##s"]
VOCABULARY = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
PAD, _, CLS, SEP = range(4)
SIZE, HEADS, POSITIONS, EPSILON = 16, 2, 12, 1e-12
CONFIG: dict[str, Any] = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": SIZE,
    "num_attention_heads": HEADS,
    "num_hidden_layers": 1,
    "max_position_embeddings": POSITIONS,
    "layer_norm_eps": EPSILON,
    "pad_token_id": PAD,
}
LAYER = "bert.encoder.layer.0."
QUESTION = "red fish"
TEXTS = ["blue stones night", "", "green bird river red red fish blue stone", "unheard of", "red"]


# --- the model, and what it should say ---------------------------------------------------------


def random_weights(outputs: int = 1) -> dict[str, Array]:
    rng = np.random.default_rng(11)
    shapes = {
        "bert.embeddings.word_embeddings": (len(VOCABULARY), SIZE),
        "bert.embeddings.position_embeddings": (POSITIONS, SIZE),
        "bert.embeddings.token_type_embeddings": (2, SIZE),
        **{LAYER + f"attention.self.{part}": (SIZE, SIZE) for part in ("query", "key", "value")},
        LAYER + "attention.output.dense": (SIZE, SIZE),
        LAYER + "intermediate.dense": (4 * SIZE, SIZE),
        LAYER + "output.dense": (SIZE, 4 * SIZE),
        "bert.pooler.dense": (SIZE, SIZE),
        "classifier": (outputs, SIZE),
    }
    weights = {f"{name}.weight": rng.normal(0, 0.5, shape) for name, shape in shapes.items()}
    weights |= {f"{n}.bias": rng.normal(0, 0.5, s[0]) for n, s in shapes.items() if "emb" not in n}
    for name in ("bert.embeddings", LAYER + "attention.output", LAYER + "output"):
        weights[f"{name}.LayerNorm.weight"] = rng.normal(1, 0.2, SIZE)
        weights[f"{name}.LayerNorm.bias"] = rng.normal(0, 0.2, SIZE)
    return {name: array.astype(np.float32) for name, array in weights.items()}


def forward(weights: dict[str, Array], ids: list[int], types: list[int]) -> float:
    """The logit of one pair without padding, in float64."""

    def linear(x: Doubles, name: str) -> Doubles:
        return np.asarray(x @ weights[name + ".weight"].T.astype(float) + weights[name + ".bias"])

    def norm(x: Doubles, name: str) -> Doubles:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return np.asarray(scaled * weights[name + ".weight"] + weights[name + ".bias"])

    def attend(x: Doubles) -> Doubles:
        query, key, value = (
            linear(x, f"{LAYER}attention.self.{part}").reshape(len(ids), HEADS, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        shares = np.exp(query @ key.swapaxes(1, 2) / np.sqrt(SIZE / HEADS))
        shares /= shares.sum(-1, keepdims=True)
        return np.asarray((shares @ value).swapaxes(0, 1).reshape(len(ids), SIZE))

    table = "bert.embeddings.{}_embeddings.weight"
    x: Doubles = weights[table.format("word")][ids].astype(float)
    x = (
        x
        + weights[table.format("position")][: len(ids)]
        + weights[table.format("token_type")][types]
    )
    x = norm(x, "bert.embeddings.LayerNorm")
    attended = linear(attend(x), LAYER + "attention.output.dense")
    x = norm(x + attended, LAYER + "attention.output.LayerNorm")
    raised = linear(x, LAYER + "intermediate.dense")
    active = raised * 0.5 * (1 + erf(raised / np.sqrt(2)))
    x = norm(x + linear(active, LAYER + "output.dense"), LAYER + "output.LayerNorm")
    return float(linear(np.tanh(linear(x[0], "bert.pooler.dense")), "classifier")[0])


def tokens(text: str) -> list[int]:
    ids: list[int] = tokenizer().encode(text, add_special_tokens=False).ids
    return ids


def pair(question: str, text: str) -> tuple[list[int], list[int]]:
    """Ids and types: the text is cut to what fits, the question to half of it."""
    first = [CLS, *tokens(question)[: POSITIONS // 2], SEP]
    second = [*tokens(text)[: POSITIONS - len(first) - 1], SEP]
    return first + second, [0] * len(first) + [1] * len(second)


def expected(question: str = QUESTION, texts: list[str] = TEXTS) -> Doubles:
    weights = random_weights()
    return np.array([expit(forward(weights, *pair(question, text))) for text in texts])


def tokenizer() -> Tokenizer:
    made = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)],
    )
    return made


def write_model(folder: Path, weights: dict[str, Array] | None) -> Path:
    """Without weights, all but the model's own file."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    padding = tokenizer()
    padding.enable_padding(length=4)  # as files on the hub do; it must not be heeded
    padding.save(str(folder / "tokenizer.json"))
    if weights is not None:
        save_file(weights, folder / "model.safetensors")
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny", random_weights())


def opened(model: Path) -> OnnxCrossEncoder:
    return OnnxCrossEncoder(str(model), cache=model.parent / "cache", threads=1)


# --- from safetensors --------------------------------------------------------------------------


def test_scores_are_those_of_a_plain_forward_pass(model: Path) -> None:
    reranker: Reranker = opened(model)

    scores = reranker.score(QUESTION, TEXTS)

    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected(), atol=1e-4)
    assert np.ptp(scores) > 0.01


def test_more_texts_than_a_batch_come_back_in_their_order(model: Path) -> None:
    texts = [" ".join(WORDS[:-1][: 1 + i % 8]) for i in range(20)]

    scores = opened(model).score(QUESTION, texts)

    np.testing.assert_allclose(scores, expected(texts=texts), atol=1e-4)


@pytest.mark.parametrize("length", [1, 5, 6, 7, 12, 4000])
def test_a_long_question_is_cut_to_half_and_leaves_room_for_the_text(
    model: Path, length: int
) -> None:
    question = "green " * length

    scores = opened(model).score(question, TEXTS)

    np.testing.assert_allclose(scores, expected(question), atol=1e-4)


def test_a_question_is_no_text(model: Path) -> None:
    forth, back = (opened(model).score(a, [b])[0] for a, b in (("red", "fish"), ("fish", "red")))

    assert abs(forth - back) > 1e-4


def test_no_texts(model: Path) -> None:
    assert opened(model).score(QUESTION, []).shape == (0,)


@pytest.mark.parametrize(
    "text",
    ["😀", "\ud800", "\0", "red " * 5000, "的" * 99],
    ids=["emoji", "surrogate", "null", "long", "unspaced"],
)
def test_odd_texts_and_questions_have_scores(model: Path, text: str) -> None:
    reranker = opened(model)

    for scores in (reranker.score(text, [text, "red"]), reranker.score("", [text, ""])):
        assert ((scores > 0) & (scores < 1)).all()


def test_threads_share_one_model(model: Path) -> None:
    reranker = opened(model)
    found: list[NDArray[np.float32]] = []
    threads = [
        threading.Thread(target=lambda: found.append(reranker.score(QUESTION, TEXTS)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 4
    for scores in found:
        np.testing.assert_allclose(scores, expected(), atol=1e-4)


def test_a_conversion_is_kept_apart_from_that_of_an_embedder(model: Path) -> None:
    from clew.models.onnx import OnnxEmbedder
    from clew.settings import EmbedSettings

    settings = EmbedSettings(model=str(model), cache=model.parent / "cache")
    assert OnnxEmbedder(settings).embed_query("red").shape == (SIZE,)

    np.testing.assert_allclose(opened(model).score(QUESTION, TEXTS), expected(), atol=1e-4)
    assert len(list((model.parent / "cache").glob("*/model.onnx"))) == 2


def test_a_damaged_conversion_is_made_again(model: Path) -> None:
    before = opened(model).score(QUESTION, TEXTS)
    [graph] = (model.parent / "cache").glob("*/model.onnx")
    graph.write_bytes(b"not a graph")

    np.testing.assert_array_equal(opened(model).score(QUESTION, TEXTS), before)


def test_the_name_of_a_directory_tells_its_weights(model: Path) -> None:
    name = opened(model).name
    assert name.startswith("tiny@")
    assert opened(model).name == name

    weights = load_file(model / "model.safetensors")
    save_file({n: array * 2 for n, array in weights.items()}, model / "model.safetensors")
    assert opened(model).name != name


# --- from an ONNX file -------------------------------------------------------------------------


def write_exported(folder: Path, *, outputs: int = 1, inputs: int = 3) -> Array:
    """A graph whose logit is the sum of its tokens' numbers, which it gives by token."""
    table = np.random.default_rng(5).normal(size=(len(VOCABULARY), outputs)).astype(np.float32)
    names = ["input_ids", "attention_mask", "token_type_ids"][:inputs]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["numbers"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
        helper.make_node("Mul", ["numbers", "column"], ["counted"]),
        helper.make_node("ReduceSum", ["counted", "tokens"], ["logits"], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "t"]) for name in names],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", outputs])],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(np.array([2]), "last"),
            numpy_helper.from_array(np.array([1]), "tokens"),
        ],
    )
    opsets = [helper.make_opsetid("", 13)]
    (folder / "onnx").mkdir()
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.save(made, folder / "onnx/model.onnx")
    return table


@pytest.mark.parametrize("inputs", [2, 3])
def test_an_exported_model_runs_as_it_is(tmp_path: Path, inputs: int) -> None:
    folder = write_model(tmp_path / "exported", None)
    numbers = write_exported(folder, inputs=inputs)[:, 0]

    scores = opened(folder).score(QUESTION, TEXTS)

    logits = [numbers[pair(QUESTION, text)[0]].sum() for text in TEXTS]
    np.testing.assert_allclose(scores, expit(logits), atol=1e-5)
    assert list(tmp_path.glob("cache/*/model.onnx")) == []


def test_an_exported_model_goes_before_safetensors(model: Path) -> None:
    write_exported(model)

    assert np.abs(opened(model).score(QUESTION, TEXTS) - expected()).max() > 1e-3


def test_an_exported_model_of_several_outputs(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "exported", None)
    write_exported(folder, outputs=3)

    with pytest.raises(ModelError, match=r"shape \(2, 3\) for 2 pairs.*expected one number each"):
        opened(folder).score(QUESTION, ["red", "blue"])


def test_a_damaged_exported_model(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "exported", None)
    write_exported(folder)
    (folder / "onnx/model.onnx").write_bytes(b"\xff" * 100)

    with pytest.raises(ModelError, match=r"cannot load the model .*setting rerank\.model"):
        opened(folder).score(QUESTION, TEXTS)


# --- what cannot be ------------------------------------------------------------------------------


def test_a_classifier_of_several_outputs(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "three", random_weights(outputs=3))

    with pytest.raises(ModelError, match="has 3 outputs; expected a cross-encoder with one"):
        opened(folder).score(QUESTION, TEXTS)


def test_an_encoder_without_a_classifier(tmp_path: Path) -> None:
    weights = random_weights()
    del weights["classifier.weight"]
    folder = write_model(tmp_path / "encoder", weights)

    with pytest.raises(ModelError, match=r"no tensor 'classifier\.weight'"):
        opened(folder).score(QUESTION, TEXTS)


def test_nothing_is_read_before_it_is_needed() -> None:
    reranker = OnnxCrossEncoder("./nowhere")

    with pytest.raises(
        ModelError, match=r"cannot find the cross-encoder '\./nowhere'.*set rerank\.model to a"
    ):
        reranker.score(QUESTION, TEXTS)


COMMIT = "0" * 40


@pytest.mark.parametrize("weights", ["onnx/model.onnx", "model.safetensors"])
def test_the_hub_cache_needs_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weights: str
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    repository = tmp_path / "models--owner--model"
    snapshot = repository / "snapshots" / COMMIT
    for name in (weights, "tokenizer.json", "config.json"):
        (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
        (snapshot / name).write_text("{}")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)

    files = locate_model("owner/model", tmp_path, CROSS_ENCODER)

    assert files.weights == snapshot / weights
    assert not files.private


def test_safetensors_are_fetched_where_the_hub_has_no_onnx_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for the hub's download function, which writes what the patterns let through."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    there = ["config.json", "tokenizer.json", "model.safetensors", "pytorch_model.bin"]

    def download(
        name: str,
        *,
        allow_patterns: list[str],
        local_files_only: bool = False,
        cache_dir: None = None,
    ) -> str:
        if local_files_only:
            raise LocalEntryNotFoundError("nothing there")
        for file in set(there) & set(allow_patterns):
            (tmp_path / file).write_text("{}")
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)

    assert locate_model("owner/model", kind=CROSS_ENCODER).weights == tmp_path / "model.safetensors"
    assert not (tmp_path / "pytorch_model.bin").exists()


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


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)


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


@pytest.mark.usefixtures("no_library")
def test_without_sentence_transformers() -> None:
    reranker = SentenceTransformersReranker("some/model")

    with pytest.raises(MissingExtraError, match=r"'some/model'.*clew\[sentence-transformers\]"):
        reranker.score("red", ["blue"])


# --- settings -----------------------------------------------------------------------------------


def test_the_settings_choose_the_reranker() -> None:
    assert make_reranker(Settings()) is None
    onnx_runtime = Settings(rerank=RerankSettings(model="some/model"))
    assert isinstance(make_reranker(onnx_runtime), OnnxCrossEncoder)
    library = Settings(rerank=RerankSettings(model="some/model", runtime="sentence-transformers"))
    assert isinstance(make_reranker(library), SentenceTransformersReranker)
