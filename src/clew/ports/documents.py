"""Documents, their times and uses, and finding them by words and by vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from clew.types import (
    DocumentInfo,
    DocumentVersion,
    EarlierVersion,
    Filter,
    IndexedDocument,
    NamedDocument,
    PassageRecords,
    Period,
    Provenance,
    StoredChunk,
    StoredSection,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.types import Ids, Scores, Vector, Vectors


class DocumentStore(Protocol):
    """Documents as wholes."""

    def save(self, entry: IndexedDocument) -> None:
        """Write one document whole, in place of the one with the same source: all of it or nothing.

        What only the old version held (chunks, mentions, relations, vectors, entities without
        another source) is gone afterwards. Aliases: a name whose key is known belongs to that
        key's entity; else `entry.links` may tie it to another key's entity; else it is new.
        """
        ...

    def delete(self, document_ids: Sequence[str]) -> int:
        """Delete documents and all that only they held; the number that existed."""
        ...

    def batch(self) -> AbstractContextManager[None]:
        """A context whose writes share one commit, which is faster.

        What was done before an exception of the caller's lasts. This thread sees it at once, others
        after the end; other writers wait meanwhile.
        """
        ...

    def documents(
        self,
        *,
        ids: Sequence[str] | None = None,
        origin: str | None = None,
        where: Sequence[Filter] = (),
    ) -> list[DocumentInfo]:
        """Documents by id, by origin, by metadata, or all; ordered by source."""
        ...

    def described(self, entity_type: str, since: str = "", until: str = "~") -> list[DocumentInfo]:
        """Documents whose metadata have this `entity_type`, ordered by source.

        Of a period, those whose metadata hold a `last` (else `end`, else `start`) from `since` on
        and a `start` before `until`: days as ISO 8601 text, compared as text.
        """
        ...

    def languages(self) -> frozenset[str]:
        """Codes of the languages that documents are written in, as far as they are known."""
        ...

    def named_documents(self, keys: Sequence[str]) -> list[NamedDocument]:
        """Documents whose title or file has one of these keys (`clew.text.name_key`), by source.

        Those without chunks are left out, and so are all after the first 200.
        """
        ...

    def count_documents(self) -> int:
        """How many there are."""
        ...

    def document_digests(
        self, sources: Sequence[str] | None = None
    ) -> Mapping[str, tuple[str, str, str, str]]:
        """(origin, sha256, pipeline fingerprint, read from) by source: of every document, or some.

        `sources` are those documents' own, or what they were read from.
        """
        ...

    def same_documents(self, digests: Sequence[str]) -> list[tuple[str, str, str]]:
        """(source, origin, sha256) of the documents of files that have these digests."""
        ...

    def document_chunks(self, *document_ids: str) -> list[StoredChunk]:
        """The documents' chunks, in order within each; none for an unknown document."""
        ...

    def document_sections(self, *document_ids: str) -> list[StoredSection]:
        """The documents' sections, in order within each; in a row, a document's are its text."""
        ...

    def lineage(self, document_id: str) -> list[DocumentVersion]:
        """The versions of a document, oldest first; none for an unknown document."""
        ...

    def earlier_text(self, document_id: str, version: int) -> str | None:
        """The text of a version that was replaced; None where it is not kept."""
        ...

    def earlier_at(
        self, moment: datetime, where: Sequence[Filter] = ()
    ) -> Iterator[EarlierVersion]:
        """The versions that were the last at that moment and were replaced since.

        A version was there where the store held it by then, unless the store itself is younger, and
        where its own date is not a later one. Of each, the passages that meet every filter.
        """
        ...


class PassageStore(Protocol):
    """Parts of documents, by the ids of their chunks and sections."""

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        """Chunks in the order of the ids given; unknown ids are left out."""
        ...

    def passage_records(
        self,
        chunk_ids: Sequence[int],
        entity_ids: Sequence[int] = (),
        *,
        as_of: datetime | None = None,
    ) -> PassageRecords:
        """All that an answer shows of chunks, and the names of entities, in one look.

        Unknown ids are left out. `as_of` chooses relations as in `GraphStore.relations`.
        """
        ...

    def sections(self, section_ids: Sequence[int]) -> list[StoredSection]:
        """Sections in the order of the ids given; unknown ids are left out."""
        ...

    def sentences(self, chunk_ids: Sequence[int]) -> Mapping[int, Sequence[str]]:
        """Sentences (their texts, in order) by chunk id; unknown ids are left out."""
        ...

    def sentence_ranges(self, chunk_ids: Sequence[int]) -> Mapping[int, Sequence[tuple[int, int]]]:
        """Character ranges of the sentences in the document, by chunk id; unknown ids left out."""
        ...

    def sketches(self, chunk_ids: Sequence[int]) -> Mapping[int, str]:
        """Sketches of the chunks' texts (`shingles.sketch`), by chunk id; unknown ids left out."""
        ...

    def provenance(self, chunk_ids: Sequence[int]) -> Mapping[int, Provenance]:
        """Where each chunk comes from, by chunk id; unknown ids are left out."""
        ...

    def matching_chunks(self, where: Sequence[Filter]) -> Ids:
        """Ids (sorted) of the chunks whose metadata meets every filter, as `clew.filters` decides.

        A chunk's own metadata goes before its document's. `path` is the file, `type` its media type
        or ending. Raises `InputError` for an operator that there is not.
        """
        ...

    def unknown_fields(self, where: Sequence[Filter]) -> list[str]:
        """A note for each field asked for that no document has, with the nearest that there are."""
        ...


