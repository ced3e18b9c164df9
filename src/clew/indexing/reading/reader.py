"""Reading: files, and texts that a caller has in hand, become documents.

A file that cannot be read raises `UnreadableError` with a reason short enough for a table; a record
or a page that cannot be read, in a file that otherwise can, is reported beside the documents.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import UnreadableError
from clew.indexing.access import open_real
from clew.indexing.reading.formats.common import (
    RawFile,
    Reader,
    ReadResult,
    bounded_metadata,
    clean_text,
    json_safe,
    text_digest,
)
from clew.indexing.reading.formats.gzipped import SUFFIX as GZIPPED
from clew.indexing.reading.formats.gzipped import unpacked
from clew.indexing.reading.formats.mail.recognise import may_be_mail
from clew.indexing.reading.formats.markup import (
    markdown_document,
    read_markdown,
    read_rst,
    read_text,
    rst_document,
)
from clew.indexing.reading.formats.media_types import OFFICE_SUFFIXES, WORD_SUFFIXES, media_type_of
from clew.indexing.reading.formats.pod import read_pod
from clew.indexing.reading.formats.records import read_json, read_jsonl
from clew.indexing.reading.formats.tables import read_table
from clew.indexing.reading.names import stated_title, title_from_path, with_date
from clew.settings import LimitSettings
from clew.text import one_line
from clew.types import Document, partial_date
from clew.types.sources import file_source

if TYPE_CHECKING:
    from io import BufferedReader

    from clew.settings import ReadSettings

__all__ = [
    "ReadResult",
    "document_from_text",
    "file_digest",
    "file_source",
    "read_file",
    "read_raw",
    "text_source",
]

_BuiltIn = Callable[[RawFile], ReadResult]

_MAIL = frozenset({"message/rfc822", "application/mbox"})
_TEXT_READERS: Mapping[str, _BuiltIn] = {
    "text/markdown": read_markdown,
    "text/x-rst": read_rst,
    "text/x-pod": read_pod,
    "text/csv": read_table,
    "text/tab-separated-values": read_table,
    "application/json": read_json,
    "application/jsonl": read_jsonl,
}


def file_digest(path: Path, settings: ReadSettings) -> str:
    """SHA-256 of a file's bytes, as hex, read in blocks.

    Raises `UnreadableError` where the file cannot be read, is larger than the limit, or has a link
    in its path: `file_discovery.find_files` gives paths without.
    """
    with _opened(path, settings) as (file, _):
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_file(
    path: Path,
    settings: ReadSettings,
    digest: str | None = None,
    limits: LimitSettings | None = None,
    readers: Mapping[str, Sequence[Reader]] | None = None,
) -> ReadResult:
    """The documents of a file: one, or one a record for JSON Lines, lists of records, mailboxes.

    `source` is the absolute path; that of a record is `<path>#<its _id, id or number>`, with
    `origin` = the path. A file's document has the file's digest (`digest`, where the caller knows
    it), a record its own. Times not stated are the file's: `updated_at` is when it was written to.

    Raises `UnreadableError` with one of the reasons empty, binary, encrypted, undecodable,
    malformed, larger than the limit, no text, a missing extra, or what the system says; and
    `LimitError` where it unfolds to more than `limits` allow.
    """
    data, modified = _load(path, settings)
    raw = RawFile(
        source=file_source(path),
        data=data,
        settings=settings,
        read_from="file",
        path=path,
        limits=limits or LimitSettings(),
        readers=readers or {},
    )
    return read_raw(raw, digest=digest, modified=modified)


def read_raw(
    raw: RawFile, *, digest: str | None = None, modified: datetime | None = None
) -> ReadResult:
    """`read_file` for bytes in hand; `modified` is when they were last written, where known."""
    file = unpacked(raw) if raw.suffix == GZIPPED else raw
    try:
        own = (read(file) for read in file.own_readers)
        result = next((found for found in own if found is not None), None) or _reader(file)(file)
    except RecursionError as error:
        raise raw.unreadable("malformed (nested too deeply)") from error
    if not any(document.text.strip() for document in result.documents):
        if result.skipped and not result.documents:
            return result
        raise raw.unreadable("empty")
    known = digest or hashlib.sha256(raw.data).hexdigest()
    documents = (_complete(document, known, modified) for document in result.documents)
    return replace(result, documents=tuple(replace(d, read_from=raw.read_from) for d in documents))


def document_from_text(
    text: str,
    *,
    source: str | None = None,
    title: str = "",
    media_type: str = "text/plain",
    metadata: Mapping[str, Any] | None = None,
    created_at: datetime | None = None,
) -> Document:
    """A document from a string; Markdown's front matter and HTML's head become metadata, too.

    What is given goes before what the text states. `source` defaults to `text:` and the first 12
    hex digits of the text's SHA-256. The digest covers whatever was given besides the text, so
    that a change of metadata counts as a change. Raises `UnreadableError` for a blank text.
    """
    digest = text_digest(text)
    source = source or text_source(text)
    parsed = _parse_text(clean_text(text), source, media_type)
    if not parsed.text.strip():
        raise UnreadableError(source, "empty")
    extras = {"title": title, "metadata": json_safe(metadata or {}), "created_at": created_at}
    if any(extras.values()):
        digest = text_digest(json.dumps([digest, json_safe(extras)], sort_keys=True))
    found = replace(
        parsed,
        title=one_line(clean_text(title)) or parsed.title,
        sha256=digest,
        media_type=media_type,
        metadata={**json_safe(parsed.metadata), **extras["metadata"]},
    )
    if given := partial_date(created_at):
        found = replace(found, created_at=given.start, date_precision=given.precision)
    return with_date(found, "" if source.startswith("text:") else source)


def text_source(text: str) -> str:
    """The source of a text that was given without any."""
    return f"text:{text_digest(text)[:12]}"


def _parse_text(text: str, source: str, media_type: str) -> Document:
    if media_type == "text/markdown":
        return markdown_document(text, source)
    if media_type == "text/x-rst":
        return rst_document(text, source)
    if media_type == "text/html":
        from clew.indexing.reading.formats.html import html_document

        return html_document(text, source)
    return Document(source=source, text=text)


# --- one file ------------------------------------------------------------------------------


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnreadableError(file_source(path), reason) from error


@contextmanager
def _opened(path: Path, settings: ReadSettings) -> Iterator[tuple[BufferedReader, os.stat_result]]:
    """A file that can be read to its end (no folder, no pipe, no device), and its status."""
    with _file_errors(path), open_real(path) as file:
        status = os.fstat(file.fileno())
        if status.st_size > settings.max_megabytes * 1_000_000:
            size = f"{status.st_size / 1_000_000:.3g} MB, limit {settings.max_megabytes:g} MB"
            raise UnreadableError(file_source(path), f"too large ({size})")
        yield file, status


def _load(path: Path, settings: ReadSettings) -> tuple[bytes, datetime]:
    """A file's bytes, and when it was last written to."""
    with _opened(path, settings) as (file, status):
        return file.read(), datetime.fromtimestamp(status.st_mtime, UTC)


