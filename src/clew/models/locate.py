"""Where a model comes from: a directory, the installed weights package, or the Hugging Face hub."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from clew.errors import ModelError

BUNDLED_MODEL = "all-MiniLM-L6-v2"
_BUNDLED_MODULE = "clew_models"
_BUNDLED_HUB_NAME = f"sentence-transformers/{BUNDLED_MODEL}"
_BUNDLED_NAME = f"{BUNDLED_MODEL}/int8"
"""Vectors in int8 are not quite those of the hub's files: a store holds one kind."""
_BUNDLED = {
    BUNDLED_MODEL: (BUNDLED_MODEL, _BUNDLED_NAME),
    _BUNDLED_HUB_NAME: (BUNDLED_MODEL, _BUNDLED_NAME),
    "reader": ("reader", "reader"),
    "tagger": ("tagger", "tagger"),
}
"""Folder in the installed package, and name, by what a setting calls the model."""

_TOKENIZER = "tokenizer.json"
_SAMPLES, _SAMPLE_BYTES = 16, 4096
_WEIGHTS = ("onnx/model.onnx", "model.onnx")
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
    """What a model is for, and where it is chosen."""

    noun: str
    setting: str
    advice: str = ""
    """What else to do where it cannot be found."""


EMBEDDING = ModelKind(
    noun="embedding model",
    setting="embed.model",
    advice="Install the bundled model (pip install clew-models), or ",
)
CROSS_ENCODER = ModelKind(noun="cross-encoder", setting="rerank.model")
TAGGER = ModelKind(
    noun="tagger",
    setting="clew-models",
    advice="Install the bundled models (pip install clew-models), or ",
)
READER = ModelKind(
    noun="reader",
    setting="search.reader",
    advice="Install the bundled models (pip install clew-models), or ",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFiles:
    """The files of a model on this machine."""

    name: str
    """As the model is known: `all-MiniLM-L6-v2/int8`, a hub name, or a folder's name."""
    folder: Path
    weights: Path
    """The ONNX graph."""
    tokenizer: Path
    private: bool = False
    """A directory of the user's own, whose name alone does not tell which weights it holds."""

    @property
    def identity(self) -> str:
        """The name; a private directory's is followed by a digest of samples of its weights.

        Raises `ModelError` where the weights cannot be read.
        """
        if not self.private:
            return self.name
        beside = (f"{self.weights.name}_data", "model.data")
        data = [self.weights.with_name(name) for name in beside]
        try:
            samples = [_sample(path) for path in (self.weights, *data) if path.is_file()]
        except OSError as error:
            raise ModelError(
                f"cannot read the weights {str(self.weights)!r}: {error}. Make them readable"
            ) from error
        return f"{self.name}@{hashlib.sha256(b''.join(samples)).hexdigest()[:8]}"


def locate_model(model: str, cache: Path | None = None, kind: ModelKind = EMBEDDING) -> ModelFiles:
    """The files of a model, fetched from the hub only where nothing on this machine has them.

    Args:
        model: A directory, `all-MiniLM-L6-v2`, or a name on the Hugging Face hub.
        cache: Where what the hub sends is kept; None for the hub's own cache.
        kind: What it is for.

    Raises:
        ModelError: Nowhere to be found, or incomplete; says what was tried and what to do.
    """
    try:
        folder = Path(model).expanduser()
    except RuntimeError:  # "~somebody" who has no home here
        folder = Path(model)
    if folder.is_dir():
        return replace(_files(folder.resolve().name, folder.resolve(), kind), private=True)
    tried = [f"a directory {str(folder)!r} (there is none)"]
    if model in _BUNDLED:
        spec = importlib.util.find_spec(_BUNDLED_MODULE)  # which does not import it
        if spec is None or not spec.submodule_search_locations:
            raise _not_found(model, [*tried, "the package clew-models (not installed)"], kind)
        place, name = _BUNDLED[model]
        package = Path(spec.submodule_search_locations[0])
        # Beside the folder, since the models have files in common.
        tokenizer, graph = package / _TOKENIZER, package / f"{place}.onnx"
        return _files(name, package / place, kind, tokenizer, (graph,))
    # A hub name is `model` or `owner/model`; all else can only be meant as a path.
    if model.startswith((".", "~", "/")) or "\\" in model or model.count("/") > 1:
        raise _not_found(model, tried, kind)
    return _files(model, _hub_folder(model, cache, tried, kind), kind)


def _sample(path: Path) -> bytes:
    """Size and sixteen pieces of a file: training changes weights everywhere."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        pieces = [str(size).encode()]
        for part in range(_SAMPLES):
            stream.seek(size * part // _SAMPLES)
            pieces.append(stream.read(_SAMPLE_BYTES))
    return b"".join(pieces)


def _files(
    name: str,
    folder: Path,
    kind: ModelKind,
    tokenizer: str | Path = _TOKENIZER,
    graphs: tuple[str | Path, ...] = _WEIGHTS,
) -> ModelFiles:
    """Paths are seen from the folder. Raises `ModelError` naming each file that is missing."""
    weights = next((folder / path for path in graphs if (folder / path).is_file()), None)
    missing = [str(path) for path in (tokenizer, "config.json") if not (folder / path).is_file()]
    if weights is None:
        missing.append(" or ".join(map(str, graphs)))
    if weights is None or missing:
        raise ModelError(
            f"the model in {str(folder)!r} is incomplete: it lacks {', '.join(missing)}. "
            f"Fetch or install it again, or name another in the setting {kind.setting}"
        )
    return ModelFiles(name=name, folder=folder, weights=weights, tokenizer=folder / tokenizer)


def _hub_folder(model: str, cache: Path | None, tried: list[str], kind: ModelKind) -> Path:
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
                model, allow_patterns=_HUB_PATTERNS, cache_dir=cache, local_files_only=True
            )
        )
        if (folder / _WEIGHTS[0]).is_file() and (folder / _TOKENIZER).is_file():
            return folder
    except LocalEntryNotFoundError:
        tried.append("the hub's cache (nothing there)")
    except HFValidationError as error:
        tried.append(f"the Hugging Face hub ({error})")
        raise _not_found(model, tried, kind) from error
    # The HTTP client's own root, for what the hub's library lets through; it has changed clients.
    http_error = cast("type[Exception]", HfHubHTTPError.__bases__[0])
    try:
        folder = Path(snapshot_download(model, allow_patterns=_HUB_PATTERNS, cache_dir=cache))
    except (OSError, http_error) as error:
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)
        tried.append(f"the Hugging Face hub ({said})")
        raise _not_found(model, tried, kind) from error
    return folder


def _not_found(model: str, tried: list[str], kind: ModelKind) -> ModelError:
    return ModelError(
        f"cannot find the {kind.noun} {model!r}. Tried: {'; '.join(tried)}. "
        f"{kind.advice or 'Either '}set {kind.setting} to a directory that holds tokenizer.json, "
        "config.json and model.onnx, or fetch from the hub "
        "(pip install 'clew[hub]')"
    )
