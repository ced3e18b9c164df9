"""One record of a file as a document: what it tells, and the entity that it describes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from clew.indexing.reading.formats.common import bounded_metadata, text_digest
from clew.times import to_date
from clew.types import Document, PartialDate

if TYPE_CHECKING:
    from clew.indexing.reading.formats.common import RawFile

TYPE = "entity_type"
"""Name of the metadata that says what kind of entity a document describes."""


def record(
    raw: RawFile,
    key: str,
    text: str,
    *,
    title: str,
    media_type: str,
    entity_type: str = "",
    fields: Mapping[str, Any] | None = None,
    date: PartialDate | datetime | str | None = None,
) -> Document:
    """The document of one record of a file.

    Args:
        raw: The file.
        key: Tells the record from the others of the file; stays the same while it is the same.
        text: What can be found by its words.
        title: Names the entity that the record describes, where it describes one.
        media_type: Of the record.
        entity_type: What kind of entity it describes; of those that every store
            knows, or of those that are declared.
        fields: Properties of the entity, as metadata: JSON values; times are aware.
        date: When it was, or was said; text is read as ISO 8601.
    """
    metadata = {TYPE: entity_type, **(fields or {})} if entity_type else dict(fields or {})
    metadata = bounded_metadata({name: v for name, v in metadata.items() if v not in (None, "")})
    stated = to_date(date) if isinstance(date, (str, datetime)) else date
    return Document(
        source=raw.record(key),
        origin=raw.source,
        text=text,
        title=title,
        sha256=text_digest(repr((title, text, stated, sorted(metadata.items())))),
        media_type=media_type,
        created_at=stated.start if stated else None,
        date_precision=stated.precision if stated else "",
        metadata=metadata,
    )
