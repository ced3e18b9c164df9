"""What a language model made of stored passages, kept so that it can be taken back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from clew.types import AliasEvidence, ChunkExtraction, NewEntity

if TYPE_CHECKING:
    pass

Enriched: TypeAlias = Literal["extract"]
"""What was made of a passage: names and facts."""


class EnrichmentLog(Protocol):
    """Passages that a language model has read; each is done, or failed for a reason."""

    def done(self, kind: Enriched) -> Mapping[int, str]:
        """By the id of each chunk that was tried: why it failed, empty where it did not."""
        ...

    def fail(self, kind: Enriched, reasons: Mapping[int, str]) -> None:
        """Remember why chunks failed; what was made of them before stays."""
        ...

    def record_extraction(
        self,
        readings: Mapping[int, ChunkExtraction],
        described: Sequence[NewEntity] = (),
        links: Sequence[AliasEvidence] = (),
    ) -> int:
        """Add what a model found to chunks, and mark them as done; the new relations.

        As `ExtractionLog.record_readings`, but beside what was found before: a relation that its
        chunk states already is as sure as both are together. Raises `NotFoundError` for a chunk
        that is gone.
        """
        ...

    def undo_extraction(self, chunk_ids: Sequence[int]) -> None:
        """Take back what a model found in chunks, as if they had never been read.

        What others found or stated since stays.
        """
        ...
