"""Where what is stored comes from: versions of documents, and the provenance of chunks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from clew.stores.values import to_time
from clew.times import date_of
from clew.types import Document, DocumentVersion, Metadata, Provenance, partial_date

_AUTHOR_NAMES = ("author", "authors", "speaker", "from", "by", "creator")


class Version(NamedTuple):
    """A text's place among those that its source has had."""

    number: int
    derived_from: str
    is_new: bool
    """Whether the store does not hold it yet."""

    @property
    def is_first(self) -> bool:
        """Whether the store holds nothing of this source yet."""
        return self.is_new and self.number == 1


FIRST = Version(1, "", True)


class HeldVersion(NamedTuple):
    """The version of a document that a store holds."""

    number: int
    derived_from: str
    sha256: str


def version_after(held: HeldVersion, document: Document, held_text: str) -> Version:
    """The version that saving the document makes, or keeps where its text is the one held."""
    if held.sha256 == document.sha256 and held_text == document.text:
        return Version(held.number, held.derived_from, False)
    return Version(held.number + 1, held.sha256, True)


def document_version(
    version: int, sha256: str, derived_from: str, indexed_at: str, replaced_at: str | None
) -> DocumentVersion:
    """A version as it is stored."""
    return DocumentVersion(
        version=version,
        sha256=sha256,
        derived_from=derived_from,
        indexed_at=datetime.fromisoformat(indexed_at),
        replaced_at=to_time(replaced_at),
    )


def provenance(row: Mapping[str, Any]) -> Provenance:
    """Where a chunk comes from, of what is stored.

    `row`: `document` (id), title, source, version, sha256, derived_from, page, start, end,
    indexed_at, created_at, date_source, date_precision, recipe, `document_metadata` and `metadata`
    (JSON).
    """
    of_document = json.loads(row["document_metadata"])
    own = json.loads(row["metadata"])
    stated = date_of(own)
    date = stated or partial_date(to_time(row["created_at"]), row["date_precision"] or "")
    return Provenance(
        document=row["document"],
        title=row["title"],
        source=row["source"],
        version=row["version"],
        sha256=row["sha256"],
        derived_from=row["derived_from"],
        page=row["page"],
        start=row["start"],
        end=row["end"],
        author=_author(own) or _author(of_document),
        written_at=date.start if date else None,
        date=date.iso if date else "",
        date_source="metadata" if stated else row["date_source"] or "",
        indexed_at=datetime.fromisoformat(row["indexed_at"]),
        extractor=extractor_of(row["recipe"]),
    )


def _author(metadata: Metadata) -> str:
    """Who the metadata say wrote or said it; empty where they say nothing."""
    folded = {name.casefold(): value for name, value in metadata.items()}
    for name in _AUTHOR_NAMES:
        value = folded.get(name)
        names = value if isinstance(value, list) else [value]
        if found := ", ".join(n.strip() for n in names if isinstance(n, str) and n.strip()):
            return found
    return ""


def extractor_of(pipeline_fingerprint: str) -> str:
    """The extractor that a pipeline fingerprint names; empty where it names none."""
    try:
        values = json.loads(pipeline_fingerprint)
    except ValueError:
        return ""
    return str(values.get("extractor", "")) if isinstance(values, Mapping) else ""
