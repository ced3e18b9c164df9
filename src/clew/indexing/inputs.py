"""Reading: files, and texts that a caller has in hand, become documents.

A file that cannot be read raises `UnreadableError` with a reason short enough for a table; a record
or a page that cannot be read, in a file that otherwise can, is reported beside the documents.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import BufferedReader
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from clew.errors import EMPTY, InputError, UnreadableError, needing_extras
from clew.hookspecs import Reader, kind_of, there
from clew.indexing.outline import dated_sections, headings, title_from_name
from clew.indexing.reading.common import (
    GZIPPED,
    RawFile,
    ReadResult,
    bounded_metadata,
    clean_text,
    json_safe,
    media_type_of,
    unpacked,
)
from clew.indexing.reading.files import open_real
from clew.indexing.reading.text import (
    markdown_document,
    read_json,
    read_jsonl,
    read_markdown,
    read_pod,
    read_rst,
    read_table,
    read_text,
    rst_document,
)
from clew.settings import LimitSettings, ReadSettings
from clew.text import one_line, text_digest
from clew.times import day_order, is_of_something_else, opening_date, path_date, title_date, to_date
from clew.types import (
    DateSource,
    Document,
    Extraction,
    PartialDate,
    Structure,
    document_id,
    file_source,
    partial_date,
)

_READING = "clew.indexing.reading"
_READERS: Mapping[str, Reader | str] = {
    "text/markdown": read_markdown,
    "text/x-rst": read_rst,
    "text/x-pod": read_pod,
    "text/csv": read_table,
    "text/tab-separated-values": read_table,
    "application/json": read_json,
    "application/jsonl": read_jsonl,
    # Their libraries load only when they are needed.
    "text/html": f"{_READING}.html:read_html",
    "application/pdf": f"{_READING}.pdf:read_pdf",
    media_type_of(".docx"): f"{_READING}.word:read_word",
    media_type_of(".docm"): f"{_READING}.word:read_word",
}
"""By media type; all else is read as text."""


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
    with _opened(path, settings) as (opened, status):
        data, modified = opened.read(), datetime.fromtimestamp(status.st_mtime, UTC)
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
    if not raw.data:
        raise raw.unreadable(EMPTY)
    file = unpacked(raw) if raw.suffix == GZIPPED else raw
    try:
        with needing_extras(raw.source):
            readers = (*file.own_readers, there(_READERS.get(file.media_type, read_text)))
            result = next(filter(None, (read(file) for read in readers)))
    except RecursionError as error:
        raise raw.unreadable("malformed (nested too deeply)") from error
    if isinstance(result, Document):
        result = ReadResult(documents=(result,))
    if not isinstance(result, ReadResult):
        raise TypeError(f"expected a Document or a ReadResult of its reader, not {result!r:.60}")
    if not any(document.text.strip() for document in result.documents):
        if result.skipped and not result.documents:
            return result
        raise raw.unreadable(EMPTY)
    known = digest or hashlib.sha256(raw.data).hexdigest()
    documents = (_complete(document, known, modified) for document in result.documents)
    return replace(result, documents=tuple(replace(d, read_from=raw.read_from) for d in documents))


_PARSERS: Mapping[str, Callable[..., Document] | str] = {
    "text/markdown": markdown_document,
    "text/x-rst": rst_document,
    "text/html": f"{_READING}.html:html_document",
}
"""By media type; any other text is a document as it is."""


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
    with needing_extras(source):
        parse = there(_PARSERS.get(media_type, Document))
        parsed: Document = parse(text=clean_text(text), source=source)
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


# --- one file ------------------------------------------------------------------------------


@contextmanager
def _opened(path: Path, settings: ReadSettings) -> Iterator[tuple[BufferedReader, os.stat_result]]:
    """A file that can be read to its end (no folder, no pipe, no device), and its status."""
    try:
        with open_real(path) as file:
            status = os.fstat(file.fileno())
            if status.st_size > settings.max_megabytes * 1_000_000:
                size = f"{status.st_size / 1_000_000:.3g} MB, limit {settings.max_megabytes:g} MB"
                raise UnreadableError(file_source(path), f"too large ({size})")
            yield file, status
    except OSError as error:
        reason = (
            "a link that leads nowhere"
            if os.path.islink(path) and not os.path.exists(path)
            else (error.strerror or str(error)).lower()
        )
        raise UnreadableError(file_source(path), reason) from error


def _complete(document: Document, digest: str, modified: datetime | None) -> Document:
    """The document with what its reader left to the file."""
    is_record = bool(document.origin)
    title = document.title
    if not title and not is_record and document.media_type == "text/plain":
        title = first_line_title(document.text)
    complete = replace(
        document,
        title=title,
        sha256=document.sha256 or digest,
        updated_at=document.updated_at or modified,
        metadata=bounded_metadata(document.metadata),
    )
    if is_record:
        return with_date(complete, "")
    return replace(
        with_date(complete, document.source), title=title or title_from_path(document.source)
    )


# What a document is called and when it was written, where its reader found neither stated.


_BEGINNING = 4000
"""Characters in which a text's first heading and title stand."""
_ORDERED = 100_000
"""Characters that may tell how a text writes its numeric dates."""
_BLOCKS = 4
"""Blocks of lines at the beginning of a text, of which one may be its title."""
_LONGEST_TITLE = 120
_MOST_WORDS = 15
_CENTRED = 8
"""Blanks before a centred line, at least."""
_COLUMNS = re.compile(r"\S {3,}\S")
_NO_TITLE = re.compile(
    r"[.,:;!]$|^(?:copyright\b|\(c\)|©|[-*#>|+\d/<{\[$%@]|\w{1,40}\(|[\w -]{1,40}: )", re.I
)
_GENERIC = frozenset(
    "authors changelog changes contributing contributors copying copyright credits faq history"
    " index install license licence maintainers makefile manifest metadata news notice readme"
    " thanks todo version".split()
)
"""Names that files of many folders share."""
_TABLES = frozenset(("text/csv", "text/tab-separated-values", "application/jsonl"))
"""Texts whose first lines speak of their first rows."""


