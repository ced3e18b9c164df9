"""What a model's own configuration files say about it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from clew.errors import ModelError

Pooling = Literal["mean", "cls"]
"""What becomes of the tokens' vectors: their mean or the first one, as a unit vector."""

_DEFAULT_MAX_TOKENS = 256
_PAIR_TOKENS = 512
_E5 = re.compile(r"(?:^|[/-])e5-(?:small|base|large)(?:-v2)?$")


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """A sentence embedding model or a cross-encoder, as its folder describes it."""

    dimension: int
    """Length of what comes out."""
    max_tokens: int
    """Special tokens among them."""
    pad_id: int
    pooling: Pooling = "mean"
    """Of an encoder whose graph gives tokens; a cross-encoder's gives one number a pair."""
    query_prefix: str = ""
    """Put before every question, for models that were trained so."""
    document_prefix: str = ""


def read_model_config(folder: Path, name: str = "") -> ModelConfig:
    """The configuration in a folder of the sentence-transformers layout.

    Only `config.json` is needed; pooling is then the mean, over at most 256 tokens. `name` tells
    the models of the E5 family, which were trained with prefixes that their files do not state.

    Raises:
        ModelError: A file is missing or damaged, or asks for what is not supported.
    """
    architecture = _read_json(folder / "config.json")
    if "hidden_size" not in architecture:
        raise ModelError(
            f"{str(folder / 'config.json')!r} has no 'hidden_size'; "
            "expected the configuration of a transformer encoder"
        )
    sentence = _read_optional(folder / "sentence_bert_config.json")
    prompts = _read_optional(folder / "config_sentence_transformers.json").get("prompts") or {}
    if not prompts and _E5.search(name):
        prompts = {"query": "query: ", "passage": "passage: "}
    positions = _positions(architecture, _DEFAULT_MAX_TOKENS)
    return ModelConfig(
        dimension=int(architecture["hidden_size"]),
        max_tokens=min(int(sentence.get("max_seq_length") or _DEFAULT_MAX_TOKENS), positions),
        pooling=_pooling(folder / "1_Pooling" / "config.json"),
        pad_id=int(architecture.get("pad_token_id") or 0),
        query_prefix=str(prompts.get("query") or ""),
        document_prefix=str(prompts.get("document") or prompts.get("passage") or ""),
    )


def read_cross_encoder_config(folder: Path) -> ModelConfig:
    """The configuration of a classifier of pairs of texts with a single logit.

    Question and passage together have at most 512 tokens.

    Raises:
        ModelError: `config.json` is missing or damaged.
    """
    architecture = _read_json(folder / "config.json")
    positions = _positions(architecture, _PAIR_TOKENS)
    return ModelConfig(
        dimension=1,
        max_tokens=min(positions, _PAIR_TOKENS),
        pad_id=int(architecture.get("pad_token_id") or 0),
    )


def _positions(architecture: Mapping[str, Any], default: int) -> int:
    """Tokens that the model has positions for; RoBERTa's begin after the one for padding."""
    positions = int(architecture.get("max_position_embeddings", default))
    if "roberta" in str(architecture.get("model_type", "")):
        return positions - int(architecture.get("pad_token_id") or 0) - 1
    return positions


def _pooling(path: Path) -> Pooling:
    modes = [
        name.removeprefix("pooling_mode_")
        for name, chosen in _read_optional(path).items()
        if name.startswith("pooling_mode_") and chosen is True
    ]
    if modes in ([], ["mean_tokens"]):
        return "mean"
    if modes == ["cls_token"]:
        return "cls"
    raise ModelError(
        f"{str(path)!r} asks for pooling by {', '.join(modes)}; supported are mean_tokens and "
        "cls_token, one at a time. Choose another model"
    )


def _read_optional(path: Path) -> dict[str, Any]:
    return _read_json(path) if path.is_file() else {}


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(
            f"cannot read the model's configuration {str(path)!r}: {error}. "
            "Fetch or install the model again"
        ) from error
    if not isinstance(value, dict):
        raise ModelError(f"{str(path)!r} holds {type(value).__name__}; expected a JSON object")
    return value
