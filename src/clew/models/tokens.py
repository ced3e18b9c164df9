"""Tokenizers: what a model's `tokenizer.json` makes of a text."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from clew.errors import ModelError, extra_for
from clew.models.wordpiece import Encoded, WordPiece, is_uncased
from clew.text import encodable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import tokenizers

_AT_ONCE = 256
"""Texts that `tokenizers` encodes: an encoding is some fifty times as large as its ids."""


class Tokenizer(Protocol):
    """Threads may share one. Lone surrogates are read as `?`."""

    def encode(self, text: str) -> Encoded:
        """Return the tokens of the whole text, without special ones around it."""
        ...

    def count(self, text: str) -> int:
        """Return how many `encode` would give."""
        ...

    def inputs(self, texts: Sequence[str], most: int) -> list[list[int]]:
        """Return what a model reads of each text: cut, with the special tokens around it."""
        ...

    def token_id(self, token: str) -> int:
        """Return the id of a token by its name; 0 where there is none."""
        ...


def load_tokenizer(path: Path) -> Tokenizer:
    """Return a tokenizer that neither cuts nor pads by itself, whatever its file says.

    Raises:
        ModelError: The file is no tokenizer.
        MissingExtraError: It is none that Clew reads itself, and `tokenizers` is not installed.
    """
    try:
        return _loaded(path, path.stat().st_mtime_ns)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(
            f"cannot read the tokenizer {str(path)!r}: {error}. Fetch or install the model again"
        ) from error


@lru_cache(maxsize=4)
def _loaded(path: Path, changed: int) -> Tokenizer:
    """One for all models that have the same, as the bundled ones do."""
    file = json.loads(path.read_text("utf-8"))
    return WordPiece(file) if is_uncased(file) else LibraryTokenizer(path)


class LibraryTokenizer:
    """Implements `Tokenizer` by the package `tokenizers`, which reads any file.

    Raises `MissingExtraError` where that is not installed, and `ValueError` for a damaged file.
    """

    def __init__(self, path: Path) -> None:
        with extra_for(f"the tokenizer {str(path)!r}"):
            from tokenizers import Tokenizer
        self.own: tokenizers.Tokenizer = Tokenizer.from_buffer(path.read_bytes())
        self.own.no_truncation()
        self.own.no_padding()

    def encode(self, text: str) -> Encoded:
        """See `Tokenizer`."""
        found = self.own.encode(encodable(text), add_special_tokens=False)
        return Encoded(found.ids, found.offsets)

    def count(self, text: str) -> int:
        """See `Tokenizer`."""
        return len(self._encoded([text])[0])

    def inputs(self, texts: Sequence[str], most: int) -> list[list[int]]:
        """See `Tokenizer`."""
        found: list[list[int]] = []
        for start in range(0, len(texts), _AT_ONCE):
            for encoding in self._encoded(texts[start : start + _AT_ONCE]):
                encoding.truncate(most - self.own.num_special_tokens_to_add(False))
                found.append(self.own.post_process(encoding).ids)
        return found

    def token_id(self, token: str) -> int:
        """See `Tokenizer`."""
        return self.own.token_to_id(token) or 0

    def _encoded(self, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        """Without special tokens and whole; no offsets."""
        clean = [encodable(text) for text in texts]
        return self.own.encode_batch_fast(clean, add_special_tokens=False)
