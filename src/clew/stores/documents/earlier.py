"""Earlier texts of documents: kept where a document changes, and read again as passages.

A version that is kept is one row: its passages as compressed JSON, its vectors as one array. It is
in no index, so that ordinary search neither finds it nor pays for it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import StoreCorruptError
from clew.filters import predicate
from clew.stores.backend import Backend, Row, to_text, to_time
from clew.stores.documents.chunk_dates import known_until, periods_by_chunk
from clew.stores.documents.metadata import COLUMNS, DocumentValues
from clew.stores.documents.passages import passage_record
from clew.stores.state import STATE, State, StoreState
from clew.stores.statements import documents as documents_statements
from clew.stores.statements import versions as statements
from clew.stores.statements.dates import FIRST_RECORDED
from clew.stores.statements.documents import CHUNK, DOCUMENT, PROVENANCE, SECTION
from clew.types import EarlierVersion, Filter, PassageRecord

if TYPE_CHECKING:
    from clew.types import Vectors

KEEP_VERSIONS = 3
"""Earlier texts of a document that are kept, where nobody says how many."""
_AT_ONCE = 20
"""Versions that are read at once."""
_SHOWN = (
    *("title", "source", "origin", "media_type", "language", "created_at", "date_source"),
    *("date_precision", "updated_at", "metadata", "recipe"),
)
"""Columns of a document that its passages show, or that filters ask for."""


_OWN = tuple(statements.OF_CHUNK)
_ordinal = itemgetter(_OWN.index("ordinal"))
_METADATA = _OWN.index("metadata")


# --- keeping, inside `write`


def earlier_rows(backend: Backend, document_id: str, number: int, keep: int) -> list[Row]:
    """What keeps the text held, which version `number` is about to replace; none unless `keep`.

    Makes room for it: of the texts kept, no more than `keep` stay.
    """
    backend.execute(statements.FORGET, id=document_id, last=number - 1 - keep)
    return [_held_text(backend, document_id, number - 1)] if keep else []


def _held_text(backend: Backend, document_id: str, version: int) -> Row:
    state, chunks, dates, documents, sections = backend.gather(
        STATE,
        statements.HELD_CHUNKS,
        statements.HELD_DATES,
        documents_statements.DOCUMENTS_BY_ID,
        documents_statements.DOCUMENT_SECTIONS,
        ids=[document_id],
    )
    chunks, sections = sorted(chunks, key=_ordinal), sorted(sections, key=itemgetter(2))
    document = dict(zip(DOCUMENT, documents[0], strict=False))
    text = "".join(row[-1] for row in sections)
    kept = {
        "document": {name: document[name] for name in _SHOWN},
        "embedder": State(state).vectors,
        "text": text,
        "sections": [list(row[:-1]) for row in sections],
        "chunks": [list(row[:-1]) for row in chunks],
        "dates": [list(row) for row in dates],
    }
    return {
        "document_id": document_id,
        "version": version,
        "said_at": document["created_at"],
        "characters": len(text),
        "passages": zlib.compress(json.dumps(kept, ensure_ascii=False).encode()),
        "vectors": b"".join(_as_bytes(row[-1]) for row in chunks),
    }


def _as_bytes(vector: bytes | Sequence[float]) -> bytes:
    return vector if isinstance(vector, bytes) else np.array(vector, dtype="<f4").tobytes()


# --- reading


class EarlierVersions(StoreState):
    """What `ports.DocumentStore` says of earlier versions, over a back end."""

    def earlier_text(self, document_id: str, version: int) -> str | None:
        """See `ports.DocumentStore`."""
        rows = self.backend.rows(statements.KEPT, keys=[[document_id, version]])
        return None if not rows else str(_opened(rows[0])["text"])

    def earlier_at(
        self, moment: datetime, where: Sequence[Filter] = ()
    ) -> Iterator[EarlierVersion]:
        """See `ports.DocumentStore`."""
        embedder = self.embedder()
        with self.backend.consistent():
            known = known_until(self.backend.rows(FIRST_RECORDED), moment)
            keys = list(_standing(self.backend.rows(statements.DATED), moment, known))
        for first in range(0, len(keys), _AT_ONCE):
            for row in self.backend.rows(statements.KEPT, keys=keys[first : first + _AT_ONCE]):
                version = _version(row, _opened(row), where, embedder)
                if version.passages:
                    yield version


def _standing(
    rows: Sequence[Sequence[Any]], moment: datetime, known: str | None
) -> Iterator[list[str | int]]:
    """(document, version) where the last version that there was is one that is kept.

    A version was there where the store held it by then, and where its text says no later date.
    """
    then = to_text(moment) or ""
    for document_id, of_document in groupby(rows, key=itemgetter(0)):
        there = [
            (version, is_held)
            for _, version, indexed_at, said_at, is_held in of_document
            if (known is None or indexed_at <= known) and (said_at is None or said_at <= then)
        ]
        if there and not there[-1][1]:
            yield [document_id, there[-1][0]]


def _opened(row: Sequence[Any]) -> dict[str, Any]:
    """What is kept of a version; raises `StoreCorruptError` where it cannot be read."""
    try:
        kept: dict[str, Any] = json.loads(zlib.decompress(row[-2]))
    except (zlib.error, ValueError, TypeError) as error:
        raise StoreCorruptError(
            f"what is kept of version {row[1]} of the document {row[0]} is damaged; `clew check"
            " --repair` drops it"
        ) from error
    return kept


def _version(
    row: Sequence[Any],
    kept: Mapping[str, Any],
    where: Sequence[Filter],
    embedder: tuple[str, int] | None,
) -> EarlierVersion:
    """A row of KEPT with those passages that meet the filters."""
    document, metadata = kept["document"], json.loads(kept["document"]["metadata"])
    columns = [document[name] for name in COLUMNS]
    values, meets = DocumentValues(columns, metadata), predicate(where)
    found = [
        (place, record, terms)
        for place, (record, terms) in enumerate(_records(row, kept))
        if meets(values.of(json.loads(kept["chunks"][place][_METADATA])))
    ]
    places = [place for place, _, _ in found]
    vectors = None
    if embedder is not None and tuple(kept["embedder"]) == embedder:
        vectors = _vectors(row, len(kept["chunks"]), embedder[1])[places]
    return EarlierVersion(
        passages=tuple(record for _, record, _ in found),
        terms=tuple(terms for _, _, terms in found),
        vectors=vectors,
    )


def _vectors(row: Sequence[Any], count: int, dimension: int) -> Vectors:
    found = np.frombuffer(row[-1], dtype="<f4")
    if len(found) != count * dimension:
        raise StoreCorruptError(
            f"the vectors of version {row[1]} of the document {row[0]} are damaged; `clew check"
            " --repair` drops them"
        )
    return found.reshape(count, dimension)


def _records(row: Sequence[Any], kept: Mapping[str, Any]) -> Iterator[tuple[PassageRecord, str]]:
    """The passages as they were stored, each with its terms."""
    document_id, version, sha256, derived_from, indexed_at, replaced_at = row[:6]
    document, text = kept["document"], kept["text"]
    about = {
        **document,
        "document": document_id,
        "document_id": document_id,
        "document_metadata": document["metadata"],
        "version": version,
        "sha256": sha256,
        "derived_from": derived_from,
        "indexed_at": indexed_at,
    }
    sections = {s[0]: dict(zip(SECTION, s, strict=False)) for s in kept["sections"]}
    periods = periods_by_chunk(kept["dates"])
    for values in kept["chunks"]:
        own = dict(zip(_OWN, values, strict=True))
        section = sections[own["section_id"]]
        chunk = {**about, **own, "text": text[own["start"] : own["end"]]}
        record = passage_record(
            [chunk[name] for name in CHUNK],
            [{**section, "text": text[section["start"] : section["end"]]}[n] for n in SECTION],
            [chunk[name] for name in PROVENANCE],
            own["sentences"],
            periods.get(own["id"], ()),
        )
        until = to_time(replaced_at)
        yield (
            replace(record, chunk=replace(record.chunk, version=version, replaced_at=until)),
            own["terms"],
        )


# --- checking


def broken_versions(backend: Backend) -> Iterator[tuple[list[str | int], str]]:
    """(key, what is wrong with it) of each version that cannot be asked for."""
    state = StoreState(backend)
    for document_id, version, was_replaced in backend.rows(statements.KEYS):
        key = [document_id, version]
        if not was_replaced:
            yield key, f"an earlier text is kept of {document_id}, version {version}, which is none"
            continue
        try:
            for row in backend.rows(statements.KEPT, keys=[key]):
                _version(row, _opened(row), (), state.embedder())
        except (StoreCorruptError, LookupError, TypeError, ValueError) as error:
            yield key, f"the earlier text {version} of {document_id} cannot be read: {error}"


def drop_broken(backend: Backend) -> None:
    """Delete the texts that cannot be read, inside `write`; there is nothing to mend them from."""
    for document_id, version in [key for key, _ in broken_versions(backend)]:
        backend.execute(statements.DROP, id=document_id, version=version)