# --- titles ------------------------------------------------------------------------------


def first_line_title(text: str) -> str:
    """The line that stands alone above a text and is no sentence; empty where there is none."""
    blocks = re.split(r"\n[ \t]*\n", text[:_BEGINNING])
    for block in islice(filter(str.strip, blocks), _BLOCKS):
        lines = [line for line in block.replace("\f", "").split("\n") if line.strip()]
        if not lines or any(_COLUMNS.search(line.strip()) for line in lines):
            continue  # the header of a letter or a standard: "Network Working Group     S. Bradner"
        first = lines[0].expandtabs()
        centred = len(first) - len(first.lstrip()) >= _CENTRED
        underlined = len(lines) == 2 and not any(map(str.isalnum, lines[1].strip()))
        title = one_line(first)
        is_title = (
            3 <= len(title) <= _LONGEST_TITLE
            and len(title.split()) <= _MOST_WORDS
            and not title[0].islower()
            and any(map(str.isalpha, title))
            and not _NO_TITLE.search(title)
        ) and (centred or underlined or len(lines) == 1)
        return title if is_title and len(blocks) > 1 else ""
    return ""


def title_from_path(source: str) -> str:
    """A file's name as a title: no ending, no underscores, hyphens kept between digits only.

    A name that many folders have ("LICENSE") is told apart by its folder: "LICENSE (openssl)".
    """
    path = PurePosixPath(source.removesuffix(".gz"))
    title = title_from_name(path.name)
    if path.stem.casefold() in _GENERIC and path.parent.name:
        return f"{title} ({path.parent.name})"
    return title


# --- dates -------------------------------------------------------------------------------


def with_date(document: Document, path: str) -> Document:
    """The document with its date, and what says it: metadata, title or heading, path, text.

    What its metadata say may need its text: whoever writes "25/04/2019" puts the day first. The
    properties of its file come last: a template passes its own on to every text that is made of it.
    """
    if document.created_at is not None and document.date_source != "properties":
        return replace(document, date_source=document.date_source or "metadata")
    for source, date in _stated(document, path):
        return replace(
            document, created_at=date.start, date_precision=date.precision, date_source=source
        )
    return document


