"""The steps that see a document's text, each within the limits of the settings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from clew.indexing.document_language import with_language
from clew.indexing.extension import NoExtension
from clew.indexing.markdown import MEDIA_TYPE, masked
from clew.indexing.reading.formats.common import check_limit
from clew.indexing.splitting.prose import without_code
from clew.indexing.splitting.split import split
from clew.indexing.structure import structure_of
from clew.indexing.structure.enter import add_structure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.indexing.extension import Extension
    from clew.indexing.splitting.split import Tokens
    from clew.ports import Extractor
    from clew.settings import LimitSettings, SplitSettings
    from clew.types import Chunk, Document, Extraction, Split


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that only lacks its embeddings."""

    document: Document
    split: Split
    extraction: Extraction


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """How documents are split and extracted, and what that may take."""

    tokens: Tokens
    extractor: Extractor
    split_settings: SplitSettings
    limits: LimitSettings
    extension: Extension = field(default_factory=NoExtension)
    """What is read and extracted beside what is built in."""

    def prepare(self, document: Document) -> Prepared:
        """Recognise, split and extract one document. Raises `LimitError`."""
        document = with_language(document)
        parts = split(document, self.split_settings, self.tokens)
        check_limit(self.limits, "chunks", len(parts.chunks), document.source)
        return Prepared(document, parts, self.extract(document, parts.chunks))

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """What the chunks of a document name and state. Raises `LimitError`."""
        found = self.extractor.extract(*without_code(*_as_shown(document, chunks)))
        structure = structure_of(document, self.extension.structures)
        found = self.extension.normalised(add_structure(found, structure, chunks))
        sentences = sum(len(chunk.sentences) for chunk in found.chunks)
        names = sum(len(chunk.mentions) + len(chunk.relations) for chunk in found.chunks)
        check_limit(self.limits, "sentences", sentences, document.source)
        check_limit(self.limits, "names", names, document.source)
        return found


def _as_shown(document: Document, chunks: Sequence[Chunk]) -> tuple[Document, Sequence[Chunk]]:
    """A document and its chunks with blanks for what no reader is shown; all places stay."""
    if document.media_type != MEDIA_TYPE or (shown := masked(document.text)) is document.text:
        return document, chunks
    return replace(document, text=shown), [
        replace(chunk, text=shown[chunk.start : chunk.end]) for chunk in chunks
    ]
