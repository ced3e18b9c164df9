"""Documents as wholes: saved, deleted, listed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import StoreError
from clew.filters import fields, predicate
from clew.stores.backend import read_described, to_time, writing
from clew.stores.passages import (
    KEEP_VERSIONS,
    EarlierVersions,
    Passages,
    document_version,
    stored_chunk,
    stored_section,
)
from clew.stores.save import PreparedDocument, delete_documents, prepare, write_document
from clew.stores.statements import documents as by_digest
from clew.stores.statements import documents as statements
from clew.stores.statements.documents import (
    DOCUMENT,
    FIELDS,
    VERSIONS,
    DocumentValues,
    unknown_fields,
)
from clew.types import (
    DocumentInfo,
    DocumentVersion,
    Filter,
    IndexedDocument,
    Metadata,
    NamedDocument,
    StoredChunk,
    StoredSection,
)

if TYPE_CHECKING:
    from clew.types import Ids


class Documents(Passages, EarlierVersions):
    """`ports.DocumentStore` over a back end."""

    keep_versions: int = KEEP_VERSIONS
    """Earlier texts of a document that stay readable, at most."""

    _languages: tuple[int, frozenset[str]] = (-1, frozenset())
    """A generation, and the languages of its documents."""

    _names: tuple[int, frozenset[str]] = (-1, frozenset())
    """A generation, and the names of all metadata."""

    def save(self, entry: IndexedDocument) -> None:
        """Write one document whole, in place of the one with the same source: all of it or nothing.

        What only the old version held (chunks, mentions, relations, vectors, entities without
        another source) is gone afterwards. Aliases: a name whose key is known belongs to that key's
        entity; else `entry.links` may tie it to another key's entity; else it is new.

        Raises `InputError` where the entry's parts do not fit.
        """
        embedder = self._bound or self.embedder()
        if embedder is None:
            raise StoreError(
                f"the store {self.backend.place} has no embedder yet; open it with"
                " embedder=(name, dimension) before saving"
            )
        prepared = prepare(entry, embedder[1])
        self.check_lengths(prepared)
        self.write_prepared(prepared, embedder)

    def write_prepared(self, prepared: PreparedDocument, embedder: tuple[str, int]) -> None:
        """Write a document, while nobody else writes."""
        keep = self.keep_versions
        self.backend.write(lambda: write_document(self.backend, prepared, embedder, keep=keep))

    def check_lengths(self, prepared: PreparedDocument) -> None:
        """Raise `InputError` where the back end cannot look up so long a name or source."""

    def batch(self) -> AbstractContextManager[None]:
        """A context whose writes share one commit, which is faster.

        What was done before an exception of the caller's lasts. This thread sees it at once, others
        after the end; other writers wait meanwhile.
        """
        return self.backend.batch()

    @writing
    def delete(self, document_ids: Sequence[str]) -> int:
        """Delete documents and all that only they held; the number that existed."""
        return delete_documents(self.backend, document_ids)

    def documents(
        self,
        *,
        ids: Sequence[str] | None = None,
        origin: str | None = None,
        where: Sequence[Filter] = (),
    ) -> list[DocumentInfo]:
        """Documents by id, by origin, by metadata, or all; ordered by source."""
        with self.backend.consistent():
            if where:
                matching = self.matching_documents(where)
                ids = matching if ids is None else [i for i in ids if i in set(matching)]
            if ids is not None:
                wanted = list(dict.fromkeys(ids))
                (rows,) = self.backend.gather(statements.DOCUMENTS_BY_ID, ids=wanted)
            elif origin is not None:
                (rows,) = self.backend.gather(statements.DOCUMENTS_BY_ORIGIN, origin=origin)
            else:
                (rows,) = self.backend.gather(statements.DOCUMENTS)
        found = (_document_info(row) for row in rows)
        return sorted((d for d in found if origin in (None, d.origin)), key=attrgetter("source"))

    def described(self, entity_type: str, since: str = "", until: str = "~") -> list[DocumentInfo]:
        """Documents whose metadata have this `entity_type`, ordered by source.

        Of a period, those whose metadata hold a `last` (else `end`, else `start`) from `since` on
        and a `start` before `until`: days as ISO 8601 text, compared as text.
        """
        values = {"type": entity_type, "since": since, "until": until}
        (rows,) = self.backend.gather(statements.DESCRIBED, **values)
        return sorted(map(_document_info, rows), key=attrgetter("source"))

    # --- filters

    def matching_documents(self, where: Sequence[Filter]) -> list[str]:
        """Ids of the documents that meet every filter."""
        meets = predicate(where)
        return [id_ for id_, of in self.document_values().items() if meets(of.of())]

    def matching_chunks(self, where: Sequence[Filter]) -> Ids:
        """Ids (sorted) of the chunks whose metadata meets every filter, as `clew.filters` decides.

        A chunk's own metadata goes before its document's. `path` is the file, `type` its media type
        or ending. Raises `InputError` for an operator that there is not.
        """
        meets = predicate(where)
        documents, chunks = self._values()
        verdicts = {id_: meets(of.of()) for id_, of in documents.items()}
        found = [
            chunk_id
            for chunk_id, id_, own in chunks
            # A document that was deleted while they were read has no verdict.
            if (meets(documents[id_].of(own)) if own and id_ in documents else verdicts.get(id_))
        ]
        return np.sort(np.array(found, dtype=np.int64))

    def unknown_fields(self, where: Sequence[Filter]) -> list[str]:
        """A note for each field asked for that no document has, with the nearest that there are."""
        if {name for one in where for name in fields(one)} <= {*FIELDS}:
            return []
        if self._names[0] != self.generation():
            self._values()
        return unknown_fields(where, self._names[1])

    def _values(
        self,
    ) -> tuple[Mapping[str, DocumentValues], Sequence[tuple[int, str, Metadata | None]]]:
        """What filters ask of documents and chunks; keeps the names of their metadata."""
        generation = self.generation()
        with self.backend.consistent():
            documents, chunks = self.document_values(), self.chunk_values()
        metadata = [of.metadata for of in documents.values()]
        names = frozenset[str]().union(*metadata, *(own for *_, own in chunks if own))
        self._names = generation, names
        return documents, chunks

    def document_values(self) -> Mapping[str, DocumentValues]:
        """What filters ask of each document, by its id."""
        (rows,) = self.backend.gather(statements.ASKED_DOCUMENTS)
        return {
            id_: DocumentValues(columns, json.loads(metadata)) for id_, metadata, *columns in rows
        }

    def chunk_values(self) -> Sequence[tuple[int, str, Metadata | None]]:
        """(id, id of the document, own metadata) of each chunk."""
        return [
            (chunk_id, id_, json.loads(own) if own else None)
            for chunk_id, id_, own in self.backend.rows(statements.ASKED_CHUNKS)
        ]

    def named_documents(self, keys: Sequence[str]) -> list[NamedDocument]:
        """Documents whose title or file has one of these keys (`clew.text.name_key`), by source.

        Those without chunks are left out, and so are all after the first 200.
        """
        wanted = list(dict.fromkeys(key for key in keys if key))
        rows = self.backend.rows(statements.NAMED_CHUNKS, keys=wanted) if wanted else []
        found: dict[tuple[str, str, str, str], list[int]] = defaultdict(list)
        for id_, source, title_key, file_key, chunk_id in rows:
            found[id_, source, title_key, file_key].append(chunk_id)
        return [NamedDocument(*names, tuple(chunk_ids)) for names, chunk_ids in found.items()]

    def languages(self) -> frozenset[str]:
        """Codes of the languages that documents are written in, as far as they are known.

        They are read once a generation, since every question asks.
        """
        known, generation = self._languages, self.generation()
        if known[0] != generation:
            found = frozenset(row[0] for row in self.backend.rows(statements.LANGUAGES))
            known = self._languages = generation, found
        return known[1]

    def count_documents(self) -> int:
        """How many there are."""
        return self.backend.count_rows("documents")

    def same_documents(self, digests: Sequence[str]) -> list[tuple[str, str, str]]:
        """(source, origin, sha256) of the documents of files that have these digests."""
        found = self.backend.rows(by_digest.SAME_DIGESTS, keys=list(digests))
        return [(source, origin, sha256) for source, origin, sha256 in found]

    def document_digests(
        self, sources: Sequence[str] | None = None
    ) -> dict[str, tuple[str, str, str, str]]:
        """(origin, sha256, pipeline fingerprint, read from) by source: of every document, or some.

        `sources` are those documents' own, or what they were read from.
        """
        if sources is None:
            (rows,) = self.backend.gather(by_digest.DIGESTS)
        else:
            (rows,) = self.backend.gather(by_digest.DIGESTS_OF, keys=list(sources))
        return {
            source: (origin, sha256, fingerprint, read_from or "")
            for source, origin, sha256, fingerprint, read_from in rows
        }

    def document_chunks(self, *document_ids: str) -> list[StoredChunk]:
        """The documents' chunks, in order within each; none for an unknown document."""
        ids = list(dict.fromkeys(document_ids))
        (rows,) = self.backend.gather(statements.DOCUMENT_CHUNKS, ids=ids)
        return sorted(map(stored_chunk, rows), key=attrgetter("document_id", "ordinal"))

    def document_sections(self, *document_ids: str) -> list[StoredSection]:
        """The documents' sections, in order within each; in a row, a document's are its text."""
        ids = list(dict.fromkeys(document_ids))
        rows = self.backend.rows(statements.DOCUMENT_SECTIONS, ids=ids)
        return [stored_section(row) for row in rows]

    def lineage(self, document_id: str) -> list[DocumentVersion]:
        """The versions of a document, oldest first; none for an unknown document."""
        rows = self.backend.rows(VERSIONS, id=document_id)
        return [document_version(*row) for row in rows]


def _document_info(row: Sequence[Any]) -> DocumentInfo:
    """A row of DOCUMENT columns, the numbers of its sections and chunks, and its description."""
    values = dict(zip((*DOCUMENT, "sections", "chunks", "summary"), row, strict=True))
    values["pipeline_fingerprint"] = values.pop("recipe")  # by its former name in the store
    return DocumentInfo(
        **{
            **values,
            "created_at": to_time(values["created_at"]),
            "language": values["language"] or "",
            "read_from": values["read_from"] or "",
            "date_source": values["date_source"] or "",
            "date_precision": values["date_precision"] or "",
            "updated_at": to_time(values["updated_at"]),
            "indexed_at": datetime.fromisoformat(values["indexed_at"]),
            "metadata": _metadata(values["metadata"]),
            "summary": read_described(values["summary"])[1],
        }
    )


def _metadata(text: str) -> Metadata:
    """Metadata; where they are damaged, what there is of them, so that the document can be seen."""
    try:
        found: Metadata = json.loads(text)
    except ValueError:
        return {"damaged": text}
    return found