def _stated(document: Document, path: str) -> Iterator[tuple[DateSource, PartialDate]]:
    """What states a date, in order of trust."""
    day_first = day_order(document.text[:_ORDERED])
    named = {name.casefold(): value for name, value in document.metadata.items()}
    for value in filter(None, map(named.get, ("created_at", "created", "date", "published"))):
        if date := to_date(value, day_first=day_first):
            yield "metadata", date
    prose = not kind_of(document.media_type) and document.media_type not in _TABLES
    # The entries of a change log or a journal have their dates, and the whole has none of them.
    entries = dated_sections(document) if prose else []
    opening = document.text[: entries[0].start] if entries else document.text
    first = islice(headings(opening[:_BEGINNING], document.media_type), 1)
    titles = [heading.title for heading in first]
    # The titles of the entries: the first may be that of the document.
    starts = {entry.start for entry in entries}
    found = headings(document.text[:_BEGINNING], document.media_type) if entries else []
    of_entries = {heading.title for heading in found if heading.start in starts}
    of_entries |= {document.text[at:].partition("\n")[0].strip() for at in sorted(starts)[:3]}
    if document.title not in of_entries:
        titles.insert(0, document.title)
    for title in titles:
        if date := title_date(title, day_first=day_first):
            yield "title", date
    name = title_from_name(PurePosixPath(path).name) if path else ""
    if name and not is_of_something_else(name) and (date := path_date(path)):
        yield "path", date
    if prose and (date := opening_date(opening, day_first=day_first)):
        yield "text", date


# What may be added to reading and extraction from outside: see `clew.packs`.


