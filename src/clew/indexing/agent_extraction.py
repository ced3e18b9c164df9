"""Entities and relations that an assistant extracted from passages: validated against the text.

A name must occur in one of the passages or in the store; a relation is assigned to the passage and
the sentence that names its ends. Whatever fails is reported, the rest is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.errors import NotFoundError, check_several
from clew.indexing.enrichment.validation import Passage, Validation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from clew.indexing.enrichment.validation import AgentRelation, Rejected
    from clew.indexing.pipeline import IndexingPipeline
    from clew.ports import Store
    from clew.types import NewEntity, StoredChunk


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentExtractionReport:
    """What was stored."""

    passages: int
    """Marked as read."""
    entities: int
    relations: int
    new_relations: int
    """Those that their passage had not stated before."""
    rejected: tuple[Rejected, ...]


@dataclass(frozen=True, slots=True)
class AgentExtraction:
    """Extraction by an assistant, for one store."""

    store: Store
    pipeline: Callable[[], IndexingPipeline]
    writing: AbstractContextManager[object]

    def unread(self, *, after: int = 0, limit: int = 10) -> list[StoredChunk]:
        """Passages that no assistant has processed, with an id above `after`, by id."""
        return self.store.chunks(self.store.unread(after, limit))

    def count_unread(self) -> int:
        """How many passages no assistant has processed."""
        return self.store.count_unread()

    def record(
        self,
        passage_ids: Sequence[str],
        entities: Sequence[NewEntity] = (),
        relations: Sequence[AgentRelation] = (),
    ) -> AgentExtractionReport:
        """Store what was found in passages and mark these as read; repeating it changes nothing.

        Raises `NotFoundError` where a passage is unknown.
        """
        check_several(passage_ids=passage_ids)
        reading = Validation(self._passages(passage_ids), self.store)
        taken = [entity for entity in entities if reading.takes(entity)]
        found = sum(reading.relates(relation) for relation in relations)
        with self.writing:
            chunks, links = self.pipeline().resolved(reading.extractions())
            new = self.store.record_readings(chunks, taken, links)
        return AgentExtractionReport(
            passages=len(chunks),
            entities=len(taken),
            relations=found,
            new_relations=new,
            rejected=tuple(reading.rejected),
        )

    def _passages(self, passage_ids: Sequence[str]) -> list[Passage]:
        wanted = dict.fromkeys(passage_ids)
        documents = dict.fromkeys(one.rpartition("#")[0] for one in wanted)
        known = {
            chunk.public_id: chunk
            for document in documents
            for chunk in self.store.document_chunks(document)
        }
        unknown = [one for one in wanted if one not in known]
        if unknown:
            raise NotFoundError(
                f"no passage {unknown[0]!r}; it may have changed since: take ids from"
                " extraction_next"
            )
        chunks = [known[one] for one in wanted]
        ranges = self.store.sentence_ranges([chunk.id for chunk in chunks])
        return [Passage(chunk, ranges[chunk.id]) for chunk in chunks]
