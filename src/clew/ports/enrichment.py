"""What a language model made of stored passages, kept so that it can be taken back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from clew.types import AliasEvidence, ChunkExtraction, NewEntity

if TYPE_CHECKING:
    from clew.types import Vectors

Enriched: TypeAlias = Literal["context", "extract"]
"""What was made of a passage: words that situate it in its document, or names and facts."""

Described: TypeAlias = Literal["documents", "entities", "topics", "reports", "links"]
"""What it writes: summaries, descriptions, names of topics and themes, community reports, and
whether entities that may be one are one."""

Enrichment: TypeAlias = Enriched | Described
"""What a language model can add: to passages, and beside what texts say by themselves."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredDescription:
    """What a language model says of something, or why it failed."""

    key: str
    """`kind:identity`, such as `entity:17`."""
    name: str
    """What it is of, for people."""
    title: str = ""
    text: str = ""
    """Its statements, each with the number of its source, `[1]`; where the model failed, sentences
    of the texts."""
    sources: tuple[str, ...] = ()
    """Public ids of the passages cited."""
    documents: tuple[str, ...] = ()
    """Ids of the documents that it is made of; it goes with any of them."""
    basis: str
    """Hash of what the model was sent; another one is asked about again."""
    reason: str = ""
    """Why the model failed; empty where it did not."""


class DescriptionLog(Protocol):
    """Descriptions by a language model, kept apart from what they are shown with."""

    def descriptions(self, *kinds: str) -> Mapping[str, StoredDescription]:
        """All of some kinds, such as `entity`, by key."""
        ...

    def describe(self, made: Sequence[StoredDescription]) -> None:
        """Keep descriptions, in place of those of the same keys."""
        ...

    def forget(self, keys: Sequence[str]) -> None:
        """Delete descriptions; unknown keys are left out."""
        ...


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

    def record_contexts(self, contexts: Mapping[int, str], vectors: Vectors) -> None:
        """Give chunks other contexts, with the embeddings of context and text, in their order.

        The chunks have other ids then, since what is derived from them goes by ids. Those that are
        gone are left out.
        """
        ...

    def undo_contexts(self, chunk_ids: Sequence[int]) -> None:
        """Give chunks the context and the embedding back that they had before."""
        ...

    def undo_extraction(self, chunk_ids: Sequence[int]) -> None:
        """Take back what a model found in chunks, as if they had never been read.

        What others found or stated since stays.
        """
        ...