if TYPE_CHECKING:
    Readers = Mapping[str, Sequence[Reader]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Domain:
    """What a model that reads passages is told beside what it is always told."""

    entity_types: tuple[str, ...] = ()
    relation_types: tuple[str, ...] = ()
    """To be used where they fit; others may be, too."""
    instructions: tuple[str, ...] = ()


class Extension(Protocol):
    """Further formats, structures and meanings of relations; can be sent to another process."""

    @property
    def fingerprint(self) -> str:
        """Changes where documents have to be indexed again; empty for nothing added."""

    @property
    def readers(self) -> Mapping[str, Sequence[Reader]]:
        """As in `RawFile`."""

    @property
    def structures(self) -> Sequence[Callable[[Document], Structure]]:
        """As `indexing.structure.READERS`."""

    def normalised(self, extraction: Extraction) -> Extraction:
        """The extraction with relations in the direction and with the marks of their types."""


class NoExtension:
    """Implements `Extension`: nothing is added."""

    fingerprint = ""
    readers: Mapping[str, Sequence[Reader]] = {}
    structures: Sequence[Callable[[Document], Structure]] = ()

    def normalised(self, extraction: Extraction) -> Extraction:
        """See `Extension`."""
        return extraction


# What can be read: a file, bytes, a text, or a document made by the caller.
#
# Each is a value that can be sent to another process, and has `source` (what it is called;
# documents within it add a part of their own), `size` (bytes or characters, about), `read_from` (of
# its documents, see `Document`), `digest` (tells one state of it from another; raises
# `UnreadableError` where it cannot be read) and `read` (its documents; `readers` as in `RawFile`;
# raises `UnreadableError` and `LimitError`).


def roots_of(paths: str | Path | Sequence[str | Path]) -> list[Path]:
    """What a command was given to read, one or several. Raises `InputError` for an empty one."""
    paths = [paths] if isinstance(paths, str | Path) else paths
    if "" in paths:
        raise InputError("a path is empty; expected a file or a folder (is a variable not set?)")
    return [Path(path).expanduser() for path in paths]


def is_in_shard(source: str, shard: int, shards: int) -> bool:
    """Whether a source is of the part `shard`, from 1, of so many. Raises `InputError`."""
    if not 1 <= shard <= shards:
        raise InputError(f"there is no shard {shard}/{shards}; expected i/n with i from 1 to n")
    return int(document_id(source), 16) % shards == shard - 1


@dataclass(frozen=True, slots=True)
class FileInput:
    """A file as it is."""

    path: Path
    settings: ReadSettings
    read_from: ClassVar[str] = "file"

    @property
    def source(self) -> str:
        """See `Input`."""
        return file_source(self.path)

    @property
    def size(self) -> int:
        """See `Input`."""
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0

    def digest(self) -> str:
        """See `Input`."""
        return file_digest(self.path, self.settings)

    def read(self, limits: LimitSettings, readers: Readers) -> ReadResult:
        """See `Input`."""
        return read_file(self.path, self.settings, limits=limits, readers=readers)


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentOverrides:
    """Title and metadata from the caller, which override those of the document."""

    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def of(self, document: Document) -> Document:
        """The document with these."""
        metadata = json_safe(self.metadata)
        if not metadata and not self.title:
            return document
        # A change of these counts as a change of the document.
        overrides = json.dumps([document.sha256, self.title, metadata], sort_keys=True)
        return replace(
            document,
            title=self.title or document.title,
            metadata={**document.metadata, **metadata},
            sha256=text_digest(overrides),
        )

    def digest(self, digest: str) -> str:
        """A digest of these and of the document's own digest."""
        return text_digest(
            json.dumps([digest, self.title, json_safe(self.metadata)], sort_keys=True)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class RawInput:
    """Bytes in hand, or those of a file, under a source of the caller's."""

    source: str
    data: bytes | Path
    name: str
    """Of the file; its ending says how it is read."""
    settings: ReadSettings
    overrides: DocumentOverrides = DocumentOverrides()

    @property
    def size(self) -> int:
        """See `Input`."""
        return (
            len(self.data)
            if isinstance(self.data, bytes)
            else FileInput(self.data, self.settings).size
        )

    @property
    def read_from(self) -> str:
        """See `Input`; a file is one, too, where title and metadata are the caller's."""
        is_file = isinstance(self.data, Path) and self.source == file_source(self.data)
        return "file" if is_file else ""

    def digest(self) -> str:
        """See `Input`."""
        if isinstance(self.data, Path):
            return self.overrides.digest(file_digest(self.data, self.settings))

        return self.overrides.digest(hashlib.sha256(self.data).hexdigest())

    def read(self, limits: LimitSettings, readers: Readers) -> ReadResult:
        """See `Input`."""
        if isinstance(self.data, bytes):
            data = self.data
        else:
            with open_real(self.data) as file:
                data = file.read()
        raw = RawFile(
            source=self.source,
            data=data,
            settings=self.settings,
            name=self.name,
            read_from=self.read_from,
            limits=limits,
            readers=readers,
        )
        found = read_raw(raw)
        return replace(found, documents=tuple(map(self.overrides.of, found.documents)))


@dataclass(frozen=True, kw_only=True, slots=True)
class TextInput:
    """A text, which may be marked up."""

    source: str
    text: str
    media_type: str = "text/plain"
    overrides: DocumentOverrides = DocumentOverrides()
    vector: tuple[float, ...] | None = None
    """As in `Document`."""
    read_from: ClassVar[str] = ""

    @property
    def size(self) -> int:
        """See `Input`."""
        return len(self.text)

    def digest(self) -> str:
        """See `Input`."""
        vector = self.vector or ""
        return self.overrides.digest(text_digest(f"{self.media_type}\n{vector}{self.text}"))

    def read(self, limits: LimitSettings, readers: Readers) -> ReadResult:
        """See `Input`."""
        document = document_from_text(
            self.text,
            source=self.source,
            title=self.overrides.title,
            media_type=self.media_type,
            metadata=self.overrides.metadata,
        )
        if self.vector:
            digest = text_digest(f"{document.sha256}{self.vector}")
            document = replace(document, vector=self.vector, sha256=digest)
        return ReadResult(documents=(document,))


@dataclass(frozen=True, slots=True)
class DocumentInput:
    """A document that the caller has made."""

    document: Document

    @property
    def source(self) -> str:
        """See `Input`."""
        return self.document.source

    @property
    def read_from(self) -> str:
        """See `Input`."""
        return self.document.read_from

    @property
    def size(self) -> int:
        """See `Input`."""
        return len(self.document.text)

    def digest(self) -> str:
        """See `Input`."""
        return self.document.sha256 or text_digest(repr(self.document))

    def read(self, limits: LimitSettings, readers: Readers) -> ReadResult:
        """See `Input`."""
        if not self.document.text.strip():
            raise UnreadableError(self.source, "empty")
        return ReadResult(documents=(replace(self.document, sha256=self.digest()),))


Input = FileInput | RawInput | TextInput | DocumentInput