class TimeIndex(Protocol):
    """Chunks by when they were said and by the times that they speak of.

    When a chunk was said is its own date or else its document's; the times that it speaks of are
    those of the dates that it mentions. A chunk without either has no time.
    """

    def chunks_within(self, period: Period) -> Ids:
        """Ids (sorted) of the chunks of which any time overlaps the period."""
        ...

    def chunks_as_of(self, moment: datetime) -> Ids:
        """Ids (sorted) of the chunks that there were at that moment.

        Chunks said later are left out, and so are documents that came to the store later, unless
        the store itself is younger than that. Chunks without a date count as old.
        """
        ...

    def chunk_times(self, chunk_ids: Sequence[int]) -> Mapping[int, tuple[Period, ...]]:
        """By chunk id: when it was said (where that is known), then what it speaks of, in order."""
        ...

    def newest_date(self, until: datetime) -> datetime | None:
        """When the latest chunk that was said by a moment was; to the second, None for none."""
        ...

    def published_at(self, chunk_ids: Sequence[int]) -> Mapping[int, datetime]:
        """When each chunk was said, by chunk id; those without a date are left out."""
        ...

    def first_recorded(self) -> datetime | None:
        """When the store learned the oldest thing that it holds; None for an empty one."""
        ...


class UsageLog(Protocol):
    """How often and when passages were found useful; kept only where the settings ask for it."""

    def record_use(self, chunk_ids: Sequence[int], moment: datetime) -> None:
        """Count one use of each chunk; unknown ids are left out. Changes no generation."""
        ...

    def usage(self, chunk_ids: Sequence[int]) -> Mapping[int, tuple[int, datetime]]:
        """(uses, last use) by chunk id; chunks never used are left out."""
        ...