def _reader(raw: RawFile) -> _BuiltIn:
    """The reader of a file, by its ending; its library loads only now that it is needed."""
    media_type = media_type_of(raw.suffix)
    if media_type == "application/pdf" or raw.data.startswith(b"%PDF-"):
        from clew.indexing.reading.formats.pdf.pages import read_pdf

        return read_pdf
    if raw.suffix in WORD_SUFFIXES:
        from clew.indexing.reading.formats.office.word import read_word

        return read_word
    if raw.suffix in OFFICE_SUFFIXES:
        from clew.indexing.reading.formats.office.converted import read_office

        return read_office
    if media_type == "text/html":
        from clew.indexing.reading.formats.html import read_html

        return read_html
    if media_type == "application/zip":
        from clew.indexing.reading.formats.chats.zip_export import read_zip_export

        return read_zip_export
    if media_type in _MAIL or (media_type == "text/plain" and may_be_mail(raw.data)):
        from clew.indexing.reading.formats.mail.mailbox import read_mail

        return read_mail
    return _TEXT_READERS.get(media_type, read_text)


def _complete(document: Document, digest: str, modified: datetime | None) -> Document:
    """The document with what its reader left to the file."""
    is_record = bool(document.origin)
    complete = replace(
        document,
        title=document.title or ("" if is_record else stated_title(document)),
        sha256=document.sha256 or digest,
        updated_at=document.updated_at or modified,
        metadata=bounded_metadata(document.metadata),
    )
    if is_record:
        return with_date(complete, "")
    dated = with_date(complete, document.source)
    return replace(dated, title=dated.title or title_from_path(document.source))
