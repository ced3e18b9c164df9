from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

import pytest

from clew.errors import ModelError
from clew.models.locate import BUNDLED_MODEL, locate_model

COMMIT = "0" * 40


def write_files(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    return folder


def write_hub_cache(cache: Path, name: str, *files: str) -> Path:
    """A snapshot as the hub's own library keeps it."""
    repository = cache / f"models--{name.replace('/', '--')}"
    write_files(repository / "snapshots" / COMMIT, *files)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    return repository / "snapshots" / COMMIT


@pytest.fixture
def no_bundled_package(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def find_other(name: str) -> importlib.machinery.ModuleSpec | None:
        return None if name == "clew_models" else find(name)

    monkeypatch.setattr(importlib.util, "find_spec", find_other)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.mark.parametrize("weights", ["onnx/model.onnx", "model.onnx"])
def test_a_directory(tmp_path: Path, weights: str) -> None:
    write_files(tmp_path / "mine", "tokenizer.json", "config.json", weights)

    files = locate_model(str(tmp_path / "mine"))

    assert files.name == "mine"
    assert files.weights == tmp_path / "mine" / weights
    assert files.tokenizer == tmp_path / "mine" / "tokenizer.json"
    assert files.private


def test_a_directory_goes_before_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / BUNDLED_MODEL, "tokenizer.json", "config.json", "model.onnx")
    monkeypatch.chdir(tmp_path)

    assert locate_model(BUNDLED_MODEL).folder == tmp_path / BUNDLED_MODEL


def test_an_incomplete_directory_says_what_it_lacks(tmp_path: Path) -> None:
    write_files(tmp_path / "mine", "config.json")

    with pytest.raises(
        ModelError, match=r"incomplete: it lacks tokenizer\.json, onnx/model\.onnx or model\.onnx"
    ):
        locate_model(str(tmp_path / "mine"))


@pytest.mark.parametrize("model", [BUNDLED_MODEL, f"sentence-transformers/{BUNDLED_MODEL}"])
def test_the_package_is_found_without_importing_it(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    files = locate_model(model)

    assert files.name == f"{BUNDLED_MODEL}/int8"
    assert files.weights.name == "model.onnx"
    assert not files.private
    assert "clew_models" not in sys.modules


@pytest.mark.parametrize("model", ["./nothing", "/nothing/here", "~/nothing", "a/b/c", "~nobody/x"])
def test_a_path_is_not_looked_for_on_the_hub(model: str) -> None:
    with pytest.raises(ModelError, match=r"Tried: a directory '[^']*' \(there is none\)\. Install"):
        locate_model(model)


@pytest.mark.usefixtures("offline")
def test_the_hub_cache_needs_no_network(tmp_path: Path) -> None:
    snapshot = write_hub_cache(
        tmp_path, "owner/model", "onnx/model.onnx", "tokenizer.json", "config.json"
    )

    files = locate_model("owner/model", tmp_path)

    assert files.name == "owner/model"
    assert files.weights == snapshot / "onnx/model.onnx"
    assert not files.private


@pytest.mark.usefixtures("offline")
def test_an_incomplete_hub_snapshot(tmp_path: Path) -> None:
    write_hub_cache(tmp_path, "owner/model", "tokenizer.json", "config.json")

    with pytest.raises(ModelError, match=r"lacks onnx/model\.onnx or model\.onnx"):
        locate_model("owner/model", tmp_path)


@pytest.mark.usefixtures("offline", "no_bundled_package")
def test_nowhere_to_be_found_says_what_was_tried_and_what_to_do(tmp_path: Path) -> None:
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


def test_a_name_that_the_hub_cannot_have(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"'what\?' .*the Hugging Face hub \("):
        locate_model("what?", tmp_path)


def test_without_the_hub_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)

    with pytest.raises(ModelError, match=r"huggingface-hub is not installed.*clew\[hub\]"):
        locate_model("owner/model", tmp_path)
