"""Corpora of any size, made of smaller ones with their names varied; and an embedder at no cost.

Copies of a document differ in their names: a rare name is another one in each copy, a common one
stays in most, so that a store has a few names that are everywhere and ever more that are rare, as
real corpora have. A varied name joins the beginning of one name with the end of another and has the
same length, so that all offsets stay, and what was split and extracted once serves every copy.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from zlib import adler32, crc32

import numpy as np

from clew.indexing.ner.entity_types import is_ordinary
from clew.indexing.processes import Prepared
from clew.plugins.evaluation.run import load_beir
from clew.types import Document

if TYPE_CHECKING:
    from clew.types import Vector, Vectors

T = TypeVar("T")

STAYS = 40
"""Documents that hold a name which stays what it is in every copy."""
_NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
_QUESTIONS = 100
"""Questions taken of a data set."""


class Corpus:
    """Some documents of BEIR folders, split and extracted, and any number of copies of them."""

    def __init__(
        self, folders: Sequence[Path], passages: int, prepare: Callable[[Document], Prepared]
    ) -> None:
        """Prepare documents up to that many passages, of all folders alike."""
        datasets = [load_beir(folder) for folder in folders]
        documents = [document for dataset in datasets for document in dataset.documents]
        random.Random(1).shuffle(documents)
        self.questions = [q.text for dataset in datasets for q in dataset.questions[:_QUESTIONS]]
        random.Random(2).shuffle(self.questions)
        self._prepared: list[Prepared] = []
        while passages > 0 and documents:
            item = prepare(documents.pop())
            self._prepared.append(item)
            passages -= len(item.split.chunks)
        self._uses = Counter(
            name for item in self._prepared for name in set(_names(item.document.text))
        )
        self._by_length: defaultdict[int, list[str]] = defaultdict(list)
        for name in sorted(self._uses):
            self._by_length[len(name)].append(name)

    def prepared(self, first_copy: int = 0) -> Iterator[Prepared]:
        """Documents without end, those of the copy first; the same ones each time."""
        copy = first_copy
        while True:
            rename = partial(_NAME.sub, self._renaming(copy))
            for item in self._prepared:
                yield self._varied(item, copy, rename) if copy else item
            copy += 1

    def documents(self, copy: int) -> Iterator[Document]:
        """The documents of a copy and of those after it."""
        return (item.document for item in self.prepared(copy))

    def _varied(self, item: Prepared, copy: int, rename: Callable[[str], str]) -> Prepared:
        document = _renamed(item.document, rename)
        source = f"{item.document.source}-{copy}"
        return Prepared(
            replace(document, source=source, origin="", sha256=f"{item.document.sha256}-{copy}"),
            _renamed(item.split, rename),
            _renamed(item.extraction, rename),
        )

    def _renaming(self, copy: int) -> Callable[[re.Match[str]], str]:
        known = cache(partial(self._other, copy))
        return lambda match: known(match[0])

    def _other(self, copy: int, name: str) -> str:
        drawn = random.Random(crc32(f"{name} {copy}".encode()))
        same = self._by_length.get(len(name))
        if not same or is_ordinary(name) or drawn.random() < self._uses[name] / STAYS:
            return name
        half = (len(name) + 1) // 2
        return drawn.choice(same)[:half] + drawn.choice(same)[half:]


def take(prepared: Iterator[Prepared], passages: int) -> Iterator[Prepared]:
    """The next documents, of that many passages or a few more."""
    while passages > 0:
        item = next(prepared)
        passages -= len(item.split.chunks)
        yield item


def _names(text: str) -> list[str]:
    return [word for word in _NAME.findall(text) if not is_ordinary(word)]


def _renamed(value: T, rename: Callable[[str], str]) -> T:
    """A value with all texts in it renamed."""
    return _rename_within(value, rename)


def _rename_within(value: Any, rename: Callable[[str], str]) -> Any:  # noqa: ANN401 - any value
    if isinstance(value, str):
        return rename(value)
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(_rename_within(part, rename) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
        return replace(value, **{n: _rename_within(part, rename) for n, part in parts.items()})
    return value


class FreeEmbedder:
    """Unit vectors that cost next to nothing: each text takes two of many drawn beforehand.

    So texts hardly ever have the same.
    """

    name, dimension, max_tokens = "free-384", 384, 256
    _DRAWN = 20_000

    def __init__(self) -> None:
        """Draw the vectors; the same ones in every process."""
        rows = np.random.default_rng(7).standard_normal((self._DRAWN, self.dimension))
        self._rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) float32, unit length; the same for the same text."""
        drawn = np.array(
            [[f(t.encode()) % self._DRAWN for t in texts] for f in (crc32, adler32)], dtype=np.int64
        )
        first, second = self._rows[drawn]
        both = first + second / 2
        found: Vectors = both / np.linalg.norm(both, axis=1, keepdims=True)
        return found

    def embed_query(self, text: str) -> Vector:
        """(dimension,) float32, unit length."""
        found: Vector = self.embed_documents([text])[0]
        return found

    def count_tokens(self, text: str) -> int:
        """About as many as WordPiece makes."""
        return len(text) // 4
