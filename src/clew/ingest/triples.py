"""Ready-made entities and triples, such as a language model made them, from a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.errors import InputError
from clew.ingest.extract import about_names
from clew.ingest.kinds import type_of_name
from clew.text import STOP_WORDS, entity_key, sentences
from clew.types import Chunk, ChunkExtraction, Document, ExtractedRelation, Extraction, Mention

_DATE = re.compile(r"[\d\s./-]*\d{4}s?[\d\s./-]*")
_NOT_WORD = re.compile(r"\W+")
CONFIDENCE = 0.9
"""Of every triple: somebody read the text to make it, and nobody checked it."""


@dataclass(frozen=True, slots=True)
class Record:
    """What the file says of one document."""

    entities: tuple[str, ...]
    triples: tuple[tuple[str, str, str], ...]
    """(subject, predicate, object)."""


class TripleExtractor:
    """Replays a JSON Lines file of `{"_id", "entities": […], "triples": [[s, p, o], …]}`.

    A record belongs to the document whose source ends in `#<_id>`, or whose metadata has that
    `_id` or `id`, or to the chunk that has it as its key. Where a document has no record, nothing
    is extracted from it but its title.
    """

    def __init__(self, path: Path) -> None:
        """Read the file whole; raises `InputError` where a line is not such a record."""
        self._records = dict(_read(path))
        self.name = f"triples/1:{path.name}"

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """Each name where the text has it, else in the first sentence of the first chunk."""
        whole = self._record(document)
        placed: set[str] = set()
        results = []
        for ordinal, chunk in enumerate(chunks):
            own = self._records.get(chunk.key or "")
            record = own or whole
            rest = own is not None or ordinal == len(chunks) - 1
            results.append(_place(chunk.text, record, placed, keep_rest=rest))
        return Extraction(chunks=tuple(results), about=about_names(document.title))

    def _record(self, document: Document) -> Record:
        names = (
            document.source.rpartition("#")[2],
            str(document.metadata.get("_id", "")),
            str(document.metadata.get("id", "")),
        )
        return next((self._records[n] for n in names if n in self._records), Record((), ()))
