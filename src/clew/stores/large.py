"""The words of chunks in a folder of tantivy, which finds candidates at any size."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from tantivy import (
    Document,
    Index,
    Occur,
    Query,
    SchemaBuilder,
    TextAnalyzerBuilder,
    Tokenizer,
)

from clew.derived_files import checksum, make_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import Ids

    Files = Mapping[str, list[int]]
    """Size and CRC-32 of files by their name."""


Floats: TypeAlias = "NDArray[np.float64]"
Phrase: TypeAlias = tuple[str, ...]
"""Words that must stand in a row."""
_MEMORY = 64_000_000
"""Bytes that are gathered before they are written."""
_TOKENIZER = "spaces"


class TermFolder:
    """One folder as it was when it was opened; what is written later, another one sees."""

    def __init__(self, folder: Path) -> None:
        """Raises `ValueError` or `OSError` where there is no index in the folder."""
        self._index = Index.open(str(folder))
        self._schema = self._index.schema
        self._searcher = self._index.searcher()
        segments = json.loads((folder / "meta.json").read_bytes())["segments"]
        self._documents = sum(segment["max_doc"] for segment in segments)
        self._holders: dict[Phrase, int] = {}

    @property
    def dead(self) -> float:
        """The share of chunks that were deleted, which tantivy counts until it merges them away."""
        return 1 - self._searcher.num_docs / max(self._documents, 1)

    def holders(self, phrase: Phrase, gone: Ids) -> int:
        """How many chunks hold a phrase, those that are `gone` left out."""
        if phrase not in self._holders:
            self._holders[phrase] = self._count(self._query(phrase))
        if not len(gone) or not self._holders[phrase]:
            return self._holders[phrase]
        among = Query.term_set_query(self._schema, "chunk", gone.tolist())
        both = [(Occur.Must, self._query(phrase)), (Occur.Must, among)]
        return self._holders[phrase] - self._count(Query.boolean_query(both))

    def best(self, phrases: Sequence[Phrase], weight: Floats, limit: int) -> tuple[Ids, Floats]:
        """Chunks by about their BM25 where a phrase has that weight; scores are rather too high.

        Lengths are rounded down to a byte, and so passages count as shorter than they are.
        """
        parts = []
        for phrase, wanted in zip(phrases, weight.tolist(), strict=True):
            own = self._own_weight(phrase)
            if own > 0:
                query = Query.boost_query(self._query(phrase), wanted / own)
                parts.append((Occur.Should, query))
        hits = self._searcher.search(Query.boolean_query(parts), limit, count=False).hits
        ids = self._searcher.fast_field_values("chunk", [address for _, address in hits])
        return np.array(ids, np.int64), np.array([score for score, _ in hits], np.float64)

    def _own_weight(self, phrase: Phrase) -> float:
        """What tantivy weighs a phrase by: the weights of its words."""
        held = np.array([self._searcher.doc_freq("terms", word) for word in phrase], np.float64)
        if not held.all():
            return 0.0
        return float(np.log1p((self._documents - held + 0.5) / (held + 0.5)).sum())

    def _query(self, phrase: Phrase) -> Query:
        if len(phrase) == 1:
            return Query.term_query(self._schema, "terms", phrase[0])
        return Query.phrase_query(self._schema, "terms", list(phrase))

    def _count(self, query: Query) -> int:
        return int(self._searcher.search(query, 1, count=True).count)  # type: ignore[attr-defined]


def write_terms(
    folder: Path, rows: Iterable[tuple[int, Sequence[str]]], gone: Ids, *, anew: bool
) -> tuple[Ids, Ids]:
    """Add chunks with their words, delete those that are `gone`; ids and lengths of those added.

    Raises `ValueError` or `OSError` where the folder refuses.
    """
    if anew:
        if folder.exists():
            shutil.rmtree(folder)
        make_folder(folder)
    schema = SchemaBuilder()
    # An unsigned field makes tantivy's Python binding panic.
    schema.add_integer_field("chunk", indexed=True, fast=True)
    schema.add_text_field("terms", tokenizer_name=_TOKENIZER, index_option="position")
    index = Index(schema.build(), path=str(folder))
    index.register_tokenizer(_TOKENIZER, TextAnalyzerBuilder(Tokenizer.whitespace()).build())
    writer = index.writer(heap_size=_MEMORY, num_threads=1)
    for chunk_id in gone.tolist():
        writer.delete_documents_by_term("chunk", chunk_id)
    added = []
    for chunk_id, words in rows:
        writer.add_document(Document(chunk=chunk_id, terms=" ".join(words)))
        added.append((chunk_id, len(words)))
    writer.commit()
    writer.wait_merging_threads()
    ids, lengths = np.array(added, dtype=np.int64).reshape(-1, 2).T
    return ids, lengths


def content_of(folder: Path, known: Files) -> Files:
    """What its files are, of which some may be known: all but the lists are written once."""
    names = [path.name for path in folder.iterdir() if path.suffix != ".lock"]
    old = {name for name in names if name in known and not name.endswith(".json")}
    return {name: known[name] if name in old else checksum(folder / name) for name in names}
