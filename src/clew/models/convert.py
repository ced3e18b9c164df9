"""The user's cache of converted models: one folder a model, precision and converter version.

Weights lie beside the graph in a file of their own, which onnxruntime maps into memory: a session
starts three to four times as fast, and word vectors that no text needs are never read.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import ModelError

if TYPE_CHECKING:
    from onnx import ModelProto

    from clew.models.locate import ModelFiles
    from clew.models.model_config import ModelConfig
    from clew.settings import Precision

logger = logging.getLogger(__name__)

CONVERTER_VERSION = 1
"""Grows whenever the same weights are converted to another graph."""

_GRAPH = "model.onnx"
_DATA = "model.data"
_SCRATCH = ".new-"
_ABANDONED_SECONDS = 3600
_DIGEST = re.compile(r"[0-9a-f]{64}")


def default_cache() -> Path:
    """The user's cache folder for models, as the platform has it."""
    from platformdirs import user_cache_path

    return user_cache_path("clew", appauthor=False) / "models"


def weights_digest(files: ModelFiles, cache: Path) -> str:
    """Hex SHA-256 of the weights; remembered by path, size and time, since reading takes a while.

    Raises:
        ModelError: The weights cannot be read, or the cache cannot be written.
    """
    paths = _weight_files(files)
    with _file_errors(files.folder):
        stamp = "\n".join(_stamp(path) for path in paths)
        memo = cache / "digests" / hashlib.sha256(stamp.encode()).hexdigest()
        if memo.is_file() and _DIGEST.fullmatch(known := memo.read_text(encoding="latin-1")):
            return known
        digest = hashlib.sha256()
        for path in paths:
            with path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    with _file_errors(cache), _scratch_folder(memo.parent) as scratch:
        (scratch / "digest").write_text(digest.hexdigest(), encoding="ascii")
        (scratch / "digest").replace(memo)
    return digest.hexdigest()


def converted_model(
    files: ModelFiles, config: ModelConfig, precision: Precision, cache: Path
) -> Path:
    """The converted graph of a model, made now where the cache does not have it.

    Processes may race: each builds aside, the first to finish puts its folder in place.

    Raises:
        ModelError: The model cannot be converted, or the cache cannot be written.
    """
    folder = cache / _folder_name(files, config, precision, weights_digest(files, cache))
    if not (folder / _GRAPH).is_file():
        logger.info("converting the model %s (%s), once", files.name, precision)
        model = build(files, config, precision)
        _sweep(cache)
        with _file_errors(cache), _scratch_folder(cache) as scratch:
            _save(model, scratch / folder.name)
            _put_in_place(scratch / folder.name, folder)
    return folder / _GRAPH


def discard(graph: Path) -> None:
    """Take a damaged converted model out of the cache; whoever still reads it goes on reading.

    Raises:
        ModelError: The cache cannot be written.
    """
    folder = graph.parent
    with _file_errors(folder), _scratch_folder(folder.parent) as scratch:
        try:
            folder.rename(scratch / folder.name)
        except FileNotFoundError:
            logger.debug("another process has already discarded %s", folder)


def build(files: ModelFiles, config: ModelConfig, precision: Precision) -> ModelProto:
    """The graph, in memory: from safetensors, or from ONNX with pooling put behind it.

    Raises:
        ModelError: The weights are damaged, or of an architecture that is not supported.
    """
    from clew.models.bert_graph import build_bert, read_safetensors
    from clew.models.sentence_graph import add_pooling, read_onnx

    if files.weights.suffix == ".safetensors":
        model = build_bert(config, read_safetensors(files.weights))
    else:
        model = read_onnx(files.weights)
        add_pooling(model, config)
    if precision == "fp32":
        return model
    from clew.models.quantise import quantise

    return quantise(model)


def _sweep(cache: Path) -> None:
    """Remove what processes that were killed in the middle of writing have left."""
    for scratch in cache.glob(f"{_SCRATCH}*"):
        with suppress(OSError):
            if time.time() - scratch.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(scratch)


def _folder_name(files: ModelFiles, config: ModelConfig, precision: Precision, weights: str) -> str:
    """Names everything that the graph depends on."""
    described = json.dumps([weights, dict(config.architecture), config.pooling], sort_keys=True)
    digest = hashlib.sha256(described.encode()).hexdigest()[:16]
    return f"{files.name.replace('/', '--')}-{digest}-{precision}-v{CONVERTER_VERSION}"


def _weight_files(files: ModelFiles) -> list[Path]:
    """The weights, and what lies beside an ONNX graph that is too large for one file."""
    beside = files.weights.with_name(files.weights.name + "_data")
    return [files.weights, beside] if beside.is_file() else [files.weights]


def _stamp(path: Path) -> str:
    stat = path.stat()
    return f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\0{stat.st_ino}"


def _save(model: ModelProto, folder: Path) -> None:
    """Write graph and weights, and have them on the disk before the folder gets its name."""
    import onnx

    folder.mkdir()
    onnx.save(model, folder / _GRAPH, save_as_external_data=True, location=_DATA)
    for path in folder.iterdir():
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())


def _put_in_place(built: Path, folder: Path) -> None:
    """Give a folder its name, unless another process was first or left it without a graph."""
    try:
        built.rename(folder)
    except OSError:
        if (folder / _GRAPH).is_file():
            logger.debug("another process was first to write %s", folder)
            return
        discard(folder / _GRAPH)
        built.rename(folder)


@contextmanager
def _scratch_folder(parent: Path) -> Iterator[Path]:
    """A folder on the same file system, so that renames out of it are atomic; gone afterwards."""
    parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=parent))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ModelError(
            f"cannot use {str(path)!r}: {error}. Make it readable and writable, or choose another "
            "folder for converted models with the setting embed.cache"
        ) from error