class KeywordIndex(Protocol):
    """Chunks by the words that they hold; `save` and `delete` of the store keep it current."""

    def search_keywords(
        self, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """BM25 over context and text, for chunks that hold at least one term; above 0, best first.

        `terms` come from `clew.text.terms`; several with a space between them are one phrase: they
        must stand in a row. Ties go to the smaller id. `allowed` restricts the search itself, not
        its outcome. No terms, no hits.
        """
        ...


class VectorIndex(Protocol):
    """Chunks by nearness of their embedding."""

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """Cosine similarity, -1 to 1, best first; ties go to the smaller id."""
        ...

    def vectors(self, chunk_ids: Sequence[int] | Ids) -> Vectors:
        """Embeddings of the chunks given, in that order. Unknown ids raise `StoreError`."""
        ...


@runtime_checkable
class HybridIndex(Protocol):
    """What finds by vectors and by words at once."""

    def search_both(
        self, vector: Vector, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[tuple[Ids, Scores], tuple[Ids, Scores]]:
        """`search_vector` and `search_keywords` in one round trip, each with its own scores."""
        ...


class SyncedVectorIndex(VectorIndex, Protocol):
    """A `VectorIndex` that is derived from a store's embeddings and kept beside it.

    Whatever is lost of it is made again from the store, which is the truth: it may be deleted at
    any time, and a server that was down while documents were indexed catches up afterwards.
    """

    def refresh(self) -> None:
        """Take in what was saved and deleted since; cheap where nothing was.

        Raises `StoreUnavailableError` where its server cannot be reached.
        """
        ...

    def persist(self) -> None:
        """Bring it up to the store now, so that the next process need not."""
        ...

    def state(self) -> dict[str, Any]:
        """`backend`, `available`, `connected`, `version`, `points`, `problem`; never raises.

        `available`: what it needs is installed. `connected`: it can be reached now. `version` of
        the back end ("" unknown), `points`: vectors held of this namespace (None: unknown).
        `problem`: why it cannot be reached and what to do ("" where it can).
        """
        ...

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""
        ...


# What derived structures are built from.


@dataclass(frozen=True, kw_only=True, slots=True)
class PassageRow:
    """A chunk as derived structures read it."""

    chunk_id: int
    document_id: str
    ordinal: int
    text: str
    context: str
    sentences: tuple[tuple[int, int], ...]
    """Ranges in `text`."""
    language: str = ""
    """Its document's."""


@dataclass(frozen=True, slots=True)
class RelationRows:
    """All relations that are not retracted, by id, as derived structures read them."""

    ids: NDArray[np.int64]
    """(n,)"""
    heads: NDArray[np.int64]
    """(n,) entity ids"""
    tails: NDArray[np.int64]
    """(n,) entity ids"""
    weights: NDArray[np.float32]
    """(n,) 0 to 1"""
    chunks: NDArray[np.int64]
    """(n,) chunk ids; 0 where no text states it"""
    sentences: NDArray[np.int64]
    """(n,) ordinals within the chunk; -1 where no sentence states it"""


@dataclass(frozen=True, kw_only=True, slots=True)
class NearbyQuery:
    """Which passages and which figures of a store a question needs."""

    chunk_ids: Sequence[int] = ()
    """Chunks that are wanted, each with those before and after it in its document."""
    keys: Sequence[str] = ()
    """Of names (`clew.text.entity_key`), whose entities are counted and followed."""
    entity_ids: Sequence[int] = ()
    """Entities whose chunks are wanted."""
    subjects: Sequence[int] = ()
    """Entities of which those chunks are wanted that are about them."""
    most: int
    """Mentions of an entity that is followed, at most."""
    known: Sequence[int] = ()
    """Chunks that are not wanted again."""
    counted: Sequence[int] = ()
    """Entities that are counted."""
    terms: Sequence[str] = ()
    """Terms (`clew.text.terms`) that are counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NearbyRows:
    """What a store knows of a `NearbyQuery`."""

    chunks: int
    """Of the whole store, one in a hundred more or fewer."""
    passages: Sequence[PassageRow]
    """By id."""
    mentions: NDArray[np.int64]
    """(n, 4) all mentions of these passages, as `SnapshotSource.mention_rows` has them."""
    entities: Mapping[str, int]
    """Entity id by key, for those keys that are an alias."""
    entity_counts: NDArray[np.int64]
    """(m, 4): entity id, its chunks, its mentions with two a chunk at most, chunks about it."""
    term_counts: Mapping[str, int]
    """Chunks that hold a term."""


class VectorSource(Protocol):
    """What a matrix of vectors is built from.

    Chunk ids grow and are never used again, and a chunk never changes, so that ids tell what a
    structure lacks and what it holds too much.
    """

    def reading(self) -> AbstractContextManager[None]:
        """Reads of this thread inside it see one state of the store, whoever writes meanwhile."""
        ...

    def generation(self) -> int:
        """A number that grows with every commit that changes anything."""
        ...

    def chunk_ids(self) -> Ids:
        """Ids of all chunks, sorted; reads them all."""
        ...

    def deleted_since(self, generation: int) -> Ids | None:
        """Sorted ids of the chunks deleted since a generation, and perhaps of some before.

        None: not known, since too much was deleted meanwhile.
        """
        ...

    def mentions_version(self) -> int:
        """A number that grows when mentions of old chunks change hands, or old chunks come back.

        Merging and splitting entities do the one, bringing back a backup the other.
        """
        ...

    def moved_since(self, mentions_version: int) -> Ids | None:
        """Sorted ids of the chunks whose mentions changed hands since a version, and perhaps more.

        None: not known, since too many did meanwhile, or old chunks came back.
        """
        ...

    def chunk_count(self) -> int:
        """How many chunks there are."""
        ...

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """Chunks with an id above `after`, by id, and their embeddings."""
        ...


class SnapshotSource(VectorSource, Protocol):
    """What derived structures are built from."""

    def passages(self, after: int = 0) -> Iterator[PassageRow]:
        """Chunks with an id above `after`, by id."""
        ...

    def mention_rows(self, after: int = 0) -> NDArray[np.int64]:
        """(n, 4): chunk id, sentence (-1: the chunk is about it), entity id, count; sorted."""
        ...

    def mentions_of(self, chunk_ids: Ids) -> NDArray[np.int64]:
        """(n, 4): the `mention_rows` of these chunks alone."""
        ...

    def relation_rows(self) -> RelationRows:
        """All relations that are not retracted, by id."""
        ...

    def entities_of_type(self, entity_type: str) -> Ids:
        """Ids (sorted) of the entities of a type, such as `date`."""
        ...


class NeighbourhoodSource(Protocol):
    """What a question reads of a graph that is not in memory."""

    def last_chunk(self) -> int:
        """About the highest id of a chunk: at least the number of chunks; 0 where none was ever."""
        ...

    def nearby(self, query: NearbyQuery) -> NearbyRows:
        """The passages and figures, in one round trip; unknown ids, keys and terms are left out."""
        ...


class EmbeddingSource(Protocol):
    """What an index of vectors in another system is kept up with."""

    def generation(self) -> int:
        """See `VectorSource`."""
        ...

    def chunk_ids(self) -> Ids:
        """See `VectorSource`."""
        ...

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """See `VectorSource`."""
        ...

    def embedder(self) -> tuple[str, int] | None:
        """Name and dimension; None where nothing was saved yet."""
        ...
